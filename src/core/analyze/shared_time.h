// Operations of a device that share the time of one submission.
//
// Some devices measure only a whole submission, such as a command buffer. Each of its operations is then recorded with
// the times of the submission and with the argument "operations_in_this_time". They ran one after the other, so each
// gets an equal share, in the order of the track, and all together take the time once. Every analysis of devices uses
// this:
//
//   if (has_shared_times(writer)) …            read the values of the ranges as well
//   SharedTime shared;                         one for each track
//   const TickSpan own = shared.share_of(begin, end, operations_in_this_time(event_class, values.next(event_class)));
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "trace/reader.h"
#include "trace/values.h"

namespace kymo::analyze {

inline constexpr std::string_view kOperationsInThisTime = "operations_in_this_time";

inline bool has_shared_times(const trace::WriterInfo& writer) {
  return std::any_of(writer.classes.begin(), writer.classes.end(), [](const auto& one) {
    return std::any_of(one.second.fields.begin(), one.second.fields.end(),
                       [](const trace::Field& field) { return field.name == kOperationsInThisTime; });
  });
}

inline bool may_share_times(const trace::WriterInfo& writer, const trace::Track& track) {
  return track.kind == trace::TrackKind::DeviceQueue && has_shared_times(writer);
}

// The number of operations that share the time of an event; 1: it has its own. The values are untrusted.
inline uint32_t operations_in_this_time(const trace::EventClass* event_class,
                                        std::span<const trace::ValueCursor::Value> values) {
  if (event_class == nullptr) return 1;
  for (size_t i = 0; i < std::min(values.size(), event_class->fields.size()); ++i)
    if (event_class->fields[i].name == kOperationsInThisTime)
      return static_cast<uint32_t>(std::clamp<uint64_t>(values[i].bits, 1, UINT32_MAX));
  return 1;
}

struct TickSpan {
  uint64_t begin = 0, end = 0;
  uint64_t ticks() const { return end - begin; }
  bool operator==(const TickSpan&) const = default;
};

// Divides the times of the submissions of one track. The operations of a submission come one after the other.
class SharedTime {
 public:
  TickSpan share_of(uint64_t begin, uint64_t end, uint32_t operations) {
    if (operations <= 1 || end <= begin) return {begin, end};
    const TickSpan whole{begin, end};
    number_ = whole == last_ && number_ + 1 < operations ? number_ + 1 : 0;
    last_ = whole;
    const auto at = [&](uint64_t number) {  // number <= operations < 2^32, so nothing overflows
      const uint64_t length = end - begin;
      return begin + length / operations * number + length % operations * number / operations;
    };
    return {at(number_), at(number_ + uint64_t{1})};
  }

 private:
  TickSpan last_;
  uint32_t number_ = 0;
};

}  // namespace kymo::analyze
