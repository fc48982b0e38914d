#include "analyze/log_histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kymo::analyze {
namespace {

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
