#include "shader/test_support/verify_ir.h"

#include <gtest/gtest.h>

#include "shader/test_support/print_ir.h"
#include "shader/test_support/test_builder.h"

namespace kymo::shader::ir {
namespace {

class VerifyTest : public ::testing::Test {
 protected:
  const Type* kind(TypeKind wanted) { return b.type(wanted); }
  const Expression* variable(TypeKind wanted) {
    const Variable& made = b.local("x", kind(wanted));
    kernel.body.push_back(b.declare(made));
    return b.variable(made);
  }
  // What is said of a kernel that evaluates this.
  std::string fault(const Expression* e) {
    kernel.body.push_back(b.evaluate(e));
    std::string found = verify(module);
    kernel.body.pop_back();
    return found;
  }
  std::string fault(Statement* statement) {
    kernel.body.push_back(statement);
    std::string found = verify(module);
    kernel.body.pop_back();
    return found;
  }

  Module module;
  TestBuilder b{module};
  Function& kernel = b.kernel("k");
};

TEST_F(VerifyTest, GoodOperationsPass) {
  const Expression *i = variable(TypeKind::Int), *f = variable(TypeKind::Float), *t = variable(TypeKind::Bool);
  EXPECT_EQ(fault(b.binary(Operator::Add, i, i)), "");
  EXPECT_EQ(fault(b.binary(Operator::ShiftLeft, i, b.constant_uint(1, TypeKind::UChar))), "");
  EXPECT_EQ(fault(b.binary(Operator::Xor, t, t)), "");
  EXPECT_EQ(fault(b.binary(Operator::Less, b.splat(f, 3), b.splat(f, 3))), "");
  EXPECT_EQ(fault(b.intrinsic(Intrinsic::SimdSum, {f, t})), "");
  EXPECT_EQ(fault(b.intrinsic(Intrinsic::SimdShuffle, {f, b.constant_uint(1), t})), "");
  EXPECT_EQ(fault(b.intrinsic(Intrinsic::SimdBarrier, {t}, 2)), "");
  EXPECT_EQ(fault(b.intrinsic(Intrinsic::GroupAny, {t})), "");
  EXPECT_EQ(fault(b.bitcast(b.vector(TypeKind::UShort, 2), f)), "");
  EXPECT_EQ(fault(b.construct(b.vector(TypeKind::Float, 4), {f, b.splat(f, 3)})), "");
}

TEST_F(VerifyTest, OperandsMustMatch) {
  const Expression *i = variable(TypeKind::Int), *f = variable(TypeKind::Float), *t = variable(TypeKind::Bool),
                   *h = variable(TypeKind::Half), *c = variable(TypeKind::Char);
  EXPECT_EQ(fault(b.binary(Operator::Add, i, f)), "k.1: `(x.1 + x.2)` (binary): the operands have different types");
  EXPECT_NE(fault(b.binary(Operator::Add, h, h)), "");
  EXPECT_NE(fault(b.binary(Operator::Add, c, c)), "");
  EXPECT_NE(fault(b.binary(Operator::Add, t, t)), "");
  EXPECT_NE(fault(b.binary(Operator::Less, t, t)), "");
  EXPECT_NE(fault(b.binary(Operator::Remainder, f, f)), "");
  EXPECT_NE(fault(b.unary(Operator::Not, i)), "");
  EXPECT_NE(fault(b.logical_and(i, t)), "");
  EXPECT_NE(fault(b.conditional(i, f, f)), "");
  EXPECT_NE(fault(b.conditional(t, f, i)), "");
  EXPECT_NE(fault(b.intrinsic(Intrinsic::Floor, {i})), "");
  EXPECT_NE(fault(b.intrinsic(Intrinsic::Min, {f, f})), "");
  EXPECT_NE(fault(b.intrinsic(Intrinsic::SimdAnd, {f})), "");
  EXPECT_NE(fault(b.intrinsic(Intrinsic::SimdSum, {h})), "");
  EXPECT_NE(fault(b.intrinsic(Intrinsic::SimdSum, {f, f})), "");
  EXPECT_NE(fault(b.bitcast(kind(TypeKind::Long), f)), "");
  EXPECT_NE(fault(b.construct(b.vector(TypeKind::Float, 4), {f, f})), "");
  EXPECT_NE(fault(b.index(b.zero(b.vector(TypeKind::Float, 4)), f)), "");
  EXPECT_NE(fault(b.call(kernel, {})), "");
}

TEST_F(VerifyTest, HalfIsConvertedToFloatOnly) {
  Expression& direct = module.make_expression(ExpressionKind::Convert, kind(TypeKind::Int));
  direct.operands = {variable(TypeKind::Half)};
  EXPECT_EQ(fault(&direct), "k.1: `int(x.1)` (convert): half and bfloat go to float only");
}

TEST_F(VerifyTest, ConstantsHaveTheirTypesBits) {
  EXPECT_NE(fault(b.constant(kind(TypeKind::UInt), UINT64_MAX)), "");
  EXPECT_NE(fault(b.constant(kind(TypeKind::Half), 0x3f800001)), "");
  EXPECT_NE(fault(b.constant(kind(TypeKind::Bool), 2)), "");
  EXPECT_EQ(fault(b.constant_int(-1)), "");
}

TEST_F(VerifyTest, VariablesAreVisibleOnlyInTheirBlock) {
  const Variable& x = b.local("x", kind(TypeKind::Int));
  EXPECT_EQ(fault(b.variable(x)), "k.1: x.1 is used where it is not known");
  EXPECT_EQ(fault(b.block({b.declare(x), b.evaluate(b.variable(x))})), "");
  kernel.body = {b.block({b.declare(x)})};
  EXPECT_NE(fault(b.variable(x)), "");
  EXPECT_EQ(fault(b.declare(x)), "k.1: x.1 is declared twice");
}

TEST_F(VerifyTest, VariablesOfTheBeforeBlockAreVisibleInTheWholeLoop) {
  const Variable& x = b.local("x", kind(TypeKind::Bool));
  const Variable& y = b.local("y", kind(TypeKind::Bool));
  Statement* use = b.assign(b.variable(x), b.constant_bool(false));
  EXPECT_EQ(fault(b.loop(b.variable(x), {use}, {use}, {b.declare(x)})), "");
  EXPECT_NE(fault(b.loop(b.variable(x), {b.declare(x)})), "");
  EXPECT_EQ(fault(b.do_loop({b.declare(y)}, b.variable(x), {b.declare(x)})), "");
  EXPECT_NE(fault(b.do_loop({b.declare(y)}, b.variable(y))), "");
}

TEST_F(VerifyTest, BreakAndContinueNeedALoop) {
  EXPECT_NE(fault(b.break_()), "");
  EXPECT_NE(fault(b.loop(nullptr, {}, {b.break_()})), "");
  EXPECT_EQ(fault(b.switch_(b.constant_int(1), {{{1}, false, {b.break_()}}})), "");
  EXPECT_NE(fault(b.switch_(b.constant_int(1), {{{1}, false, {b.continue_()}}})), "");
  EXPECT_EQ(fault(b.loop(nullptr, {b.switch_(b.constant_int(1), {{{1}, false, {b.continue_()}}})})), "");
  EXPECT_NE(fault(b.switch_(b.constant_int(1), {{{1}, false, {}}, {{1}, false, {}}})), "");
}

TEST_F(VerifyTest, ConstantsAreNotWritten) {
  const Variable& value = b.binding(kernel, "v", BindingKind::Value, kind(TypeKind::Int));
  const Variable& buffer =
      b.binding(kernel, "p", BindingKind::Buffer, module.types.pointer(kind(TypeKind::Int), Space::Constant, true));
  const Variable& table = b.program_constant("t", b.constant_int(1));
  EXPECT_NE(fault(b.assign(b.variable(value), b.constant_int(1))), "");
  EXPECT_NE(fault(b.assign(b.deref(b.variable(buffer)), b.constant_int(1))), "");
  EXPECT_NE(fault(b.assign(b.variable(table), b.constant_int(1))), "");
  EXPECT_NE(fault(b.assign(b.constant_int(1), b.constant_int(1))), "");
}

TEST_F(VerifyTest, PackedVectorsAndAtomicsAreNotOperands) {
  const Variable& packed = b.local("p", module.types.vector(kind(TypeKind::Float), 3, true));
  const Variable& atomic = b.local("a", module.types.atomic(kind(TypeKind::Int)));
  kernel.body = {b.declare(packed), b.declare(atomic)};
  EXPECT_NE(fault(b.binary(Operator::Add, b.variable(packed), b.variable(packed))), "");
  EXPECT_EQ(fault(b.assign(b.variable(packed), b.convert(packed.type, b.zero(b.vector(TypeKind::Float, 3))))), "");
  EXPECT_NE(fault(b.declare(b.local("c", atomic.type), b.variable(atomic))), "");
  EXPECT_EQ(fault(b.intrinsic(Intrinsic::AtomicAdd, {b.address_of(b.variable(atomic)), b.constant_int(1)})), "");
}

TEST_F(VerifyTest, PointersStayInTheirSpace) {
  const Variable& x = b.local("x", b.vector(TypeKind::Float, 4));
  kernel.body = {b.declare(x)};
  const Expression* pointer = b.address_of(b.variable(x));
  EXPECT_EQ(fault(b.pointer_cast(module.types.pointer(kind(TypeKind::Int), Space::Thread), pointer)), "");
  EXPECT_NE(fault(b.pointer_cast(module.types.pointer(kind(TypeKind::Int), Space::Device), pointer)), "");
  EXPECT_NE(fault(b.address_of(b.index(b.variable(x), 0))), "");
  EXPECT_NE(fault(b.address_of(b.swizzle(b.variable(x), "xy"))), "");
  module.changeable(x).address_taken = false;
  EXPECT_NE(fault(pointer), "");
}

TEST_F(VerifyTest, CalleesComeFirst) {
  Function& later = b.function("later", kind(TypeKind::Void));
  EXPECT_EQ(fault(b.call(later, {})), "k.1: `later.2()` is a call of a function that is not listed before");
  module.functions = {&later, &kernel};
  EXPECT_EQ(fault(b.call(later, {})), "");
  later.body = {b.evaluate(b.call(later, {}))};
  EXPECT_NE(verify(module), "");
}

TEST_F(VerifyTest, DeepNestingIsReported) {
  const Expression* e = b.constant_int(1);
  for (int i = 0; i < 100000; ++i) e = b.binary(Operator::Add, e, b.constant_int(1));
  EXPECT_EQ(fault(e), "k.1: it nests too deep");
  EXPECT_FALSE(print(*e).empty());
}

TEST_F(VerifyTest, ReturnsMatchTheFunction) {
  EXPECT_NE(fault(b.return_(b.constant_int(1))), "");
  EXPECT_EQ(fault(b.return_()), "");
  Function& f = b.function("f", kind(TypeKind::Int));
  f.body = {b.return_(b.constant_uint(1))};
  EXPECT_EQ(verify(module), "f.2: `1u` has type uint, where int is wanted");
}

}  // namespace
}  // namespace kymo::shader::ir
