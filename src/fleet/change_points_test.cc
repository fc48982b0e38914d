#include "fleet/change_points.h"

#include <gtest/gtest.h>

#include <random>

namespace kymo::fleet {
namespace {

std::vector<double> series(std::initializer_list<std::pair<size_t, double>> levels, double noise) {
  std::mt19937 random(7);
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

TEST(ChangePointsTest, TwoStepsAreFoundInOrder) {
  const auto points = find_change_points(series({{40, 100}, {40, 120}, {40, 90}}, 1));
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].at, 40u);
  EXPECT_EQ(points[1].at, 80u);
  EXPECT_LT(points[1].change.shift, 0);
}

TEST(ChangePointsTest, NoiseHasNone) { EXPECT_TRUE(find_change_points(series({{200, 100}}, 5)).empty()); }

TEST(ChangePointsTest, EqualValuesAndFewValuesHaveNone) {
  EXPECT_TRUE(find_change_points({}).empty());
  EXPECT_TRUE(find_change_points(std::vector<double>{1, 2, 3}).empty());
  EXPECT_TRUE(find_change_points(std::vector<double>(100, 5.0)).empty());
}

}  // namespace
}  // namespace kymo::fleet
