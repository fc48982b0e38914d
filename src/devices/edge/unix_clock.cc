#include "edge/unix_clock.h"

#include <algorithm>
#include <array>

namespace kymo::edge {

namespace {

using base::ClockPair;

// By how much the system clock was set: a difference larger than the drift while a clock is slewed.
int64_t clock_set_by(const ClockPair& begin, const ClockPair& end) {
  constexpr int64_t kReadingError = 1'000'000;
  constexpr int64_t kMaxSlew = 1000;  // a slewed clock changes by at most 1/1000
  const auto monotonic = static_cast<int64_t>(end.monotonic_ns - begin.monotonic_ns);
  const auto realtime = static_cast<int64_t>(end.realtime_ns - begin.realtime_ns);
  const int64_t apart = realtime - monotonic;
  const int64_t allowed = kReadingError + std::max<int64_t>(monotonic, 0) / kMaxSlew;
  return apart > allowed || apart < -allowed ? apart : 0;
}

// The end as the system clock would show it if it had not been set.
ClockPair end_without_setting(const ClockPair& begin, ClockPair end, int64_t set_by_ns) {
  if (set_by_ns != 0 || end.realtime_ns <= begin.realtime_ns)
    end.realtime_ns = begin.realtime_ns + end.monotonic_ns - std::min(begin.monotonic_ns, end.monotonic_ns);
  return end;
}

base::ClockMap map_between(const ClockPair& begin, const ClockPair& end) {
  return {base::Counter{}, std::array{begin, end}, base::Follows::Realtime};
}

// The host's monotonic clock as the counter.
ClockPair counted_in_ns(ClockPair pair) {
  pair.ticks = pair.monotonic_ns;
  return pair;
}

}  // namespace

UnixClock::UnixClock(const LogContents& log)
    : start_ns_(log.begin.realtime_ns), set_by_ns_(clock_set_by(log.begin, log.end)) {
  const ClockPair end = end_without_setting(log.begin, log.end, set_by_ns_);
  ticks_ = map_between(log.begin, end);
  monotonic_ = map_between(counted_in_ns(log.begin), counted_in_ns(end));
}

uint64_t UnixClock::since_1970(const base::ClockMap& clock, uint64_t time) const {
  if (!clock.usable()) return start_ns_;
  return static_cast<uint64_t>(std::max<int64_t>(clock.to_realtime_ns(time), 0));
}

}  // namespace kymo::edge
