#include "edge/unix_clock.h"

#include <gtest/gtest.h>

namespace kymo::edge {
namespace {

LogContents clocks(base::ClockPair begin, base::ClockPair end) {
  LogContents log;
  log.begin = begin;
  log.end = end;
  return log;
}

TEST(UnixClockTest, BeginAndEndOfALogMatchItsClocks) {
  // 25 MHz for an hour: 40 ns per tick
  const UnixClock clock(clocks({1000, 500, 1'700'000'000'000'000'000},
                               {1000 + 90'000'000'000, 500 + 3'600'000'000'000, 1'700'003'600'000'000'123}));
  EXPECT_EQ(clock.of_ticks(1000), 1'700'000'000'000'000'000u);
  EXPECT_EQ(clock.of_ticks(1000 + 90'000'000'000), 1'700'003'600'000'000'123u);
  EXPECT_EQ(clock.of_monotonic(500), 1'700'000'000'000'000'000u);
  EXPECT_EQ(clock.of_monotonic(500 + 3'600'000'000'000), 1'700'003'600'000'000'123u);
  EXPECT_EQ(clock.set_by_ns(), 0);
  EXPECT_EQ(clock.of_ticks(1001), 1'700'000'000'000'000'040u);
  EXPECT_EQ(clock.of_ticks(999), 1'699'999'999'999'999'960u);
}

TEST(UnixClockTest, ContinuesAsBeforeIfTheSystemClockWasSet) {
  for (const int64_t by : {+3'600'000'000'000, -3'600'000'000'000}) {
    const UnixClock clock(clocks({0, 0, 1'700'000'000'000'000'000},
                                 {1000, 1'000'000'000, static_cast<uint64_t>(1'700'000'001'000'000'000 + by)}));
    EXPECT_EQ(clock.set_by_ns(), by);
    EXPECT_EQ(clock.of_ticks(500), 1'700'000'000'500'000'000u);
  }
}

TEST(UnixClockTest, LogWithoutLengthHasOneTime) {
  const UnixClock clock(clocks({7, 8, 9}, {7, 8, 9}));
  EXPECT_EQ(clock.of_ticks(0), 9u);
  EXPECT_EQ(clock.of_ticks(UINT64_MAX), 9u);
  const UnixClock reversed(clocks({7, 8, 9}, {5, 4, 3}));
  EXPECT_EQ(reversed.of_ticks(100), 9u);
}

}  // namespace
}  // namespace kymo::edge
