#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shader/emit/emit.h"
#include "shader/emit/test_modules.h"
#include "shader/test_support/test_builder.h"

namespace kymo::shader {
namespace {

using ir::Operator;
using test::ModuleBuilder;
using testing::HasSubstr;
using Value = ir::Builder::Value;

// A kernel that stores one value, as the statement that stores it.
class CExpressionsTest : public ::testing::Test {
 protected:
  std::string stored(Value value) {
    b_.put(b_.deref(b_.buffer("out", value->type)), value);
    const std::string text = emit_opencl(module_).text;
    const size_t at = text.rfind("  *out = ");
    return at == std::string::npos ? text : text.substr(at + 9, text.rfind(";\n}") - at - 9);
  }
  Value i() { return b_.given("i", b_.type(TypeKind::Int)); }
  Value x() { return b_.given("x", b_.type(TypeKind::Float)); }
  Value of(Operator op, Value a, Value c) { return b_.binary(op, a, c); }
  std::string rejected() {
    try {
      emit_opencl(module_);
    } catch (const Rejected& why) {
      return why.text;
    }
    return "";
  }

  ir::Module module_;
  ModuleBuilder b_{module_};
};

TEST_F(CExpressionsTest, ParenthesesAreWrittenIfNeeded) {
  const Value v = i();
  EXPECT_EQ(stored(of(Operator::Multiply, of(Operator::Subtract, v, of(Operator::Subtract, v, v)), v)),
            "(i - (i - i)) * i");
}

TEST_F(CExpressionsTest, ParenthesesAreWrittenIfPrecedenceIsUnclear) {
  const Value v = i();
  EXPECT_EQ(stored(of(Operator::Or, of(Operator::And, v, v), of(Operator::ShiftLeft, v, of(Operator::Add, v, v)))),
            "(i & i) | (i << (i + i))");
}

TEST_F(CExpressionsTest, SignsAreSeparated) {
  const Value minus = b_.unary(Operator::Negate, b_.constant_int(-5));
  EXPECT_EQ(stored(b_.unary(Operator::Negate, minus)), "-(-(-5))");
}

TEST_F(CExpressionsTest, TheSmallestIntegersAreLegal) {
  EXPECT_EQ(stored(b_.constant_int(INT64_MIN, TypeKind::Long)), "(-9223372036854775807l - 1)");
}

TEST_F(CExpressionsTest, FloatsKeepTheirValue) {
  EXPECT_EQ(stored(of(Operator::Add, of(Operator::Add, x(), b_.constant_float(0.1F)), b_.constant_float(-1e-45F))),
            "x + 0.1f + -1e-45f");
}

TEST_F(CExpressionsTest, InfinityIsWrittenAsBits) {
  EXPECT_EQ(stored(b_.constant(b_.type(TypeKind::Float), 0xff800000U)), "as_float(0xff800000u)");
}

TEST_F(CExpressionsTest, LogicOfBoolsStaysBool) {
  const Value p = b_.given("p", b_.type(TypeKind::Bool)), q = b_.given("q", b_.type(TypeKind::Bool));
  EXPECT_EQ(stored(of(Operator::Xor, of(Operator::And, p, q), b_.logical_not(q))), "(bool)(p & q) != !q");
}

TEST_F(CExpressionsTest, ASelectEvaluatesBothSides) {
  ir::Function& f = b_.function("f", b_.type(TypeKind::Int));
  f.body = {b_.return_(b_.number(1))};
  module_.functions = {&f, &b_.kernel};
  const Value c = b_.less(b_.number(1), i());
  EXPECT_EQ(stored(b_.intrinsic(ir::Intrinsic::Select, {b_.call(f, {}), b_.number(2), c})),
            "select(f(), 2, (int)(1 < i))");
}

TEST_F(CExpressionsTest, ALongSumIsWritten) {
  Value sum = x();
  for (int k = 0; k < 20'000; ++k) sum = b_.plus(sum, b_.constant_float(1));
  EXPECT_EQ(stored(sum).size(), 1 + 20'000 * std::string_view(" + 1.0f").size());
}

TEST_F(CExpressionsTest, DeepNestingIsRefused) {
  Value value = x();
  for (int k = 0; k < 1'000; ++k) value = b_.plus(b_.constant_float(1), value);
  b_.put(b_.deref(b_.buffer("out", TypeKind::Float)), value);
  EXPECT_THAT(rejected(), HasSubstr("nested more than 300 deep"));
}

TEST_F(CExpressionsTest, LocalHalvesThatAreUsedAsOtherNumbersAreLaidOutAsInMemory) {
  const Value h = b_.let("h", b_.constant_float(1, TypeKind::Half));
  const Value other = b_.let("other", b_.constant_float(2, TypeKind::Half));  // has no address
  const Type* bits = b_.pointer(TypeKind::UShort, Space::Thread);
  const Value p = b_.let("p", b_.pointer_cast(bits, b_.address_of(h)));
  b_.put(b_.deref(p), b_.constant_uint(0x4000, TypeKind::UShort));
  EXPECT_EQ(stored(b_.plus(b_.convert(b_.type(TypeKind::Float), h), b_.convert(b_.type(TypeKind::Float), other))),
            "kymo_half_to_float(h) + other");
}

TEST_F(CExpressionsTest, PointerCastsOfLocalFloatsAreAllowed) {
  const Value f = b_.let("f", b_.constant_float(1));
  const Value p = b_.let("p", b_.pointer_cast(b_.pointer(TypeKind::UInt, Space::Thread), b_.address_of(f)));
  EXPECT_EQ(stored(b_.deref(p)), "*p");
}

TEST_F(CExpressionsTest, HalvesAreRoundedOnceWhenStored) {
  EXPECT_EQ(stored(b_.convert(b_.type(TypeKind::Half), of(Operator::Add, x(), b_.constant_float(1)))),
            "kymo_float_to_half(x + 1.0f)");
}

TEST_F(CExpressionsTest, IndicesNeedNoConversion) {
  const Value in = b_.buffer("in", TypeKind::Float);
  const Value at = b_.given("at", b_.type(TypeKind::UInt));
  EXPECT_EQ(stored(b_.element(in, at)), "in[at]");
}

TEST_F(CExpressionsTest, AModuleWithoutKernelsHasNoText) {
  ir::Module module;
  ir::TestBuilder b(module);
  b.function("f", b.type(TypeKind::Void));
  EXPECT_EQ(emit_opencl(module).text, "");
  EXPECT_EQ(emit_cuda(module).text, "");
}

}  // namespace
}  // namespace kymo::shader
