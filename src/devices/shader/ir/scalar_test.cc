#include "shader/ir/scalar.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace kymo::shader::ir {
namespace {

class ScalarTest : public ::testing::Test {
 protected:
  static uint64_t number(int64_t value) { return static_cast<uint64_t>(value); }
  static std::optional<uint64_t> binary(Operator op, TypeKind kind, uint64_t left, uint64_t right) {
    return scalar_binary(op, kind, left, kind, right);
  }
  template <typename... Bits>
  static std::optional<uint64_t> intrinsic(Intrinsic which, TypeKind kind, Bits... bits) {
    const std::array<uint64_t, sizeof...(Bits)> operands = {bits...};
    return scalar_intrinsic(which, kind, operands);
  }
};

TEST_F(ScalarTest, IntegersWrap) {
  EXPECT_EQ(binary(Operator::Add, TypeKind::Int, INT32_MAX, 1), number(INT32_MIN));
  EXPECT_EQ(binary(Operator::Subtract, TypeKind::UInt, 0, 1), 0xffffffffU);
  EXPECT_EQ(binary(Operator::Multiply, TypeKind::UChar, 16, 17), 16U);
  EXPECT_EQ(binary(Operator::Divide, TypeKind::Int, number(INT32_MIN), number(-1)), number(INT32_MIN));
  EXPECT_EQ(binary(Operator::Divide, TypeKind::Long, number(INT64_MIN), number(-1)), number(INT64_MIN));
  EXPECT_EQ(binary(Operator::Remainder, TypeKind::Int, number(INT32_MIN), number(-1)), 0U);
  EXPECT_EQ(scalar_unary(Operator::Negate, TypeKind::UInt, 1), 0xffffffffU);
  EXPECT_EQ(scalar_unary(Operator::Complement, TypeKind::Short, 0), number(-1));
}

TEST_F(ScalarTest, ARemainderHasTheSignOfTheLeft) {
  EXPECT_EQ(binary(Operator::Remainder, TypeKind::Int, number(-7), 3), number(-1));
  EXPECT_EQ(binary(Operator::Divide, TypeKind::Int, number(-7), 3), number(-2));
  EXPECT_EQ(binary(Operator::Remainder, TypeKind::UInt, 7, 3), 1U);
}

TEST_F(ScalarTest, UndefinedResultsAreEmpty) {
  EXPECT_FALSE(binary(Operator::Divide, TypeKind::Int, 1, 0));
  EXPECT_FALSE(binary(Operator::Remainder, TypeKind::ULong, 1, 0));
  EXPECT_FALSE(binary(Operator::ShiftLeft, TypeKind::UInt, 1, 32));
  EXPECT_FALSE(binary(Operator::ShiftRight, TypeKind::Long, 1, number(-1)));
  EXPECT_FALSE(binary(Operator::Remainder, TypeKind::Float, bits_of(1), bits_of(1)));
  EXPECT_FALSE(binary(Operator::Add, TypeKind::Half, bits_of(1), bits_of(1)));
  EXPECT_FALSE(binary(Operator::Add, TypeKind::Bool, 1, 1));
}

TEST_F(ScalarTest, ShiftsKeepTheSign) {
  EXPECT_EQ(binary(Operator::ShiftRight, TypeKind::Int, number(-8), 1), number(-4));
  EXPECT_EQ(binary(Operator::ShiftRight, TypeKind::UInt, 0x80000000, 31), 1U);
  EXPECT_EQ(binary(Operator::ShiftLeft, TypeKind::Int, 1, 31), number(INT32_MIN));
  EXPECT_EQ(scalar_binary(Operator::ShiftLeft, TypeKind::ULong, 1, TypeKind::Int, 63), uint64_t{1} << 63);
}

TEST_F(ScalarTest, ComparisonsHandleSignsAndNaN) {
  EXPECT_EQ(binary(Operator::Less, TypeKind::Int, number(-1), 0), 1U);
  EXPECT_EQ(binary(Operator::Less, TypeKind::ULong, number(-1), 0), 0U);
  const uint64_t nan = bits_of(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(binary(Operator::Equal, TypeKind::Float, nan, nan), 0U);
  EXPECT_EQ(binary(Operator::NotEqual, TypeKind::Float, nan, nan), 1U);
  EXPECT_EQ(binary(Operator::GreaterEqual, TypeKind::Float, nan, bits_of(0)), 0U);
  EXPECT_EQ(binary(Operator::Equal, TypeKind::Float, bits_of(0.0F), bits_of(-0.0F)), 1U);
}

TEST_F(ScalarTest, FloatsAreTruncatedAndClampedToIntegers) {
  const auto to = [](TypeKind kind, float value) { return scalar_converted(TypeKind::Float, kind, bits_of(value)); };
  EXPECT_EQ(to(TypeKind::Int, -2.9F), number(-2));
  EXPECT_EQ(to(TypeKind::Int, 3e9F), number(INT32_MAX));
  EXPECT_EQ(to(TypeKind::Int, -3e9F), number(INT32_MIN));
  EXPECT_EQ(to(TypeKind::Char, 1000), 127U);
  EXPECT_EQ(to(TypeKind::UInt, -1), 0U);
  EXPECT_EQ(to(TypeKind::UInt, 4294967296.0F), 0xffffffffU);
  EXPECT_EQ(to(TypeKind::ULong, std::numeric_limits<float>::infinity()), UINT64_MAX);
  EXPECT_EQ(to(TypeKind::Long, -std::numeric_limits<float>::infinity()), number(INT64_MIN));
  EXPECT_EQ(to(TypeKind::Int, std::numeric_limits<float>::quiet_NaN()), 0U);
  EXPECT_EQ(to(TypeKind::Bool, 0.25F), 1U);
  EXPECT_EQ(to(TypeKind::Bool, -0.0F), 0U);
}

TEST_F(ScalarTest, IntegersAreRoundedToTheNearestFloat) {
  EXPECT_EQ(scalar_converted(TypeKind::Int, TypeKind::Float, number(-16777217)), bits_of(-16777216.0F));
  EXPECT_EQ(scalar_converted(TypeKind::ULong, TypeKind::Float, UINT64_MAX), bits_of(18446744073709551616.0F));
  EXPECT_EQ(scalar_converted(TypeKind::Bool, TypeKind::Float, 1), bits_of(1.0F));
  EXPECT_EQ(scalar_converted(TypeKind::Float, TypeKind::Half, bits_of(2049)), bits_of(2048));
  EXPECT_EQ(scalar_converted(TypeKind::Float, TypeKind::BFloat, bits_of(257)), bits_of(256));
}

TEST_F(ScalarTest, MemoryHoldsAHalfInTwoBytes) {
  EXPECT_EQ(scalar_to_memory(TypeKind::Half, bits_of(1)), 0x3c00U);
  EXPECT_EQ(scalar_from_memory(TypeKind::Half, 0x3c00), bits_of(1));
  EXPECT_EQ(scalar_to_memory(TypeKind::Int, number(-1)), 0xffffffffU);
  EXPECT_EQ(scalar_from_memory(TypeKind::Int, 0xffffffff), number(-1));
}

TEST_F(ScalarTest, IntegerFunctionsUseTheWidthOfTheType) {
  EXPECT_EQ(intrinsic(Intrinsic::PopCount, TypeKind::Int, number(-1)), 32U);
  EXPECT_EQ(intrinsic(Intrinsic::CountLeadingZeros, TypeKind::UInt, uint64_t{1}), 31U);
  EXPECT_EQ(intrinsic(Intrinsic::CountLeadingZeros, TypeKind::Short, uint64_t{0}), 16U);
  EXPECT_EQ(intrinsic(Intrinsic::ReverseBits, TypeKind::Int, uint64_t{1}), number(INT32_MIN));
  EXPECT_EQ(intrinsic(Intrinsic::Min, TypeKind::Int, number(-1), uint64_t{1}), number(-1));
  EXPECT_EQ(intrinsic(Intrinsic::Max, TypeKind::UInt, uint64_t{0xffffffff}, uint64_t{1}), 0xffffffffU);
  EXPECT_EQ(intrinsic(Intrinsic::MulHi, TypeKind::Int, number(-1), uint64_t{1}), number(-1));
  EXPECT_EQ(intrinsic(Intrinsic::MulHi, TypeKind::UInt, uint64_t{0xffffffff}, uint64_t{0xffffffff}), 0xfffffffeU);
}

TEST_F(ScalarTest, FloatFunctionsRoundOnce) {
  const uint64_t nan = bits_of(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(intrinsic(Intrinsic::Fmin, TypeKind::Float, nan, bits_of(2)), bits_of(2));
  EXPECT_EQ(intrinsic(Intrinsic::Rint, TypeKind::Float, bits_of(2.5F)), bits_of(2));
  EXPECT_EQ(intrinsic(Intrinsic::Fma, TypeKind::Float, bits_of(0x1.000002p0F), bits_of(0x1.000002p0F), bits_of(-1)),
            bits_of(std::fma(0x1.000002p0F, 0x1.000002p0F, -1.0F)));
  EXPECT_EQ(intrinsic(Intrinsic::IsNan, TypeKind::Float, nan), 1U);
  EXPECT_EQ(intrinsic(Intrinsic::Select, TypeKind::Half, bits_of(1), bits_of(2), uint64_t{1}), bits_of(2));
  EXPECT_FALSE(intrinsic(Intrinsic::Min, TypeKind::Float, bits_of(1), bits_of(2)));
  EXPECT_FALSE(intrinsic(Intrinsic::SimdSum, TypeKind::Float, bits_of(1)));
}

}  // namespace
}  // namespace kymo::shader::ir

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
