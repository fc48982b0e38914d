#include "edge/unix_clock.h"

#include <algorithm>
#include <array>

namespace kymo::edge {

namespace {

using base::ClockPair;

// The end as the system clock shows it if nobody sets it during the recording.
ClockPair end_of(const LogContents& log) {
  ClockPair end = log.end;
  end.realtime_ns = log.begin.realtime_ns + end.monotonic_ns - std::min(log.begin.monotonic_ns, end.monotonic_ns);
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

UnixClock::UnixClock(const LogContents& log) : start_ns_(log.begin.realtime_ns) {
  const ClockPair end = end_of(log);
  ticks_ = map_between(log.begin, end);
  monotonic_ = map_between(counted_in_ns(log.begin), counted_in_ns(end));
}

uint64_t UnixClock::since_1970(const base::ClockMap& clock, uint64_t time) const {
  if (!clock.usable()) return start_ns_;
  return static_cast<uint64_t>(std::max<int64_t>(clock.to_realtime_ns(time), 0));
}

}  // namespace kymo::edge
