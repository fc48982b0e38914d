#include "shader/ir/float16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace kymo::shader {
namespace {

TEST(Float16Test, EveryHalfIsUnchangedByARoundTrip) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = half_from_bits(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_from_bits(half_bits(value))));
    } else {
      ASSERT_EQ(half_bits(value), bits);
      ASSERT_EQ(round_to_half(value), value);
    }
  }
}

// Between each two neighbours: the middle goes to the even one, what is beside it to the nearer one.
TEST(Float16Test, FloatsAreRoundedToTheNearestHalf) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = half_from_bits(static_cast<uint16_t>(bits)),
                high = half_from_bits(static_cast<uint16_t>(bits + 1));
    const float middle = (low + high) / 2;  // exact: a half has 13 bits less than a float
    ASSERT_EQ(half_bits(middle), bits + (bits & 1));
    ASSERT_EQ(half_bits(std::nextafter(middle, low)), bits);
    ASSERT_EQ(half_bits(std::nextafter(middle, high)), bits + 1);
    ASSERT_EQ(half_bits(-middle), 0x8000 | (bits + (bits & 1)));
  }
}

TEST(Float16Test, LargeFloatsBecomeInfiniteHalves) {
  EXPECT_EQ(half_bits(65519.996F), 0x7bff);
  EXPECT_EQ(half_bits(65520), 0x7c00);
  EXPECT_EQ(half_bits(1e30F), 0x7c00);
  EXPECT_EQ(half_bits(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(round_to_half(1e30F), std::numeric_limits<float>::infinity());
}

TEST(Float16Test, HalfNaNStaysNaN) {
  const float quiet = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(round_to_half(quiet)));
  EXPECT_TRUE(std::isnan(round_to_half(std::bit_cast<float>(0x7f800001))));  // whose payload is cut off
  EXPECT_TRUE(std::isnan(round_to_bfloat(std::bit_cast<float>(0x7f800001))));
}

TEST(Float16Test, BfloatRoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7f7f; ++bits) {
    const uint32_t low = bits << 16;
    ASSERT_EQ(bfloat_bits(std::bit_cast<float>(low)), bits);
    ASSERT_EQ(bfloat_bits(std::bit_cast<float>(low + 0x8000)), bits + (bits & 1));
    ASSERT_EQ(bfloat_bits(std::bit_cast<float>(low + 0x7fff)), bits);
    ASSERT_EQ(bfloat_bits(std::bit_cast<float>(low + 0x8001)), bits + 1);
  }
  EXPECT_EQ(bfloat_bits(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(bfloat_bits(-0.0F), 0x8000);
}

}  // namespace
}  // namespace kymo::shader
