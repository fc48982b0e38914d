#include "base/quantile.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace kymo::base {
namespace {

TEST(QuantileTest, IsBetweenTheTwoNearestValues) {
  std::vector<uint64_t> values{40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 10);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 25);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 37);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 40);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(std::vector<uint64_t>{10, 20, 30, 40}, 0.9), 37);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{3, 1, 2}), 2);
}

TEST(QuantileTest, OfOneValueIsTheValueAndOfNoneZero) {
  EXPECT_DOUBLE_EQ(quantile_of_sorted(std::vector<uint64_t>{7}, 0.99), 7);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{7}), 7);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{}), 0);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(std::vector<double>{}, 0.5), 0);
}

}  // namespace
}  // namespace kymo::base
