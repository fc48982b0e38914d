#include "analyze/diff/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace kymo::analyze {
namespace {

TEST(CompareTest, ShiftIsTheMedianOfAllDifferences) {
  const std::vector<double> a = {1, 2, 3, 4}, b = {11, 12, 13, 14};
  const Comparison result = compare(a, b);
  EXPECT_TRUE(result.enough);
  EXPECT_DOUBLE_EQ(result.shift, 10);
  EXPECT_DOUBLE_EQ(result.cliffs_delta, 1);
  // The exact probability that all of one sample are larger: 2 of 70 orders.
  EXPECT_NEAR(result.p, 2.0 / 70, 1e-12);
  EXPECT_GT(result.low, 0);
}

TEST(CompareTest, TheExactDistributionAgreesWithCountingAllOrders) {
  // All ways to choose which 5 of 9 ranks belong to b.
  std::vector<size_t> counts(21);
  for (unsigned mask = 0; mask < 512; ++mask) {
    if (__builtin_popcount(mask) != 5) continue;
    size_t u = 0;
    for (unsigned i = 0; i < 9; ++i)
      for (unsigned j = 0; j < i; ++j) u += ((mask >> i) & 1) != 0 && ((mask >> j) & 1) == 0;
    ++counts[u];
  }
  std::vector<double> a, b;
  for (unsigned mask = 0; mask < 512; mask += 7) {
    if (__builtin_popcount(mask) != 5) continue;
    a.clear(), b.clear();
    size_t u = 0;
    for (unsigned i = 0; i < 9; ++i) (((mask >> i) & 1) != 0 ? b : a).push_back(i);
    for (const double y : b)
      for (const double x : a) u += y > x;
    const size_t smaller = std::min(u, 20 - u);
    double tail = 0;
    for (size_t i = 0; i <= smaller; ++i) tail += static_cast<double>(counts[i]) / 126;
    EXPECT_NEAR(compare(a, b).p, std::min(1.0, 2 * tail), 1e-12) << mask;
  }
}

TEST(CompareTest, FewValuesAreNotEnough) {
  const std::vector<double> a = {1, 2, 3}, b = {10, 11, 12, 13};
  EXPECT_FALSE(compare(a, b).enough);
  EXPECT_FALSE(compare({}, b).enough);
}

TEST(CompareTest, EqualValuesAreNoChange) {
  const std::vector<double> a(50, 7.0);
  const Comparison result = compare(a, a);
  EXPECT_DOUBLE_EQ(result.shift, 0);
  EXPECT_DOUBLE_EQ(result.p, 1);
  EXPECT_DOUBLE_EQ(result.cliffs_delta, 0);
}

// The stated error rate: of 1,000 random splits of one sample, about 5 % have p < 0.05, and the interval excludes zero
// as rarely.
TEST(CompareTest, RandomSplitsOfOneSampleAreRarelyDifferent) {
  for (const size_t size : {20u, 80u, 500u}) {
    std::mt19937_64 random(size);
    std::lognormal_distribution<double> times(10, 0.3);
    int small_p = 0, excludes_zero = 0;
    const int splits = size > 100 ? 200 : 1000;
    for (int split = 0; split < splits; ++split) {
      std::vector<double> all(size);
      for (double& value : all) value = times(random);
      const std::vector<double> a(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size / 2)),
          b(all.begin() + static_cast<std::ptrdiff_t>(size / 2), all.end());
      const Comparison result = compare(a, b);
      small_p += result.p < 0.05;
      excludes_zero += result.low > 0 || result.high < 0;
    }
    // 5 % expected, with a standard deviation of 0.7 % (1.5 % for the largest).
    EXPECT_LE(small_p, splits * 9 / 100) << size;
    EXPECT_LE(excludes_zero, splits * 9 / 100) << size;
    EXPECT_GE(small_p + excludes_zero, splits / 50) << size;
  }
}

TEST(CompareTest, TheIntervalContainsTheTrueShift) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 3);
  int covered = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<double> a, b;
    for (int i = 0; i < 40; ++i) a.push_back(100 + noise(random)), b.push_back(102 + noise(random));
    const Comparison result = compare(a, b);
    covered += result.low <= 2 && 2 <= result.high;
  }
  EXPECT_GE(covered, 460);  // 475 expected
}

TEST(AdjustedTest, IsBenjaminiAndHochbergs) {
  const std::vector<double> p = {0.01, 0.04, 0.03, 0.005};
  const std::vector<double> q = adjusted(p);
  EXPECT_NEAR(q[3], 0.02, 1e-12);
  EXPECT_NEAR(q[0], 0.02, 1e-12);
  EXPECT_NEAR(q[2], 0.04, 1e-12);
  EXPECT_NEAR(q[1], 0.04, 1e-12);
}

}  // namespace
}  // namespace kymo::analyze
