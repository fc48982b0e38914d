// Brings the ticks and the monotonic times of a log to nanoseconds since 1970.
#pragma once

#include <cstdint>

#include "edge/log.h"

namespace kymo::edge {

// A straight line through two points, exact to the nanosecond below: (x - x0) · rise / run + y0, rounded down, whatever
// the distance.
class TimeLine {
 public:
  TimeLine(uint64_t x0, uint64_t y0, uint64_t run, uint64_t rise)
      : x0_(x0),
        y0_(y0),
        run_(run),
        rise_(run == 0 ? 0 : rise),
        slope_(run == 0 ? 0 : static_cast<double>(rise) / static_cast<double>(run)) {}

  // Never below 0 nor above what fits.
  uint64_t at(uint64_t x) const;

 private:
  uint64_t distance(uint64_t steps, uint64_t& remainder) const;

  uint64_t x0_, y0_, run_, rise_;
  double slope_;  // a guess that is then made right: a division of 128 bits takes longer than all the rest
};

// Follows the system's clock, so that it agrees with what backends measured by it. Where that was set to another time
// meanwhile, it goes on as before.
class UnixClock {
 public:
  explicit UnixClock(const LogContents& log);

  uint64_t of_ticks(uint64_t ticks) const { return ticks_.at(ticks); }
  uint64_t of_monotonic(uint64_t ns) const { return monotonic_.at(ns); }
  // By how many nanoseconds the system's clock was set ahead; 0: it was not set.
  int64_t set_by_ns() const { return set_by_ns_; }

 private:
  int64_t set_by_ns_;
  uint64_t elapsed_ns_;  // by the clock that is followed
  TimeLine ticks_, monotonic_;
};

}  // namespace kymo::edge
