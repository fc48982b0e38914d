// Finds out how the clock of a device's profiling times relates to CLOCK_MONOTONIC, from the commands of a program.
//
// It runs no command of its own. Each command gives bounds: its QUEUED time is between the host's times before and
// after the call that enqueued it. All commands together give narrow bounds; a few commands are enough for some
// microseconds. Where something better agrees with the bounds, that is used:
//   a host clock   a driver for the CPU takes its times from a clock of the host (PoCL: CLOCK_MONOTONIC_RAW)
//   device timer   clGetDeviceAndHostTimer
// Profiling times are nanoseconds, as the OpenCL specification says. Clocks drift, so the bounds start anew with each
// pair. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"

namespace kymo::inject {

// What is known of a difference between two clocks: it is not outside of these.
struct Bounds {
  int64_t low = INT64_MIN, high = INT64_MAX;

  bool known() const noexcept { return low != INT64_MIN && high != INT64_MAX; }
  bool empty() const noexcept { return low > high; }
  bool contains(int64_t value) const noexcept { return low <= value && value <= high; }
  uint64_t width() const noexcept { return static_cast<uint64_t>(high) - static_cast<uint64_t>(low); }
  Bounds operator&(const Bounds& other) const noexcept {
    return {low > other.low ? low : other.low, high < other.high ? high : other.high};
  }
};

// The times of one command. The host's are on CLOCK_MONOTONIC, ±host_error_ns.
struct CommandTimes {
  uint64_t before = 0, after = 0;           // around the call that enqueued it
  uint64_t seen = 0;                        // when the driver reported its end
  uint64_t queued = 0, start = 0, end = 0;  // of the device
  uint64_t host_error_ns = 0;
};

// The device's time at a moment of the host, which is between `before` and `after` on CLOCK_MONOTONIC.
struct TimerReading {
  uint64_t before = 0, device = 0, after = 0;
};

class DeviceClock {
 public:
  void add(const CommandTimes& times) noexcept;

  // True if a pair is worth writing already. A first pair with wide bounds would make all times of the trace uncertain.
  bool is_exact() const noexcept;
  bool has_commands() const noexcept { return commands_ != 0; }
  // True after this many commands since the last pair: from now on, some of the commands are enough.
  bool has_enough() const noexcept { return commands_ >= kEnough; }

  // `host_clocks`: readings of the host's clocks, for a device that may use one of them. `timer`: of the device's
  // timer. Nothing: no command was added since the last pair. The realtime is added by the caller.
  std::optional<base::ClockPair> take_pair(std::span<const TimerReading> host_clocks,
                                           const std::optional<TimerReading>& timer) noexcept;

  // False after the timer disagreed with the commands: it uses another clock.
  bool timer_fits() const noexcept { return timer_fits_; }

 private:
  static constexpr uint64_t kEnough = 64;

  Bounds bounds() const noexcept;

  Bounds queued_;     // by QUEUED, which must be inside the call
  Bounds execution_;  // by START and END, which must be between the call and the report
  uint64_t commands_ = 0;
  uint64_t last_device_ = 0;  // the newest QUEUED time
  bool timer_fits_ = true;
};

}  // namespace kymo::inject
