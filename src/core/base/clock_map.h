// Converts the ticks of a counter to the host's time with pairs of clock readings, and gives the error.
//
// This is the only code that does so. The readers of traces use it (trace/clock.h), the device runtime for the times of
// operations (device/queue_recorder.h), and the edge profiler (edge/unix_clock.h). It is in base because the device
// runtime does not use the trace file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"

namespace kymo::base {

// To whole nanoseconds; at most about 285 years. `ns` is not negative.
inline uint64_t round_ns(double ns) {
  constexpr double kLongest = 9e18;
  return static_cast<uint64_t>(static_cast<int64_t>(std::min(ns, kLongest) + 0.5));
}

struct Counter {
  uint64_t period_numerator = 0;  // nanoseconds per tick, as a ratio; 0: unknown, computed from the pairs
  uint64_t period_denominator = 1;
  uint32_t wrap_bits = 64;  // it starts at 0 again after so many bits
};

// The host clock that the times run along with.
enum class Follows : uint8_t {
  Monotonic,  // setting the system's clock changes no duration: real time has the offset of the first pair
  Realtime,   // times match those that others took from the system's clock
};

// Piecewise linear between pairs. Outside of them it uses the period of the counter, or the slope of the pairs if the
// period is unknown. Monotone. Rounds to the nearest nanosecond. Cheap: one multiplication and one shift within a
// segment. Ticks of a counter that wraps are taken as the time nearest to the pairs. Pairs may be untrusted: those that
// go backwards are ignored.
class ClockMap {
 public:
  ClockMap() : ClockMap({}, {}) {}  // not usable: a tick counts as a nanosecond
  ClockMap(const Counter& counter, std::span<const ClockPair> pairs, Follows follows = Follows::Monotonic);

  int64_t to_realtime_ns(uint64_t ticks) const;   // since 1970
  int64_t to_monotonic_ns(uint64_t ticks) const;  // the host's CLOCK_MONOTONIC
  // The same for many times that are close to each other: looks for their segment only once. `ns` has as many.
  void to_realtime_ns(std::span<const uint64_t> ticks, int64_t* ns) const;

  // Of the counter, between two of its times. Also right if it has wrapped in between.
  uint64_t ticks_between(uint64_t from, uint64_t to) const { return (to - from) & wrap_mask_; }
  double to_ns(uint64_t tick_difference) const { return static_cast<double>(tick_difference) * ns_per_tick_; }
  // The duration of a range, rounded once. This is what every command shows. The difference of two times is rounded
  // twice, and has the errors of the pairs: it may be another number of nanoseconds.
  uint64_t duration_ns(uint64_t tick_difference) const { return round_ns(to_ns(tick_difference)); }

  // The true host time is within ± this: the worst pair, and how far pairs are from the line.
  uint64_t error_ns() const { return error_ns_; }
  bool usable() const { return usable_; }      // has a pair, and a period from any source
  bool has_rate() const { return has_rate_; }  // has a period: durations are right even if it has no pair

 private:
  // Nanoseconds per tick, as a fixed-point number. 0: unknown.
  struct Rate {
    uint64_t scaled = 0;
    unsigned fraction_bits = 0;

    static Rate of(uint64_t ns, uint64_t ticks);
    explicit operator bool() const { return scaled != 0; }
    int64_t ns(uint64_t ticks) const;
  };
  // From one pair to the next, or without an end.
  struct Segment {
    uint64_t ticks = 0;   // its start, relative to the first pair
    int64_t host_ns = 0;  // at its start, on the clock that is followed
    Rate rate;
  };

  void add(const ClockPair& pair, Follows follows, Rate period);
  // The segment with this time, which is counted from the first pair and is not before it.
  const Segment& segment_of(uint64_t offset) const;
  int64_t to_host_ns(uint64_t ticks) const;

  std::vector<Segment> segments_;  // never empty
  uint64_t first_ticks_ = 0;
  Rate outside_;  // before the first pair and after the last
  uint64_t wrap_mask_ = ~uint64_t{0};
  uint64_t latest_offset_ = ~uint64_t{0};  // ticks with a larger distance from the first pair are before it
  int64_t realtime_offset_ns_ = 0, monotonic_offset_ns_ = 0;  // from the clock that is followed; one of them is 0
  double ns_per_tick_ = 1;
  uint64_t error_ns_ = 0;
  bool usable_ = false, has_rate_ = false;
};

}  // namespace kymo::base
