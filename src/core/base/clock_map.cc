#include "base/clock_map.h"

#include <cmath>
#include <limits>

namespace kymo::base {
namespace {

__extension__ typedef unsigned __int128 WideTicks;

// With this many bits, a 5 GHz counter stays exact to a few nanoseconds over weeks. A counter below 16 kHz has fewer
// bits, because its rate would not fit into 64 bits.
constexpr unsigned kMaxFractionBits = 48;

constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();
constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();
constexpr uint64_t kFar = uint64_t{1} << 62;  // the sum of two such times does not overflow

int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? kLatest : kEarliest;
}

// A larger time is forged, or centuries from now.
bool is_plausible(const ClockPair& pair) {
  constexpr uint64_t kCap = uint64_t{1} << 62;
  return pair.monotonic_ns < kCap && pair.realtime_ns < kCap;
}

}  // namespace

ClockMap::Rate ClockMap::Rate::of(uint64_t ns, uint64_t ticks) {
  if (ticks == 0) return {};
  WideTicks scaled = (WideTicks{ns} << kMaxFractionBits) / ticks;
  unsigned fraction_bits = kMaxFractionBits;
  for (; scaled > ~uint64_t{0}; --fraction_bits) scaled >>= 1;
  return {static_cast<uint64_t>(scaled), fraction_bits};
}

int64_t ClockMap::Rate::ns(uint64_t ticks) const {
  const WideTicks half = (WideTicks{1} << fraction_bits) >> 1;
  const WideTicks exact = (WideTicks{ticks} * scaled + half) >> fraction_bits;
  return static_cast<int64_t>(std::min<WideTicks>(exact, static_cast<uint64_t>(kLatest)));
}

ClockMap::ClockMap(const Counter& counter, std::span<const ClockPair> pairs, Follows follows) {
  if (counter.wrap_bits > 0 && counter.wrap_bits < 64) wrap_mask_ = (uint64_t{1} << counter.wrap_bits) - 1;
  const Rate period = Rate::of(counter.period_numerator, counter.period_denominator);
  for (const ClockPair& pair : pairs)
    if (is_plausible(pair)) add(pair, follows, period);

  Rate slope;
  if (segments_.size() > 1) {
    const Segment &first = segments_.front(), &last = segments_.back();
    slope = Rate::of(static_cast<uint64_t>(last.host_ns - first.host_ns), last.ticks);
    uint64_t farthest = 0;
    for (const Segment& pair : segments_) {
      const int64_t on_line = plus(first.host_ns, slope.ns(pair.ticks));
      farthest = std::max<uint64_t>(farthest, static_cast<uint64_t>(std::abs(pair.host_ns - on_line)));
    }
    error_ns_ = error_ns_ + farthest < error_ns_ ? ~uint64_t{0} : error_ns_ + farthest;
  }
  outside_ = period ? period : slope;
  has_rate_ = static_cast<bool>(outside_);
  usable_ = !segments_.empty() && has_rate_;
  if (!outside_) outside_ = Rate::of(1, 1);
  if (segments_.empty()) segments_.push_back({});
  segments_.back().rate = outside_;
  ns_per_tick_ = std::ldexp(static_cast<double>(outside_.scaled), -static_cast<int>(outside_.fraction_bits));
  if (period) {
    ns_per_tick_ = static_cast<double>(counter.period_numerator) / static_cast<double>(counter.period_denominator);
  }

  // The pairs cover a part of the counter's wrap-around range. Half of the rest lies after the pairs, the other half
  // before.
  const uint64_t span = segments_.back().ticks;
  const bool counts_on = wrap_mask_ == ~uint64_t{0};
  latest_offset_ = counts_on ? ~first_ticks_ : span >= wrap_mask_ ? wrap_mask_ : span + (wrap_mask_ - span) / 2;
}

