#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "device/random/test_values.h"
#include "kymo/error.h"

namespace kymo::device::random {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(NormalTest, HasTheExpectedBits) {
  EXPECT_THAT(
      bits_of(filled<float>(normal_fill(DType::F32, 0, 1), 8)),
      ElementsAre(0xbf9afff7, 0x3da16e38, 0x3fb9dfa1, 0x3ed1fa54, 0xbcfc3a9b, 0x3ee5650c, 0xc00ccb8e, 0x3deb0a09));
  EXPECT_THAT(
      bits_of(filled<float>(normal_fill(DType::F32, 10, 3), 8)),
      ElementsAre(0x40cbc007, 0x4123c895, 0x4165b3dc, 0x4133af78, 0x411e85a8, 0x41358179, 0x40599d56, 0x4125823c));
  EXPECT_THAT(filled<uint16_t>(normal_fill(DType::F16, 0, 1), 8),
              ElementsAre(0xbcd8, 0x2d0b, 0x3dcf, 0x3690, 0xa7e2, 0x372b, 0xc066, 0x2f58));
  EXPECT_THAT(filled<uint16_t>(normal_fill(DType::BF16, 0, 1), 8),
              ElementsAre(0xbf9b, 0x3da1, 0x3fba, 0x3ed2, 0xbcfc, 0x3ee5, 0xc00d, 0x3deb));
}

// A hash of a million results. A single fused operation changes it.
TEST(NormalTest, AMillionNumbersHaveTheExpectedHash) {
  uint64_t hash = 0;
  for (const uint32_t bits : bits_of(filled<float>(normal_fill(DType::F32, 0.25, 1.75), 1'000'000)))
    hash = (hash ^ bits) * 0x9e3779b97f4a7c15 + (hash >> 29);
  EXPECT_EQ(hash, 0xbab0a2ef8be4f035);
}

// The distance of z from the true quantile of the word: one Newton step from z, with its second-order term.
double error_of(uint32_t word) {
  const double z = static_cast<double>(normal_of(word & 0x7fffffff));
  const double p = (2.0 * (word & 0x7fffffff) + 1) / 0x1p33;
  const double step = (std::erfc(z / std::sqrt(2.0)) / 2 - p) / (std::exp(-z * z / 2) / std::sqrt(2 * M_PI));
  return std::abs(step * (1 - z * step / 2));
}

TEST(NormalTest, DiffersFromTheQuantileOfItsWordByLessThanAMillionth) {
  // Over all 2^31 magnitudes the largest error is 5.2e-7, at 34927. This test checks every word of the tail, then one
  // word in 1021, then the words at the seams.
  constexpr double kLargest = 5.3e-7;
  for (uint32_t word = 0; word < 100'000; ++word) ASSERT_LT(error_of(word), kLargest) << word;
  for (uint64_t word = 0; word < (uint64_t{1} << 31); word += 1021)
    ASSERT_LT(error_of(static_cast<uint32_t>(word)), kLargest);
  for (int octave = 4; octave < 32; ++octave)
    for (uint64_t eighth = 8; eighth < 16; ++eighth) {
      const uint32_t seam = static_cast<uint32_t>((eighth << octave >> 3) >> 1);
      for (uint32_t word = seam - 2; word <= seam + 2; ++word) ASSERT_LT(error_of(word), kLargest) << word;
    }
}

TEST(NormalTest, IsSymmetricAndHasTheExpectedExtremes) {
  for (uint32_t word = 1; word < 0x7fffffff - 40'000; word += 39'989)
    ASSERT_EQ(normal_of(word), -normal_of(word | 0x80000000));
  EXPECT_EQ(std::bit_cast<uint32_t>(normal_of(0)), 0x40cad08du);  // 6.33795786
  EXPECT_EQ(normal_of(0x80000000), -normal_of(0));
  EXPECT_EQ(normal_of(0x7fffffff), 0);
}

TEST(NormalTest, HasTheMomentsAndTailsOfANormalDistribution) {
  constexpr size_t kCount = 10'000'000;
  const auto values = filled<float>(normal_fill(DType::F32, 0, 1), kCount, 2024);
  double sums[7] = {};
  size_t beyond[6] = {};  // |z| > 0, 1, … 5
  for (const float value : values) {
    const double z = static_cast<double>(value);
    double power = 1;
    for (double& sum : sums) sum += power, power *= z;
    for (int k = 0; k < 6 && std::abs(z) > k; ++k) ++beyond[k];
  }
  // Each moment must be within four standard errors: sqrt((E[z^2k] - E[z^k]^2) / n).
  const double expected[] = {1, 0, 1, 0, 3, 0, 15}, squares[] = {1, 1, 3, 15, 105, 945, 10395};
  for (int k = 1; k < 7; ++k)
    EXPECT_NEAR(sums[k] / kCount, expected[k], 4 * std::sqrt((squares[k] - expected[k] * expected[k]) / kCount)) << k;
  for (int k = 1; k < 6; ++k) {
    const double tail = std::erfc(k / std::sqrt(2.0)) * kCount;
    EXPECT_NEAR(static_cast<double>(beyond[k]), tail, 4 * std::sqrt(tail) + 1) << k;
  }
}

TEST(NormalTest, FollowsTheNormalDistribution) {
  constexpr size_t kCount = 1'000'000;
  auto values = filled<float>(normal_fill(DType::F32, 5, 2), kCount, 3);
  std::sort(values.begin(), values.end());
  double distance = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const double p = std::erfc(-(static_cast<double>(values[i]) - 5) / 2 / std::sqrt(2.0)) / 2,
                 below = static_cast<double>(i) / kCount;
    distance = std::max({distance, p - below, below + 1.0 / kCount - p});
  }
  EXPECT_LT(distance * std::sqrt(kCount), 1.95);
}

TEST(NormalTest, RefusesInvalidParameters) {
  EXPECT_THAT([] { normal_fill(DType::F32, 0, -1); }, ThrowsMessage<InvalidArgument>(HasSubstr("the deviation is -1")));
  EXPECT_THAT([] { normal_fill(DType::F32, INFINITY, 1); },
              ThrowsMessage<InvalidArgument>(HasSubstr("the mean is inf")));
  EXPECT_THAT([] { normal_fill(DType::F64, 0, 1); }, ThrowsMessage<InvalidArgument>(HasSubstr("f64")));
}

TEST(NormalTest, RoundsTo16BitsToNearestEven) {
  const auto half = [](float value) { return half_bits(std::bit_cast<uint32_t>(value)); };
  EXPECT_EQ(half(1), 0x3c00u);
  EXPECT_EQ(half(-2), 0xc000u);
  EXPECT_EQ(half(0), 0u);
  EXPECT_EQ(half(-0.0f), 0x8000u);
  EXPECT_EQ(half(65504), 0x7bffu);
  EXPECT_EQ(half(65519.996f), 0x7bffu);
  EXPECT_EQ(half(65520), 0x7c00u);
  EXPECT_EQ(half(1e10f), 0x7c00u);
  EXPECT_EQ(half(1 + 0x1p-11f), 0x3c00u);
  EXPECT_EQ(half(1 + 3 * 0x1p-11f), 0x3c02u);
  EXPECT_EQ(half(0x1p-14f), 0x0400u);
  EXPECT_EQ(half(0x1.ffcp-15f), 0x0400u);  // a subnormal that rounds to the first normal
  EXPECT_EQ(half(0x1p-24f), 1u);
  EXPECT_EQ(half(0x1p-25f), 0u);
  EXPECT_EQ(half(0x1.000002p-25f), 1u);
  EXPECT_EQ(half(3 * 0x1p-25f), 2u);
  EXPECT_EQ(half(0x1p-30f), 0u);
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) ASSERT_EQ(half(half_value(static_cast<uint16_t>(bits))), bits);
  EXPECT_EQ(bfloat_bits(std::bit_cast<uint32_t>(1 + 0x1p-8f)), 0x3f80u);
  EXPECT_EQ(bfloat_bits(std::bit_cast<uint32_t>(1 + 3 * 0x1p-8f)), 0x3f82u);
  EXPECT_EQ(bfloat_bits(std::bit_cast<uint32_t>(-3.4e38f)), 0xff80u);
}

}  // namespace
}  // namespace kymo::device::random
