#include "questions/change_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace kymo::fleet {
namespace {

std::vector<double> series(std::initializer_list<std::pair<size_t, double>> levels, double noise, uint32_t seed = 7) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, noise);
  std::vector<double> values;
  for (const auto& [count, level] : levels)
    for (size_t i = 0; i < count; ++i) values.push_back(level + normal(random));
  return values;
}

TEST(ChangePointsTest, AStepIsFoundWhereItIs) {
  const auto values = series({{30, 100}, {30, 110}}, 1);
  const auto points = find_change_points(values);
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].at, 30u);
  EXPECT_NEAR(points[0].change.shift, 10, 1);
  EXPECT_GT(points[0].change.low, 0);
  EXPECT_NEAR(points[0].median_before, 100, 1);
  EXPECT_NEAR(points[0].median_after, 110, 1);
}

TEST(ChangePointsTest, AStepFarFromTheMiddleIsFoundNearItsPlace) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    for (const size_t before : {size_t{16}, size_t{104}}) {
      const auto points = find_change_points(series({{before, 100}, {120 - before, 105}}, 0.5, seed));
      // One in a hundred series without a change has one by chance, so there may be a second one.
      const auto is_near = [&](const ChangePoint& point) { return point.at + 5 >= before && point.at <= before + 5; };
      EXPECT_TRUE(std::any_of(points.begin(), points.end(), is_near)) << before;
      EXPECT_LE(points.size(), 2u);
    }
  }
}

TEST(ChangePointsTest, TwoStepsAreFoundInOrder) {
  const auto points = find_change_points(series({{40, 100}, {40, 120}, {40, 90}}, 1));
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].at, 40u);
  EXPECT_EQ(points[1].at, 80u);
  EXPECT_LT(points[1].change.shift, 0);
}

TEST(ChangePointsTest, ALevelThatCameBackIsFound) {
  for (const double level : {80.0, 120.0}) {
    const auto points = find_change_points(series({{15, 100}, {15, level}, {15, 100}}, 0.4));
    ASSERT_EQ(points.size(), 2u);
    EXPECT_EQ(points[0].at, 15u);
    EXPECT_EQ(points[1].at, 30u);
    EXPECT_NEAR(points[0].change.shift, level - 100, 1);
    EXPECT_NEAR(points[1].change.shift, 100 - level, 1);
    EXPECT_LT(points[0].p, kCertain);
  }
}

TEST(ChangePointsTest, FewSeriesHaveAChangeByChance) {
  constexpr uint32_t kSeries = 1'000;
  for (const size_t count : {20u, 60u}) {
    uint32_t found = 0;
    for (uint32_t seed = 0; seed < kSeries; ++seed)
      found += find_change_points(series({{count, 100}}, 5, seed)).empty() ? 0 : 1;
    EXPECT_LT(found, kSeries * (kCertain + kCertainEpisode) * 1.3) << count;
  }
}

TEST(ChangePointsTest, AChangeOfTheLastHoursIsFound) {
  // A trace each hour with 0.4 % of noise: what a change last night looks like in the morning.
  for (uint32_t seed = 0; seed < 25; ++seed) {
    for (const size_t hours : {24u, 48u, 72u, 168u}) {
      for (const size_t last : {4u, 6u}) {
        const auto points = find_change_points(series({{hours - last, 100}, {last, 104.2}}, 0.4, seed));
        ASSERT_FALSE(points.empty()) << hours << " " << last << " " << seed;
        EXPECT_EQ(points.back().at, hours - last) << hours << " " << last << " " << seed;
        EXPECT_NEAR(points.back().change.shift, 4.2, 0.8);
      }
    }
  }
}

TEST(ChangePointsTest, OneValueThatIsVerySlowIsNoChange) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    auto values = series({{48, 100}}, 0.4, seed);
    values[44 + seed % 4] = 500;
    // Those around it may be a little slower by chance.
    for (const ChangePoint& point : find_change_points(values)) EXPECT_LT(std::abs(point.change.shift), 1);
  }
}

TEST(ChangePointsTest, TheSmallestVisibleChangeIsSeenAndHalfOfItIsNot) {
  uint32_t seen = 0, half = 0;
  constexpr uint32_t kSeries = 20;
  for (uint32_t seed = 0; seed < kSeries; ++seed) {
    auto values = series({{48, 100}}, 0.4, seed);
    const auto smallest = smallest_visible_change(values);
    ASSERT_TRUE(smallest);
    EXPECT_EQ(smallest->values, 12u);
    EXPECT_GT(smallest->shift, 0.2);
    EXPECT_LT(smallest->shift, 1.5);
    // In other samples with the same noise, too.
    const auto with = [&](double shift) { return series({{36, 100}, {12, 100 + shift}}, 0.4, seed + 1'000); };
    seen += find_change_points(with(1.5 * smallest->shift)).empty() ? 0 : 1;
    half += find_change_points(with(smallest->shift / 2)).empty() ? 0 : 1;
  }
  EXPECT_GT(seen, kSeries * 3 / 4);
  EXPECT_LT(half, kSeries / 4);
}

TEST(ChangePointsTest, FewValuesCannotShowAnyChange) {
  EXPECT_FALSE(smallest_visible_change(std::vector<double>{1, 2, 1, 2}));
  ASSERT_TRUE(smallest_visible_change(std::vector<double>(100, 5.0)));
  EXPECT_LT(smallest_visible_change(std::vector<double>(100, 5.0))->shift, 1e-3);
}

TEST(ChangePointsTest, NoiseHasNone) { EXPECT_TRUE(find_change_points(series({{200, 100}}, 5)).empty()); }

TEST(ChangePointsTest, AStepInTenValuesIsFound) {
  // 2 of the 252 ways to divide ten values into halves are this clear.
  const auto points = find_change_points(std::vector<double>{1, 2, 3, 4, 5, 16, 17, 18, 19, 20});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].at, 5u);
  EXPECT_NEAR(points[0].p, 2.0 / 252, 0.002);
}

TEST(ChangePointsTest, NoOrderOfFewerValuesIsCertain) {
  for (size_t before = kFewestAround; before + kFewestAround < kFewestValues; ++before) {
    std::vector<double> values(kFewestValues - 1, 9.0);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) + (i < before ? 0 : 100);
    EXPECT_TRUE(find_change_points(values).empty());
  }
}

TEST(ChangePointsTest, ThePOfFewValuesIsTheShareOfTheirOrders) {
  // An order is as likely as any other, so a share of at most kCertain of them has a change point.
  std::mt19937 random(3);
  std::vector<double> values = {1, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 7};  // equal ones too
  constexpr int kOrders = 4'000;
  int found = 0;
  for (int i = 0; i < kOrders; ++i) {
    std::shuffle(values.begin(), values.end(), random);
    found += find_change_points(values).empty() ? 0 : 1;
  }
  EXPECT_GT(found, 0);
  EXPECT_LT(found, kOrders * kCertain * 1.7);
}

TEST(ChangePointsTest, EqualValuesAndFewValuesHaveNone) {
  EXPECT_TRUE(find_change_points({}).empty());
  EXPECT_TRUE(find_change_points(std::vector<double>{1, 2, 3}).empty());
  EXPECT_TRUE(find_change_points(std::vector<double>(100, 5.0)).empty());
}

}  // namespace
}  // namespace kymo::fleet