void ClockMap::add(const ClockPair& pair, Follows follows, Rate period) {
  const auto monotonic = static_cast<int64_t>(pair.monotonic_ns), realtime = static_cast<int64_t>(pair.realtime_ns);
  const int64_t ns = follows == Follows::Monotonic ? monotonic : realtime;
  error_ns_ = std::max(error_ns_, pair.error_ns);
  if (segments_.empty()) {
    first_ticks_ = pair.ticks;
    realtime_offset_ns_ = realtime - ns;
    monotonic_offset_ns_ = monotonic - ns;
    segments_.push_back({0, ns, period});
    return;
  }
  Segment& before = segments_.back();
  const uint64_t elapsed = (pair.ticks - first_ticks_ - before.ticks) & wrap_mask_;
  const uint64_t ticks = before.ticks + elapsed;
  if (elapsed == 0 || ticks < before.ticks || ns < before.host_ns) return;
  before.rate = Rate::of(static_cast<uint64_t>(ns - before.host_ns), elapsed);
  segments_.push_back({ticks, ns, period});
}

int64_t ClockMap::to_host_ns(uint64_t ticks) const {
  const uint64_t offset = (ticks - first_ticks_) & wrap_mask_;
  if (offset > latest_offset_) {
    const uint64_t before = (first_ticks_ - ticks) & wrap_mask_;
    return plus(segments_.front().host_ns, -outside_.ns(before));
  }
  const Segment& segment = segment_of(offset);
  return plus(segment.host_ns, segment.rate.ns(offset - segment.ticks));
}

const ClockMap::Segment& ClockMap::segment_of(uint64_t offset) const {
  const auto next = std::upper_bound(segments_.begin(), segments_.end(), offset,
                                     [](uint64_t at, const Segment& segment) { return at < segment.ticks; });
  return *(next - 1);
}

void ClockMap::to_realtime_ns(std::span<const uint64_t> ticks, int64_t* ns) const {
  uint64_t begin = 0, length = 0;    // of the segment of the last time; 0: none yet
  uint64_t whole = 0, fraction = 0;  // its nanoseconds per tick; the fraction has 64 bits, so that no shift is needed
  int64_t begin_ns = 0;
  for (size_t i = 0; i < ticks.size(); ++i) {
    const uint64_t offset = (ticks[i] - first_ticks_) & wrap_mask_;
    if (offset - begin >= length) {
      if (offset > latest_offset_) {
        ns[i] = to_realtime_ns(ticks[i]);
        continue;
      }
      const Segment& segment = segment_of(offset);
      const auto& [scaled, fraction_bits] = segment.rate;
      begin = segment.ticks;
      begin_ns = plus(segment.host_ns, realtime_offset_ns_);
      whole = scaled >> fraction_bits;
      fraction = fraction_bits == 0 ? 0 : scaled << (64 - fraction_bits);
      // Far from the pairs, a time may be outside of what 64 bits can hold.
      const bool is_last = &segment == &segments_.back();
      length = std::min((is_last ? latest_offset_ : (&segment)[1].ticks) - begin, kFar / (whole + 1));
      if (begin_ns < -static_cast<int64_t>(kFar) || begin_ns > static_cast<int64_t>(kFar)) length = 0;
      if (offset - begin >= length) {
        ns[i] = to_realtime_ns(ticks[i]);
        continue;
      }
    }
    constexpr WideTicks kHalf = WideTicks{1} << 63;
    const uint64_t elapsed = offset - begin;
    const WideTicks parts = WideTicks{elapsed} * fraction + kHalf;
    ns[i] = begin_ns + static_cast<int64_t>(elapsed * whole + static_cast<uint64_t>(parts >> 64));
  }
}

int64_t ClockMap::to_realtime_ns(uint64_t ticks) const { return plus(to_host_ns(ticks), realtime_offset_ns_); }

int64_t ClockMap::to_monotonic_ns(uint64_t ticks) const { return plus(to_host_ns(ticks), monotonic_offset_ns_); }

}  // namespace kymo::base
