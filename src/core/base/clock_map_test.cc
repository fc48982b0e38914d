#include "base/clock_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace kymo::base {
namespace {

constexpr uint64_t kBoot = 1'700'000'000'000'000'000;  // real time minus monotonic time

ClockPair pair(uint64_t ticks, uint64_t ns, uint64_t error = 0) { return {ticks, ns, kBoot + ns, error}; }

ClockMap map_of(const std::vector<ClockPair>& pairs, uint64_t numerator = 1, uint64_t denominator = 3) {
  return {{numerator, denominator, 64}, pairs};
}

// Random numbers of all sizes, often the two extremes.
uint64_t wild(std::mt19937_64& random) {
  const uint64_t which = random() % 8;
  return which == 0 ? 0 : which == 1 ? ~uint64_t{0} : random() >> (random() % 64);
}

TEST(ClockMapTest, OnePairAndAPeriodConvertBothWays) {
  const ClockMap map = map_of({pair(3000, 500'000)});
  EXPECT_TRUE(map.usable());
  EXPECT_EQ(map.to_monotonic_ns(3000), 500'000);
  EXPECT_EQ(map.to_monotonic_ns(6000), 501'000);
  EXPECT_EQ(map.to_monotonic_ns(0), 499'000);
  EXPECT_EQ(map.to_realtime_ns(6000), static_cast<int64_t>(kBoot) + 501'000);
  EXPECT_EQ(map.duration_ns(3000), 1000u);
  EXPECT_DOUBLE_EQ(map.to_ns(3), 1.0);
}

TEST(ClockMapTest, ADurationIsRoundedOnceAndAwayFromZero) {
  const ClockMap map = map_of({pair(0, 500'000)}, 5, 12);
  EXPECT_EQ(map.duration_ns(6), 3u);   // 2.5 ns
  EXPECT_EQ(map.duration_ns(18), 8u);  // 7.5 ns
  EXPECT_EQ(map.duration_ns(7), 3u);   // 2.9 ns, also where the times are 2 ns or 4 ns apart
  EXPECT_EQ(map_of({pair(0, 500'000)}, 5, 1).duration_ns(~uint64_t{0}), 9'000'000'000'000'000'000u);
}

TEST(ClockMapTest, SegmentsBetweenPairsFollowThePairs) {
  // The stated period is 1 ns per tick. The pairs show 2 ns, then 4 ns.
  const ClockMap map = map_of({pair(1000, 10'000), pair(2000, 12'000), pair(3000, 16'000)}, 1, 1);
  EXPECT_EQ(map.to_monotonic_ns(1500), 11'000);
  EXPECT_EQ(map.to_monotonic_ns(2000), 12'000);
  EXPECT_EQ(map.to_monotonic_ns(2500), 14'000);
  EXPECT_EQ(map.to_monotonic_ns(3100), 16'100);  // outside the pairs the stated period applies
  EXPECT_EQ(map.to_monotonic_ns(900), 9'900);
}

TEST(ClockMapTest, UnknownPeriodIsComputedFromThePairs) {
  const ClockMap map = map_of({pair(1000, 10'000), pair(2000, 12'000)}, 0, 1);
  EXPECT_TRUE(map.usable());
  EXPECT_EQ(map.to_monotonic_ns(3000), 14'000);
  EXPECT_EQ(map.duration_ns(500), 1000u);
}

TEST(ClockMapTest, WithoutAPairOrAPeriodItIsNotUsable) {
  EXPECT_FALSE(map_of({}).usable());
  EXPECT_FALSE(map_of({pair(1, 1)}, 0, 1).usable());
  EXPECT_FALSE(map_of({pair(1, 1)}, 1, 0).usable());
  EXPECT_EQ(map_of({}, 1, 1).duration_ns(5), 5u);
}

TEST(ClockMapTest, ErrorIsTheMaxPairErrorPlusTheMaxDistanceFromTheLine) {
  EXPECT_EQ(map_of({pair(0, 0, 30)}).error_ns(), 30u);
  EXPECT_EQ(map_of({pair(0, 0, 30), pair(1000, 1000, 40), pair(2000, 2000, 5)}, 1, 1).error_ns(), 40u);
  EXPECT_EQ(map_of({pair(0, 0, 30), pair(1000, 1100, 40), pair(2000, 2000, 5)}, 1, 1).error_ns(), 140u);
}

TEST(ClockMapTest, WallClockStepDoesNotChangeDurations) {
  ClockPair stepped = pair(2000, 2000);
  stepped.realtime_ns += 3'600'000'000'000;
  const ClockMap map = map_of({pair(1000, 1000), stepped}, 1, 1);
  EXPECT_EQ(map.to_realtime_ns(3000) - map.to_realtime_ns(1000), 2000);
}

TEST(ClockMapTest, WrappedCounterIsMappedToTheNearestTime) {
  const ClockMap map({1, 1, 32}, std::vector{pair(0xffff'ff00, 1'000'000), pair(0x100, 1'000'512)});
  EXPECT_EQ(map.to_monotonic_ns(0xffff'ff80), 1'000'128);
  EXPECT_EQ(map.to_monotonic_ns(0x80), 1'000'384);
  EXPECT_EQ(map.to_monotonic_ns(0x200), 1'000'768);
  EXPECT_EQ(map.to_monotonic_ns(0xffff'fe00), 999'744);
  EXPECT_EQ(map.ticks_between(0xffff'ff80, 0x80), 0x100u);
}

TEST(ClockMapTest, StaysExactOverWeeks) {
  const uint64_t month = 30ull * 86400 * 1'000'000'000;
  const ClockMap map = map_of({pair(0, 0)}, 1'000'000, 2'995'200);  // 2.9952 GHz
  const uint64_t ticks = month / 1'000'000 * 2'995'200;
  EXPECT_NEAR(static_cast<double>(map.to_monotonic_ns(ticks)), static_cast<double>(month), 40);
}

TEST(ClockMapTest, SlowCounterIsConverted) {
  for (const uint64_t ns : {uint64_t{100'000}, uint64_t{1'000'000}, uint64_t{3'600'000'000'000}}) {
    const ClockMap map = map_of({pair(10, 5'000)}, ns, 1);
    EXPECT_EQ(map.to_monotonic_ns(13), static_cast<int64_t>(5'000 + 3 * ns));
    EXPECT_EQ(map.duration_ns(1000), 1000 * ns);
  }
}

TEST(ClockMapTest, IsMonotonicForAnyPairs) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 300; ++round) {
    std::vector<ClockPair> pairs(random() % 6);
    for (ClockPair& each : pairs) {
      each = {wild(random), wild(random), wild(random), wild(random)};
    }
    const ClockMap map = map_of(pairs, wild(random), wild(random));
    std::vector<uint64_t> ticks(100);
    for (uint64_t& each : ticks) each = wild(random);
    for (const ClockPair& each : pairs) ticks.insert(ticks.end(), {each.ticks - 1, each.ticks, each.ticks + 1});
    std::sort(ticks.begin(), ticks.end());
    int64_t before = std::numeric_limits<int64_t>::min();
    for (uint64_t each : ticks) {
      const int64_t now = map.to_monotonic_ns(each);
      EXPECT_LE(before, now);
      before = now;
    }
  }
}

// The exact time on the line through a pair, in arithmetic that is wide enough.
int64_t exact_ns(const ClockPair& at, uint64_t ticks, uint64_t ns, uint64_t in_ticks, uint64_t start_ns) {
  __extension__ using Exact = __int128;
  const Exact numerator = (static_cast<Exact>(ticks) - at.ticks) * ns;
  Exact whole = numerator / in_ticks;
  if (numerator < 0 && numerator % in_ticks != 0) --whole;
  return static_cast<int64_t>(whole) + static_cast<int64_t>(start_ns);
}

TEST(ClockMapTest, DeviceTimesAreWithinOneNanosecondOfTheLineThroughTheReading) {
  std::mt19937_64 random(2);
  constexpr uint64_t kPeriods[][2] = {{1, 1}, {10, 1}, {625, 12}, {5'208'333, 100'000}, {1'000'000'000, 19'200'000}};
  for (const auto& [numerator, denominator] : kPeriods) {
    for (int round = 0; round < 1000; ++round) {
      const ClockPair reading = pair(1'000'000'000 + (random() >> 24), 1 + (random() >> 14));
      const ClockMap map({numerator, denominator, 64}, {&reading, 1});
      // Up to ten seconds before and after the pair.
      const uint64_t range = 10'000'000'000 * denominator / numerator;
      const uint64_t ticks = reading.ticks - std::min(reading.ticks, range) + random() % (2 * range);
      const int64_t exact = exact_ns(reading, ticks, numerator, denominator, reading.monotonic_ns);
      if (denominator == 1) {
        ASSERT_EQ(map.to_monotonic_ns(ticks), exact);
      } else {
        ASSERT_NEAR(static_cast<double>(map.to_monotonic_ns(ticks) - exact), 0, 1);
      }
    }
  }
}

TEST(ClockMapTest, RecordingTimesAreWithinOneNanosecondOfTheLineThroughBothPairs) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 1000; ++round) {
    // One second to one day, a counter of 1 MHz to 5 GHz, and a real time that drifts by up to 100 ppm.
    const uint64_t ns = 1'000'000'000 + random() % 86'400'000'000'000;
    const uint64_t per_second = 1'000'000 + random() % 5'000'000'000;
    const auto run = static_cast<uint64_t>(static_cast<double>(ns) * 1e-9 * static_cast<double>(per_second));
    const uint64_t rise = ns + random() % (ns / 10'000);
    const ClockPair begin{random() >> 4, random() >> 14, kBoot, 0};
    const ClockPair end{begin.ticks + run, begin.monotonic_ns + ns, kBoot + rise, 0};
    const ClockMap map({}, std::vector{begin, end}, Follows::Realtime);
    ASSERT_EQ(map.to_realtime_ns(begin.ticks), static_cast<int64_t>(begin.realtime_ns));
    ASSERT_EQ(map.to_realtime_ns(end.ticks), static_cast<int64_t>(end.realtime_ns));
    for (int i = 0; i < 10; ++i) {
      const uint64_t ticks = begin.ticks + random() % run;
      ASSERT_NEAR(static_cast<double>(map.to_realtime_ns(ticks) - exact_ns(begin, ticks, rise, run, kBoot)), 0, 1);
    }
  }
}

TEST(ClockMapTest, ManyTimesAreConvertedLikeSingleOnes) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<ClockPair> pairs;
    uint64_t ticks = random() >> (random() % 64), monotonic = 1000, realtime = 1'700'000'000'000'000'000;
    for (uint64_t i = random() % 5; i > 0; --i) {
      pairs.push_back({ticks, monotonic, realtime, 10});
      const uint64_t elapsed = 1 + random() % 5000;
      ticks += elapsed;
      monotonic += elapsed * 3 / 2 + random() % 10;
      realtime += elapsed * 3 / 2;
    }
    const Counter counter{random() % 2 * 3, 2, random() % 3 == 0 ? 16u : 64u};
    const ClockMap map(counter, pairs);
    std::vector<uint64_t> times;
    for (int i = 0; i < 300; ++i) times.push_back(random() % 4 == 0 ? random() : ticks - 10'000 + random() % 20'000);
    for (const ClockPair& pair : pairs) times.insert(times.end(), {pair.ticks - 1, pair.ticks, pair.ticks + 1});
    std::vector<int64_t> converted(times.size());
    map.to_realtime_ns(times, converted.data());
    for (size_t i = 0; i < times.size(); ++i) ASSERT_EQ(converted[i], map.to_realtime_ns(times[i])) << times[i];
  }
}

TEST(ClockMapTest, FollowsRealTimeIfAskedTo) {
  ClockPair later = pair(2000, 2000);
  later.realtime_ns += 500;
  const std::vector<ClockPair> pairs{pair(1000, 1000), later};
  const ClockMap monotonic({0, 1, 64}, pairs), realtime({0, 1, 64}, pairs, Follows::Realtime);
  EXPECT_EQ(monotonic.to_realtime_ns(2000), static_cast<int64_t>(kBoot) + 2000);
  EXPECT_EQ(realtime.to_realtime_ns(2000), static_cast<int64_t>(kBoot) + 2500);
  EXPECT_EQ(realtime.to_realtime_ns(1500), static_cast<int64_t>(kBoot) + 1750);
  EXPECT_EQ(realtime.to_monotonic_ns(1000), 1000);
}

TEST(ClockMapTest, HostClockPairLiesBetweenItsReadings) {
  const uint64_t before = monotonic_ns(), real_before = realtime_ns();
  const ClockPair read = read_clock_pair(monotonic_ns);
  const uint64_t after = monotonic_ns();
  EXPECT_GE(read.ticks, before);
  EXPECT_LE(read.ticks, after);
  EXPECT_GE(read.monotonic_ns, before);
  EXPECT_LE(read.monotonic_ns, after);
  EXPECT_LE(std::max(read.ticks, read.monotonic_ns) - std::min(read.ticks, read.monotonic_ns), read.error_ns);
  EXPECT_NEAR(static_cast<double>(read.realtime_ns - real_before), 0, 1e9);
}

}  // namespace
}  // namespace kymo::base
