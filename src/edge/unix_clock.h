// Converts the ticks and monotonic times of a log to nanoseconds since 1970.
#pragma once

#include <cstdint>

#include "edge/log.h"

namespace kymo::edge {

// A straight line through two points, exact at any distance: (x - x0) · rise / run + y0, rounded down to a nanosecond.
class TimeLine {
 public:
  TimeLine(uint64_t x0, uint64_t y0, uint64_t run, uint64_t rise)
      : x0_(x0),
        y0_(y0),
        run_(run),
        rise_(run == 0 ? 0 : rise),
        slope_(run == 0 ? 0 : static_cast<double>(rise) / static_cast<double>(run)) {}

  // Never below 0, and never above the max value.
  uint64_t at(uint64_t x) const;

 private:
  uint64_t distance(uint64_t steps, uint64_t& remainder) const;

  uint64_t x0_, y0_, run_, rise_;
  double slope_;  // for an estimate that is then corrected: a division of 128 bits takes longer than everything else
};

// Follows the system clock, so that it matches times that backends took from it. If the system clock was set during the
// recording, it continues as before.
class UnixClock {
 public:
  explicit UnixClock(const LogContents& log);

  uint64_t of_ticks(uint64_t ticks) const { return ticks_.at(ticks); }
  uint64_t of_monotonic(uint64_t ns) const { return monotonic_.at(ns); }
  // By how many nanoseconds the system clock was set forward; 0: it was not set.
  int64_t set_by_ns() const { return set_by_ns_; }

 private:
  int64_t set_by_ns_;
  uint64_t elapsed_ns_;  // on the clock that is followed
  TimeLine ticks_, monotonic_;
};

}  // namespace kymo::edge
