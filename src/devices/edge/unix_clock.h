// Converts the ticks and monotonic times of a log to nanoseconds since 1970.
#pragma once

#include <cstdint>

#include "base/clock_map.h"
#include "edge/log.h"

namespace kymo::edge {

// Follows the system clock, so that it matches times that backends took from it. If the system clock was set during the
// recording, it continues as before. A log without length has only one time, its start.
class UnixClock {
 public:
  explicit UnixClock(const LogContents& log);

  uint64_t of_ticks(uint64_t ticks) const { return since_1970(ticks_, ticks); }
  uint64_t of_monotonic(uint64_t ns) const { return since_1970(monotonic_, ns); }
  // By how many nanoseconds the system clock was set forward; 0: it was not set.
  int64_t set_by_ns() const { return set_by_ns_; }

 private:
  uint64_t since_1970(const base::ClockMap& clock, uint64_t time) const;

  uint64_t start_ns_;
  int64_t set_by_ns_;
  base::ClockMap ticks_, monotonic_;
};

}  // namespace kymo::edge
