#include "edge/unix_clock.h"

#include <algorithm>

namespace kymo::edge {

namespace {

__extension__ using ClockWide = unsigned __int128;
__extension__ using ClockSigned = __int128;

// More than the two clocks drift apart when one is being slewed.
int64_t clock_set_by(const ClockPair& begin, const ClockPair& end) {
  constexpr int64_t kReadingError = 1'000'000;
  constexpr int64_t kMostSlew = 1000;  // one part in so many
  const auto monotonic = static_cast<int64_t>(end.monotonic_ns - begin.monotonic_ns);
  const auto realtime = static_cast<int64_t>(end.realtime_ns - begin.realtime_ns);
  const int64_t apart = realtime - monotonic;
  const int64_t allowed = kReadingError + std::max<int64_t>(monotonic, 0) / kMostSlew;
  return apart > allowed || apart < -allowed ? apart : 0;
}

}  // namespace

uint64_t TimeLine::distance(uint64_t steps, uint64_t& remainder) const {
  const ClockWide product = static_cast<ClockWide>(steps) * rise_;
  const double guess = static_cast<double>(steps) * slope_;
  constexpr double kFits = 0x1p63;
  if (guess < kFits) {
    const auto quotient = static_cast<uint64_t>(guess);
    const auto off = static_cast<ClockSigned>(product - static_cast<ClockWide>(quotient) * run_);
    if (off >= 0 && off < static_cast<ClockSigned>(run_)) {
      remainder = static_cast<uint64_t>(off);
      return quotient;
    }
  }
  const ClockWide exact = product / run_;
  remainder = static_cast<uint64_t>(product % run_);
  return exact > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(exact);
}

uint64_t TimeLine::at(uint64_t x) const {
  if (run_ == 0) return y0_;
  uint64_t remainder = 0;
  if (x >= x0_) {
    const uint64_t up = distance(x - x0_, remainder);
    return up > UINT64_MAX - y0_ ? UINT64_MAX : y0_ + up;
  }
  uint64_t down = distance(x0_ - x, remainder);
  if (remainder != 0 && down != UINT64_MAX) ++down;  // down, not towards y0
  return down > y0_ ? 0 : y0_ - down;
}

UnixClock::UnixClock(const LogContents& log)
    : set_by_ns_(clock_set_by(log.begin, log.end)),
      elapsed_ns_(set_by_ns_ == 0 && log.end.realtime_ns > log.begin.realtime_ns
                      ? log.end.realtime_ns - log.begin.realtime_ns
                      : log.end.monotonic_ns - std::min(log.begin.monotonic_ns, log.end.monotonic_ns)),
      ticks_(log.begin.ticks, log.begin.realtime_ns, log.end.ticks - std::min(log.begin.ticks, log.end.ticks),
             elapsed_ns_),
      monotonic_(log.begin.monotonic_ns, log.begin.realtime_ns,
                 log.end.monotonic_ns - std::min(log.begin.monotonic_ns, log.end.monotonic_ns), elapsed_ns_) {}

}  // namespace kymo::edge
