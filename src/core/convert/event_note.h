// What an exported event was in Kymo, where the format of the export cannot say it: the argument "kymo".
//
//   "allocation 0x7f001000"   "free 0x7f001000"   "sample"
//   "flow_begin 17"   "flow_step 17"   "flow_end 17"
//   "range across threads 5"
//   "range": its own name and category are in kOwnName and kOwnCategory, because Kineto's traces use others (without
//            kOwnCategory, an annotation has no category of its own); the name of its class is in kOwnClass if values
//            are part of its name
//
// All arguments after it are additions of the export, for other tools: Kymo does not import them.
// Other tools show it as a text. Kymo reads it when it imports the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/model.h"

namespace kymo::convert {

inline constexpr std::string_view kNoteKey = "kymo";
inline constexpr std::string_view kRangeNote = "range", kOwnName = "kymo_name", kOwnCategory = "kymo_category";
// The name of a class whose values are in the names of its events, and the values that have no other argument.
inline constexpr std::string_view kOwnClass = "kymo_class", kOwnValue = "kymo_value_";
inline constexpr std::string_view kOwnCorrelation = "kymo_correlation";  // of a range that other tools see without it
inline constexpr std::string_view kDerivedCategory = "kymo.derived";     // of counters that only an export has

// Empty for an instant and a counter, which need no note. A range across threads is an AsyncBegin.
std::string note_of(trace::PointKind kind, uint64_t id);

struct Note {
  trace::PointKind kind = trace::PointKind::Instant;
  uint64_t id = 0;  // of a sample: 0
};
std::optional<Note> parse_note(std::string_view text);

}  // namespace kymo::convert
