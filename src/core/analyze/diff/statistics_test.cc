#include "analyze/diff/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
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
  // All differences: without the smallest and the largest one, it would be wrong in 4 of 70 orders.
  EXPECT_DOUBLE_EQ(result.low, 7);
  EXPECT_DOUBLE_EQ(result.high, 13);
}

// In how many of the ways to choose four of these values the two groups are as different.
TEST(CompareTest, EqualValuesHaveAnExactPToo) {
  const std::vector<double> all = {1, 1, 1, 2, 2, 3, 3, 3};
  const auto groups = [&](unsigned mask) {
    std::pair<std::vector<double>, std::vector<double>> found;
    for (unsigned i = 0; i < 8; ++i) ((mask >> i & 1) != 0 ? found.second : found.first).push_back(all[i]);
    return found;
  };
  const auto distance = [&](unsigned mask) {
    double u = 0;
    const auto [a, b] = groups(mask);
    for (const double y : b)
      for (const double x : a) u += y > x ? 1 : y == x ? 0.5 : 0;
    return std::abs(u - 8);
  };
  for (const unsigned wanted : {0xF0u, 0xE8u, 0x55u, 0x93u}) {
    int ways = 0, as_far = 0;
    for (unsigned mask = 0; mask < 256; ++mask)
      if (__builtin_popcount(mask) == 4) ++ways, as_far += distance(mask) >= distance(wanted);
    const auto [a, b] = groups(wanted);
    EXPECT_NEAR(compare(a, b).p, static_cast<double>(as_far) / ways, 1e-12) << wanted;
  }
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

// Iterations of a run: each is like the one before, the run drifts, and every twentieth one is slow.
std::vector<double> iterations(std::mt19937_64& random, size_t count, double memory, double drift, double scale = 1) {
  std::normal_distribution<double> noise;
  std::vector<double> values;
  double state = noise(random);
  const size_t phase = random() % 20;
  for (size_t i = 0; i < count; ++i) {
    state = memory * state + std::sqrt(1 - memory * memory) * noise(random);
    values.push_back(scale * (100 + 2 * state + drift * static_cast<double>(i) / static_cast<double>(count) +
                              (i % 20 == phase ? 30 : 0)));
  }
  return values;
}

TEST(CompareSeriesTest, TheIntervalContainsTheTrueShiftAlsoIfNeighboursAreAlike) {
  for (const double memory : {0.0, 0.5, 0.8}) {
    for (const size_t count : {60u, 300u}) {
      std::mt19937_64 random(count);
      int covered = 0, found = 0, different = 0;
      for (int round = 0; round < 200; ++round) {
        const auto a = iterations(random, count, memory, 0), b = iterations(random, count, memory, 0, 1.1);
        const Comparison result = compare_series(a, b);
        covered += result.low <= 10 && 10 <= result.high;
        found += result.p < 0.05 && result.low > 1;
        different += compare_series(a, iterations(random, count, memory, 0)).p < 0.05;
      }
      EXPECT_GE(covered, 180) << memory << " " << count;
      EXPECT_GE(found, 150) << memory << " " << count;
      EXPECT_LE(different, 16) << memory << " " << count;
    }
  }
}

TEST(CompareSeriesTest, RunsThatDriftAreNotDifferent) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> drift(0, 3);
  int beyond = 0;
  for (int round = 0; round < 200; ++round) {
    const auto a = iterations(random, 200, 0.5, drift(random)), b = iterations(random, 200, 0.5, drift(random));
    beyond += compare_series(a, b).low > 1;
  }
  EXPECT_LE(beyond, 8);
}

TEST(CompareSeriesTest, WhatHappensInSomeIterationsCountsOnAverage) {
  std::vector<double> a(100), b(100);
  for (size_t i = 3; i < 100; i += 10) a[i] = 200 + static_cast<double>(i % 3), b[i] = 400 + static_cast<double>(i % 3);
  const Comparison result = compare_series(a, b);
  EXPECT_NEAR(result.shift, 20, 0.1);
  EXPECT_GT(result.low, 15);
  EXPECT_LT(result.p, 0.05);
}

TEST(CompareSeriesTest, ConstantSeries) {
  const std::vector<double> a(50, 7.0), b(50, 8.0);
  const Comparison same = compare_series(a, a), slower = compare_series(a, b);
  EXPECT_DOUBLE_EQ(same.shift, 0);
  EXPECT_DOUBLE_EQ(same.p, 1);
  EXPECT_DOUBLE_EQ(slower.low, 1);
  EXPECT_DOUBLE_EQ(slower.high, 1);
  EXPECT_LT(slower.p, 0.05);
  EXPECT_FALSE(compare_series({}, b).enough);
}

TEST(EffectiveSizeTest, DependsOnTheNeighbours) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise;
  double independent_size = 0, alike_size = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<double> independent, alike;
    for (int i = 0; i < 200; ++i) {
      independent.push_back(noise(random));
      alike.push_back((i == 0 ? 0 : 0.8 * alike.back()) + noise(random));
    }
    independent_size += effective_size(independent) / 50;
    alike_size += effective_size(alike) / 50;
  }
  EXPECT_GT(independent_size, 150);
  EXPECT_GT(alike_size, 12);
  EXPECT_LT(alike_size, 30);  // 22 by theory
  std::vector<double> trend(200);
  std::iota(trend.begin(), trend.end(), 0);
  EXPECT_DOUBLE_EQ(effective_size(trend), 2);
  EXPECT_DOUBLE_EQ(effective_size(std::vector<double>(10, 1.0)), 10);
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
