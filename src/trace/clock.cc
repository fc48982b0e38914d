#include "trace/clock.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace kymo::trace {

namespace {

__extension__ typedef unsigned __int128 Wide;

// Nanoseconds a tick as fixed-point numbers: exact to a nanosecond over weeks of a 5 GHz counter, and wide enough for a
// counter of 16 kHz.
constexpr unsigned kFractionBits = 48;
constexpr uint64_t kUnknown = 0;

constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();
constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();

uint64_t ratio(uint64_t numerator, uint64_t denominator) {
  if (denominator == 0) return kUnknown;
  const Wide exact = (Wide{numerator} << kFractionBits) / denominator;
  return static_cast<uint64_t>(std::min<Wide>(exact, ~uint64_t{0}));
}

int64_t scale(uint64_t ticks, uint64_t ns_per_tick) {
  constexpr Wide kHalf = Wide{1} << (kFractionBits - 1);
  const Wide ns = (Wide{ticks} * ns_per_tick + kHalf) >> kFractionBits;
  return static_cast<int64_t>(std::min<Wide>(ns, static_cast<uint64_t>(kLatest)));
}

int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? kLatest : kEarliest;
}

// Times of this size are either forged or some centuries from now.
bool is_plausible(const ClockPair& pair) {
  constexpr uint64_t kCap = uint64_t{1} << 62;
  return pair.monotonic_ns < kCap && pair.realtime_ns < kCap;
}

}  // namespace

ClockMap::ClockMap(const ClockDomain& clock) {
  if (clock.wrap_bits > 0 && clock.wrap_bits < 64) wrap_mask_ = (uint64_t{1} << clock.wrap_bits) - 1;
  const uint64_t period = ratio(clock.period_numerator, clock.period_denominator);

  for (const ClockPair& pair : clock.pairs) {
    if (!is_plausible(pair)) continue;
    const auto ns = static_cast<int64_t>(pair.monotonic_ns);
    error_ns_ = std::max(error_ns_, pair.error_ns);
    if (segments_.empty()) {
      first_ticks_ = pair.ticks;
      realtime_offset_ns_ = static_cast<int64_t>(pair.realtime_ns) - ns;
      segments_.push_back({0, ns, period});
      continue;
    }
    Segment& before = segments_.back();
    const uint64_t elapsed = (pair.ticks - first_ticks_ - before.ticks) & wrap_mask_;
    const uint64_t ticks = before.ticks + elapsed;
    if (elapsed == 0 || ticks < before.ticks || ns < before.monotonic_ns) continue;
    before.ns_per_tick = ratio(static_cast<uint64_t>(ns - before.monotonic_ns), elapsed);
    segments_.push_back({ticks, ns, period});
  }

  uint64_t slope = kUnknown;
  if (segments_.size() > 1) {
    const Segment &first = segments_.front(), &last = segments_.back();
    slope = ratio(static_cast<uint64_t>(last.monotonic_ns - first.monotonic_ns), last.ticks);
    uint64_t farthest = 0;
    for (const Segment& pair : segments_) {
      const int64_t on_line = plus(first.monotonic_ns, scale(pair.ticks, slope));
      farthest = std::max<uint64_t>(farthest, static_cast<uint64_t>(std::abs(pair.monotonic_ns - on_line)));
    }
    error_ns_ = error_ns_ + farthest < error_ns_ ? ~uint64_t{0} : error_ns_ + farthest;
  }
  const uint64_t beyond = period != kUnknown ? period : slope;
  usable_ = !segments_.empty() && beyond != kUnknown;
  if (segments_.empty()) segments_.push_back({0, 0, 0});
  backward_ns_per_tick_ = segments_.back().ns_per_tick = beyond != kUnknown ? beyond : ratio(1, 1);
  ns_per_tick_ = std::ldexp(static_cast<double>(backward_ns_per_tick_), -static_cast<int>(kFractionBits));
  if (period != kUnknown) {
    ns_per_tick_ = static_cast<double>(clock.period_numerator) / static_cast<double>(clock.period_denominator);
  }

  // Half of what the pairs leave of the counter's circle is after them, the other half before.
  const uint64_t span = segments_.back().ticks;
  const bool counts_on = wrap_mask_ == ~uint64_t{0};
  latest_offset_ = counts_on ? ~first_ticks_ : span >= wrap_mask_ ? wrap_mask_ : span + (wrap_mask_ - span) / 2;
}

int64_t ClockMap::to_monotonic_ns(uint64_t ticks) const {
  const uint64_t offset = (ticks - first_ticks_) & wrap_mask_;
  if (offset > latest_offset_) {
    const uint64_t before = (first_ticks_ - ticks) & wrap_mask_;
    return plus(segments_.front().monotonic_ns, -scale(before, backward_ns_per_tick_));
  }
  const auto next = std::upper_bound(segments_.begin(), segments_.end(), offset,
                                     [](uint64_t at, const Segment& segment) { return at < segment.ticks; });
  const Segment& segment = *(next - 1);
  return plus(segment.monotonic_ns, scale(offset - segment.ticks, segment.ns_per_tick));
}

int64_t ClockMap::to_realtime_ns(uint64_t ticks) const { return plus(to_monotonic_ns(ticks), realtime_offset_ns_); }

double ClockMap::to_ns(uint64_t tick_difference) const { return static_cast<double>(tick_difference) * ns_per_tick_; }

uint64_t ClockMap::duration_ns(uint64_t tick_difference) const {
  return static_cast<uint64_t>(scale(tick_difference, backward_ns_per_tick_));
}

uint64_t ClockMap::error_ns() const { return error_ns_; }
bool ClockMap::usable() const { return usable_; }

int64_t monotonic_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t realtime_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace kymo::trace
