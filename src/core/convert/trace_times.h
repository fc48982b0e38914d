// The times of a trace, counted from its first event.
//
// On one machine they are times of the monotonic clock, which nobody sets. Between machines only the wall clock can
// tell.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "trace/reader.h"

namespace kymo::convert {

// True if all processes ran on one machine, without a restart of it in between. Then their monotonic clocks are the
// same.
bool on_one_boot(const trace::Reader& reader);

class TraceTimes {
 public:
  explicit TraceTimes(const trace::Reader& reader);

  bool empty() const { return first_ns_ > last_ns_; }  // no event has a time
  uint64_t length_ns() const;                          // from the first event to the last
  // For each writer, what is between two times. Without `to_ns` it has no end.
  std::map<trace::WriterId, trace::Window> between(uint64_t from_ns, std::optional<uint64_t> to_ns) const;
  // A time of the writer's monotonic clock. Negative before the first event.
  int64_t offset_ns(const trace::WriterId& writer, int64_t monotonic_ns) const;

 private:
  int64_t first_ns_, last_ns_;                // of the clock that they have in common
  std::map<trace::WriterId, int64_t> ahead_;  // how far this clock is ahead of the writer's monotonic clock
};

}  // namespace kymo::convert
