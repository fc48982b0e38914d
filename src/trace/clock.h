// Ticks to nanoseconds, through a domain's pairs, with the error that comes with it.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model.h"

namespace kymo::trace {

// Piecewise linear between pairs; beyond them by the domain's period, or the pairs' slope where the period is unknown.
// Monotone. Cheap: one multiplication and shift within a segment. Real time runs at the rate of monotonic time, from
// the first pair on: a clock that was set meanwhile bends no duration. Ticks of a counter that wraps are taken as the
// moment nearest to the pairs. Pairs from a file are not trusted: those that go backwards are passed over.
class ClockMap {
 public:
  explicit ClockMap(const ClockDomain&);

  int64_t to_realtime_ns(uint64_t ticks) const;   // since 1970
  int64_t to_monotonic_ns(uint64_t ticks) const;  // the host's CLOCK_MONOTONIC
  double to_ns(uint64_t tick_difference) const;   // a duration
  uint64_t duration_ns(uint64_t tick_difference) const;

  // Half the width within which the true host time lies: the worst pair, and how far pairs are off the line.
  uint64_t error_ns() const;
  bool usable() const;  // has a pair, and a period from somewhere

 private:
  // From one pair to the next, or to the end of time.
  struct Segment {
    uint64_t ticks = 0;        // where it begins, counted from the first pair
    int64_t monotonic_ns = 0;  // then
    uint64_t ns_per_tick = 0;  // as a fixed-point number
  };

  std::vector<Segment> segments_;
  uint64_t first_ticks_ = 0;
  uint64_t backward_ns_per_tick_ = 0;  // before the first pair; fixed-point
  uint64_t wrap_mask_ = ~uint64_t{0};
  uint64_t latest_offset_ = ~uint64_t{0};  // ticks further from the first pair than this lie before it
  int64_t realtime_offset_ns_ = 0;
  double ns_per_tick_ = 1;
  uint64_t error_ns_ = 0;
  bool usable_ = false;
};

// Of this machine: for what is open in a trace that is being written.
int64_t monotonic_now();
int64_t realtime_now();

}  // namespace kymo::trace
