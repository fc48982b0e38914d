// The system's clocks, in nanoseconds.
//
// It needs only the C library, so code inside malloc or a signal handler may use it too.
#pragma once

#include <time.h>

#include <cstdint>

namespace kymo::base {

inline uint64_t clock_ns(clockid_t clock) noexcept {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t monotonic_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }
inline uint64_t realtime_ns() noexcept { return clock_ns(CLOCK_REALTIME); }  // since 1970

// CLOCK_REALTIME minus CLOCK_MONOTONIC, now: the best of three readings.
struct RealtimeOffset {
  uint64_t ns = 0, error_ns = ~uint64_t{0};
};
inline RealtimeOffset realtime_offset() noexcept {
  RealtimeOffset best;
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = monotonic_ns(), realtime = realtime_ns(), after = monotonic_ns();
    const uint64_t error = (after - before + 1) / 2;
    if (error < best.error_ns) best = {realtime - (before + (after - before) / 2), error};
  }
  return best;
}

// CLOCK_BOOTTIME minus CLOCK_MONOTONIC, now: how long the host has been suspended since its boot. Exactly 0 if it was
// not. The difference wraps if a time namespace sets CLOCK_BOOTTIME behind CLOCK_MONOTONIC.
inline uint64_t suspended_ns() noexcept {
  const uint64_t before = monotonic_ns(), boottime = clock_ns(CLOCK_BOOTTIME), after = monotonic_ns();
  return before <= boottime && boottime <= after ? 0 : boottime - (before + (after - before) / 2);
}

// One moment on a counter and on the host's clocks: the ticks are within ±error_ns of the host's times.
struct ClockPair {
  uint64_t ticks = 0;
  uint64_t monotonic_ns = 0;  // CLOCK_MONOTONIC
  uint64_t realtime_ns = 0;   // CLOCK_REALTIME, since 1970
  uint64_t error_ns = 0;
  uint64_t suspended_ns = 0;  // CLOCK_BOOTTIME minus CLOCK_MONOTONIC; 0 if it is not known
  uint64_t boottime_ns() const { return monotonic_ns + suspended_ns; }
  bool operator==(const ClockPair&) const = default;
};

// For a counter that the host reads itself, with `ticks`: the best of a few attempts. Costs about 2 µs.
template <typename Ticks>
ClockPair read_clock_pair(Ticks ticks) noexcept {
  ClockPair best;
  uint64_t best_width = ~uint64_t{0};
  for (int attempt = 0; attempt < 8; ++attempt) {
    const uint64_t host_before = monotonic_ns();
    const uint64_t before = ticks();
    const uint64_t realtime = realtime_ns();
    const uint64_t after = ticks();
    const uint64_t width = monotonic_ns() - host_before;
    if (width >= best_width) continue;
    best_width = width;
    best = {before + (after - before) / 2, host_before + width / 2, realtime, width / 2 + 1};
  }
  best.suspended_ns = suspended_ns();
  return best;
}

}  // namespace kymo::base
