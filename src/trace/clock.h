// Converts ticks to nanoseconds with the pairs of a clock domain, and gives the error.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model.h"

namespace kymo::trace {

// Piecewise linear between pairs. Outside of them it uses the period of the domain, or the slope of the pairs if the
// period is unknown. Monotone. Cheap: one multiplication and one shift within a segment. Real time runs at the rate of
// monotonic time from the first pair on, so that setting the clock changes no duration. Ticks of a counter that wraps
// are taken as the time nearest to the pairs. Pairs from a file are untrusted: those that go backwards are ignored.
class ClockMap {
 public:
  explicit ClockMap(const ClockDomain&);

  int64_t to_realtime_ns(uint64_t ticks) const;   // since 1970
  int64_t to_monotonic_ns(uint64_t ticks) const;  // the host's CLOCK_MONOTONIC
  double to_ns(uint64_t tick_difference) const;   // a duration
  uint64_t duration_ns(uint64_t tick_difference) const;

  // The true host time is within ± this: the worst pair, and how far pairs are from the line.
  uint64_t error_ns() const;
  bool usable() const;  // has a pair, and a period from any source

 private:
  // From one pair to the next, or without an end.
  struct Segment {
    uint64_t ticks = 0;        // its start, relative to the first pair
    int64_t monotonic_ns = 0;  // at its start
    uint64_t ns_per_tick = 0;  // fixed-point
  };

  std::vector<Segment> segments_;
  uint64_t first_ticks_ = 0;
  uint64_t backward_ns_per_tick_ = 0;  // before the first pair; fixed-point
  uint64_t wrap_mask_ = ~uint64_t{0};
  uint64_t latest_offset_ = ~uint64_t{0};  // ticks with a larger distance from the first pair are before it
  int64_t realtime_offset_ns_ = 0;
  double ns_per_tick_ = 1;
  uint64_t error_ns_ = 0;
  bool usable_ = false;
};

// The time of this machine, for open ranges in a trace that is being written.
int64_t monotonic_now();
int64_t realtime_now();

}  // namespace kymo::trace
