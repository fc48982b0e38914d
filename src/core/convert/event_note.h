// What an exported event was in Kymo, where the format of the export cannot say it: the argument "kymo".
//
//   "allocation 0x7f001000"   "free 0x7f001000"   "sample"
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
inline constexpr std::string_view kDerivedCategory = "kymo.derived";  // of counters that only an export has

// Empty for all other kinds, which need no note.
std::string note_of(trace::PointKind kind, uint64_t id);

struct Note {
  trace::PointKind kind = trace::PointKind::Instant;
  uint64_t id = 0;  // of a sample: 0
};
std::optional<Note> parse_note(std::string_view text);

}  // namespace kymo::convert
