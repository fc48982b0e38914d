#include "analyze/durations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <vector>

#include "base/quantile.h"

namespace kymo::analyze {
namespace {

constexpr uint64_t kUnlimited = 1'000'000'000;

TEST(DurationsTest, QuantilesAreBetweenTheTwoNearestValues) {
  ExactBudget budget(kUnlimited, kUnlimited);
  Durations durations(budget);
  for (uint64_t i = 100; i >= 1; --i) durations.add(i);
  const ScaledDurations set{&durations, 10.0};
  const Quantiles q = quantiles({&set, 1});
  EXPECT_DOUBLE_EQ(q.median_ns, 505);
  EXPECT_DOUBLE_EQ(q.p99_ns, 990.1);
  EXPECT_FALSE(q.approximate);
}

TEST(DurationsTest, SingleDurationIsEveryQuantile) {
  ExactBudget budget(kUnlimited, kUnlimited);
  Durations durations(budget);
  durations.add(7);
  const ScaledDurations set{&durations, 1.0};
  const Quantiles q = quantiles({&set, 1});
  EXPECT_EQ(q.median_ns, 7);
  EXPECT_EQ(q.p99_ns, 7);
}

TEST(DurationsTest, SetsOfDifferentClocksAreComparedInNanoseconds) {
  ExactBudget budget(kUnlimited, kUnlimited);
  Durations fine(budget), coarse(budget);
  for (uint64_t i = 1; i <= 50; ++i) fine.add(i);          // 1 to 50 ns
  for (uint64_t i = 51; i <= 100; ++i) coarse.add(2 * i);  // half a nanosecond each: 51 to 100 ns
  const ScaledDurations sets[] = {{&fine, 1.0}, {&coarse, 0.5}};
  const Quantiles q = quantiles(sets);
  EXPECT_DOUBLE_EQ(q.median_ns, 50.5);
  EXPECT_DOUBLE_EQ(q.p99_ns, 99.01);
}

TEST(DurationsTest, AgreesWithSorting) {
  std::mt19937_64 random(3);
  for (size_t count : {1u, 2u, 3u, 99u, 100u, 101u, 5000u}) {
    ExactBudget budget(kUnlimited, kUnlimited);
    Durations one(budget), left(budget), right(budget);
    std::vector<uint64_t> sorted;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t value = random() >> (20 + random() % 44);
      sorted.push_back(value);
      one.add(value);
      (i % 3 == 0 ? left : right).add(value);
    }
    std::sort(sorted.begin(), sorted.end());
    const double median = base::quantile_of_sorted(sorted, 0.5), p99 = base::quantile_of_sorted(sorted, 0.99);
    const ScaledDurations whole{&one, 1.0};
    const ScaledDurations parts[] = {{&left, 1.0}, {&right, 1.0}};
    EXPECT_EQ(quantiles({&whole, 1}).median_ns, median) << count;
    EXPECT_EQ(quantiles({&whole, 1}).p99_ns, p99) << count;
    EXPECT_EQ(quantiles(parts).median_ns, median) << count;
    EXPECT_EQ(quantiles(parts).p99_ns, p99) << count;
  }
}

TEST(DurationsTest, TooManyDurationsBecomeAHistogramWithinTheStatedError) {
  ExactBudget budget(1000, kUnlimited);
  Durations durations(budget);
  for (uint64_t i = 1; i <= 100'000; ++i) durations.add(i);
  EXPECT_FALSE(durations.is_exact());
  EXPECT_TRUE(durations.exact().empty());
  const ScaledDurations set{&durations, 1.0};
  const Quantiles q = quantiles({&set, 1});
  EXPECT_TRUE(q.approximate);
  EXPECT_NEAR(q.median_ns, 50'000, 50'000 * LogHistogram::kRelativeError);
  EXPECT_NEAR(q.p99_ns, 99'000, 99'000 * LogHistogram::kRelativeError);
}

TEST(DurationsTest, DurationsStayExactUpToTheLimit) {
  ExactBudget budget(1000, kUnlimited);
  Durations durations(budget);
  for (uint64_t i = 0; i < 1000; ++i) durations.add(i);
  EXPECT_TRUE(durations.is_exact());
  durations.add(1000);
  EXPECT_FALSE(durations.is_exact());
}

TEST(DurationsTest, LargestSetIsConvertedFirstWhenTheTotalIsTooLarge) {
  ExactBudget budget(kUnlimited, 20'000);
  Durations small(budget), large(budget);
  for (uint64_t i = 0; i < 100; ++i) small.add(i);
  for (uint64_t i = 0; i < 50'000; ++i) large.add(i);
  EXPECT_TRUE(small.is_exact());
  EXPECT_FALSE(large.is_exact());
}

TEST(DurationsTest, ManySmallSetsStayExact) {
  ExactBudget budget(kUnlimited, 10'000);
  std::deque<Durations> sets;
  for (int i = 0; i < 1000; ++i) {
    Durations& set = sets.emplace_back(budget);
    for (uint64_t j = 0; j < 100; ++j) set.add(j);
  }
  for (const Durations& set : sets) EXPECT_TRUE(set.is_exact());
}

double middle_after_adding(uint64_t value) {
  LogHistogram histogram;
  histogram.add(value);
  double middle = -1;
  histogram.for_each([&](double at, uint64_t count) {
    EXPECT_EQ(count, 1u);
    middle = at;
  });
  return middle;
}

TEST(LogHistogramTest, SmallValuesAreExact) {
  for (uint64_t value = 0; value < 256; ++value) EXPECT_EQ(middle_after_adding(value), static_cast<double>(value));
}

TEST(LogHistogramTest, EveryValueIsWithinTheStatedError) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t value = random() >> (random() % 64);
    const double error = std::abs(middle_after_adding(value) - static_cast<double>(value));
    EXPECT_LE(error, static_cast<double>(value) * LogHistogram::kRelativeError) << value;
  }
  for (uint64_t value : {uint64_t{1} << 63, ~uint64_t{0}, (uint64_t{1} << 32) - 1}) {
    const double error = std::abs(middle_after_adding(value) - static_cast<double>(value));
    EXPECT_LE(error, static_cast<double>(value) * LogHistogram::kRelativeError) << value;
  }
}

TEST(LogHistogramTest, BucketsComeInAscendingOrder) {
  LogHistogram histogram;
  for (uint64_t value = 1; value < (uint64_t{1} << 40); value += value / 3 + 1) histogram.add(value);
  double before = -1;
  histogram.for_each([&](double at, uint64_t) {
    EXPECT_GT(at, before);
    before = at;
  });
}

}  // namespace
}  // namespace kymo::analyze
