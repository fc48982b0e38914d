#include "trace/clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "trace/test_support.h"

namespace kymo::trace {
namespace {

constexpr uint64_t kBoot = 1'700'000'000'000'000'000;  // real time less monotonic time

ClockPair pair(uint64_t ticks, uint64_t ns, uint64_t error = 0) { return {ticks, ns, kBoot + ns, error}; }

ClockDomain domain(std::vector<ClockPair> pairs, uint64_t numerator = 1, uint64_t denominator = 3) {
  return {1, ClockKind::Tsc, "boot", numerator, denominator, 64, std::move(pairs)};
}

TEST(ClockTest, OnePairAndAPeriodGoBothWays) {
  const ClockMap map(domain({pair(3000, 500'000)}));
  EXPECT_TRUE(map.usable());
  EXPECT_EQ(map.to_monotonic_ns(3000), 500'000);
  EXPECT_EQ(map.to_monotonic_ns(6000), 501'000);
  EXPECT_EQ(map.to_monotonic_ns(0), 499'000);
  EXPECT_EQ(map.to_realtime_ns(6000), static_cast<int64_t>(kBoot) + 501'000);
  EXPECT_EQ(map.duration_ns(3000), 1000u);
  EXPECT_DOUBLE_EQ(map.to_ns(3), 1.0);
}

TEST(ClockTest, BetweenPairsItFollowsThePairs) {
  // Stated as 1 ns a tick, but in truth 2, then 4.
  const ClockMap map(domain({pair(1000, 10'000), pair(2000, 12'000), pair(3000, 16'000)}, 1, 1));
  EXPECT_EQ(map.to_monotonic_ns(1500), 11'000);
  EXPECT_EQ(map.to_monotonic_ns(2000), 12'000);
  EXPECT_EQ(map.to_monotonic_ns(2500), 14'000);
  EXPECT_EQ(map.to_monotonic_ns(3100), 16'100);  // beyond them by the period
  EXPECT_EQ(map.to_monotonic_ns(900), 9'900);
}

TEST(ClockTest, AnUnknownPeriodComesFromThePairs) {
  const ClockMap map(domain({pair(1000, 10'000), pair(2000, 12'000)}, 0, 1));
  EXPECT_TRUE(map.usable());
  EXPECT_EQ(map.to_monotonic_ns(3000), 14'000);
  EXPECT_EQ(map.duration_ns(500), 1000u);
}

TEST(ClockTest, WithoutAPairOrAPeriodItIsNotUsable) {
  EXPECT_FALSE(ClockMap(domain({})).usable());
  EXPECT_FALSE(ClockMap(domain({pair(1, 1)}, 0, 1)).usable());
  EXPECT_FALSE(ClockMap(domain({pair(1, 1)}, 1, 0)).usable());
  EXPECT_EQ(ClockMap(domain({}, 1, 1)).duration_ns(5), 5u);
}

TEST(ClockTest, TheErrorIsTheWorstPairAndHowFarPairsAreOffTheLine) {
  EXPECT_EQ(ClockMap(domain({pair(0, 0, 30)})).error_ns(), 30u);
  EXPECT_EQ(ClockMap(domain({pair(0, 0, 30), pair(1000, 1000, 40), pair(2000, 2000, 5)}, 1, 1)).error_ns(), 40u);
  EXPECT_EQ(ClockMap(domain({pair(0, 0, 30), pair(1000, 1100, 40), pair(2000, 2000, 5)}, 1, 1)).error_ns(), 140u);
}

TEST(ClockTest, AStepOfTheWallClockBendsNoDuration) {
  ClockPair stepped = pair(2000, 2000);
  stepped.realtime_ns += 3'600'000'000'000;
  const ClockMap map(domain({pair(1000, 1000), stepped}, 1, 1));
  EXPECT_EQ(map.to_realtime_ns(3000) - map.to_realtime_ns(1000), 2000);
}

TEST(ClockTest, ACounterThatWrapsIsTakenAsTheNearestMoment) {
  ClockDomain device = domain({pair(0xffff'ff00, 1'000'000), pair(0x100, 1'000'512)}, 1, 1);
  device.wrap_bits = 32;
  const ClockMap map(device);
  EXPECT_EQ(map.to_monotonic_ns(0xffff'ff80), 1'000'128);
  EXPECT_EQ(map.to_monotonic_ns(0x80), 1'000'384);
  EXPECT_EQ(map.to_monotonic_ns(0x200), 1'000'768);
  EXPECT_EQ(map.to_monotonic_ns(0xffff'fe00), 999'744);
}

TEST(ClockTest, StaysExactOverWeeks) {
  const uint64_t month = 30ull * 86400 * 1'000'000'000;
  const ClockMap map(domain({pair(0, 0)}, 1'000'000, 2'995'200));  // 2.9952 GHz
  const uint64_t ticks = month / 1'000'000 * 2'995'200;
  EXPECT_NEAR(static_cast<double>(map.to_monotonic_ns(ticks)), static_cast<double>(month), 40);
}

TEST(ClockTest, IsMonotoneWhateverThePairs) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 300; ++round) {
    std::vector<ClockPair> pairs(random() % 6);
    for (ClockPair& each : pairs) {
      each = {testing::wild(random), testing::wild(random), testing::wild(random), testing::wild(random)};
    }
    const ClockMap map(domain(pairs, testing::wild(random), testing::wild(random)));
    std::vector<uint64_t> ticks(100);
    for (uint64_t& each : ticks) each = testing::wild(random);
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

}  // namespace
}  // namespace kymo::trace
