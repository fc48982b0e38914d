#include "shader/ir/ranges.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "shader/test_support/test_builder.h"

namespace kymo::shader::ir {

class RangesTest : public ::testing::Test {
 protected:
  static constexpr double kInf = std::numeric_limits<double>::infinity();

  Builder::Value number(double value) { return b.constant_float(static_cast<float>(value)); }
  Builder::Value integer(int64_t value) { return b.constant_int(value); }
  static void expect(const Range& range, double low, double high, bool nan = false) {
    EXPECT_EQ(range.low, low);
    EXPECT_EQ(range.high, high);
    EXPECT_EQ(range.nan, nan);
  }

  Module module;
  TestBuilder b{module};
  const Variable& x_variable = b.local("x", b.type(TypeKind::Float));
  const Variable& n_variable = b.local("n", b.type(TypeKind::Int));
  Builder::Value x = b.variable(x_variable), n = b.variable(n_variable);
  Ranges ranges;
};

TEST_F(RangesTest, NothingIsKnownAtFirst) {
  expect(ranges.of(*x), -kInf, kInf, true);
  expect(ranges.of(*n), -2147483648.0, 2147483647.0);
}

TEST_F(RangesTest, AComparisonThatIsTrueExcludesNan) {
  ASSERT_TRUE(ranges.refine(*b.binary(Operator::Less, x, number(0.5)), true));
  expect(ranges.of(*x), -kInf, std::nextafter(0.5f, 0.0f));
  expect(ranges.of(*b.binary(Operator::Subtract, number(1), x)), 0.5, kInf);
  expect(ranges.of(*b.intrinsic(Intrinsic::Abs, {x})), 0, kInf);
  EXPECT_FALSE(ranges.refine(*b.binary(Operator::GreaterEqual, x, number(0.5)), true));
}

TEST_F(RangesTest, AComparisonThatIsFalseDoesNot) {
  ASSERT_TRUE(ranges.refine(*b.binary(Operator::Less, x, number(0.5)), false));
  EXPECT_TRUE(ranges.of(*x).nan);
  EXPECT_TRUE(ranges.refine(*b.binary(Operator::GreaterEqual, x, number(0.5)), false));
}

TEST_F(RangesTest, IntegersThatMayOverflowAreUnknown) {
  expect(ranges.of(*b.binary(Operator::Subtract, n, integer(1))), -2147483648.0, 2147483647.0);
  ASSERT_TRUE(ranges.refine(*b.binary(Operator::Greater, n, integer(0)), true));
  expect(ranges.of(*b.binary(Operator::Subtract, n, integer(1))), 0, 2147483646.0);
  expect(ranges.of(*b.binary(Operator::Add, n, integer(1))), -2147483648.0, 2147483647.0);
  expect(ranges.of(*b.binary(Operator::Divide, n, integer(2))), 0, 1073741823.0);
  expect(ranges.of(*b.binary(Operator::Remainder, n, integer(8))), 0, 7);
}

TEST_F(RangesTest, EndsOfIntegersMove) {
  ranges.set(n_variable, {0, 5, false});
  ASSERT_TRUE(ranges.refine(*b.binary(Operator::NotEqual, n, integer(0)), true));
  expect(ranges.of(*n), 1, 5);
  ASSERT_TRUE(ranges.refine(*b.binary(Operator::Less, b.convert(b.type(TypeKind::Float), n), number(3.5)), true));
  expect(ranges.of(*n), 1, 3);
  EXPECT_FALSE(ranges.refine(*b.binary(Operator::Equal, n, integer(4)), true));
}

TEST_F(RangesTest, LargeIntegersAreRoundedInAFloat) {
  const Builder::Value as_float = b.convert(b.type(TypeKind::Float), n);
  ASSERT_TRUE(ranges.refine(*b.binary(Operator::GreaterEqual, as_float, number(16777218)), true));
  EXPECT_LE(ranges.of(*n).low, 16777217) << "which is 16777218 or 16777216 as a float";
}

TEST_F(RangesTest, EitherConditionMayHold) {
  const Builder::Value low = b.binary(Operator::Less, n, integer(3)), high = b.binary(Operator::Greater, n, integer(9));
  Ranges both = ranges;
  EXPECT_FALSE(both.refine(*b.logical_and(low, high), true));
  ranges.set(n_variable, {0, 20, false});
  Ranges neither = ranges;
  ASSERT_TRUE(neither.refine(*b.logical_or(low, high), false));
  expect(neither.of(*n), 3, 9);
  ASSERT_TRUE(ranges.refine(*b.logical_or(low, high), true));
  expect(ranges.of(*n), 0, 20);
  expect(ranges.of(*b.conditional(low, integer(100), n)), 3, 100);
}

TEST_F(RangesTest, AVariableWithAnAddressIsUnknown) {
  b.address_of(n);
  ranges.set(n_variable, {1, 1, false});
  EXPECT_EQ(ranges.of(*n).high, 2147483647.0);
}

}  // namespace kymo::shader::ir
