#include "shader/ir/evaluate.h"

#include <gtest/gtest.h>

#include "shader/ir/scalar.h"
#include "shader/test_support/print_ir.h"
#include "shader/test_support/test_builder.h"
#include "shader/test_support/verify_ir.h"

namespace kymo::shader::ir {
namespace {

const Expression* fold_place(Module& module, const Expression& place);
const Expression* fold(Module& module, const Expression& expression);

// The expression with folded operands; the first stays a place if it must.
const Expression* fold_operands(Module& module, const Expression& e, bool first_is_place) {
  Expression* changed = nullptr;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    const Expression& operand = *e.operands[i];
    const Expression* folded = i == 0 && first_is_place ? fold_place(module, operand) : fold(module, operand);
    if (folded == &operand) continue;
    if (changed == nullptr) {
      changed = &module.make_expression(e.kind, e.type, e.at);
      *changed = e;
    }
    changed->operands[i] = folded;
  }
  return changed != nullptr ? changed : &e;
}

// All of it, from the leaves up.
const Expression* fold(Module& module, const Expression& expression) {
  const bool is_address = expression.kind == ExpressionKind::AddressOf || expression.kind == ExpressionKind::Decay;
  return fold_node(module, *fold_operands(module, expression, is_address));
}

// Stays a place: folds only its indices and pointers.
const Expression* fold_place(Module& module, const Expression& place) {
  return fold_operands(module, place, place.kind != ExpressionKind::Dereference);
}

class EvaluateTest : public ::testing::Test {
 protected:
  using E = const Expression*;
  const Type* kind(TypeKind wanted) { return b.type(wanted); }
  std::string evaluated(E e) {
    E made = evaluate_to_expression(module, {}, *e);
    return made == nullptr ? "not a constant" : print(*made);
  }
  std::optional<uint64_t> evaluate_scalar(const Expression& e) {
    E made = evaluate_to_expression(module, {}, e);
    return made != nullptr && made->kind == ExpressionKind::Constant ? std::optional(made->bits) : std::nullopt;
  }
  std::string folded(E e) { return print(*fold(module, *e)); }
  E add(E left, E right) { return b.binary(Operator::Add, left, right); }
  E less(E left, E right) { return b.binary(Operator::Less, left, right); }
  E i(int64_t value) { return b.constant_int(value); }
  Statement* increment(const Variable& x) { return b.assign(b.variable(x), add(b.variable(x), i(1))); }
  const Type* int_array(uint32_t count) { return module.types.array(kind(TypeKind::Int), count); }

  Module module;
  TestBuilder b{module};
};

TEST_F(EvaluateTest, ScalarsAreEvaluated) {
  EXPECT_EQ(evaluate_scalar(*b.binary(Operator::Multiply, i(6), add(i(3), i(4)))), 42U);
  EXPECT_EQ(evaluate_scalar(*b.convert(kind(TypeKind::Int), b.constant_float(-2.5F))), static_cast<uint64_t>(-2));
  EXPECT_EQ(evaluate_scalar(*b.binary(Operator::Divide, i(1), i(0))), std::nullopt);
  EXPECT_EQ(evaluate_scalar(*b.intrinsic(Intrinsic::Sqrt, {b.constant_float(9)})), bits_of(3));
  EXPECT_EQ(evaluate_scalar(*b.intrinsic(Intrinsic::SimdLane)), std::nullopt);
  EXPECT_EQ(evaluate_scalar(*b.variable(b.local("x", kind(TypeKind::Int)))), std::nullopt);
  EXPECT_EQ(evaluate_scalar(*b.zero(int_array(3))), std::nullopt);
}

TEST_F(EvaluateTest, OnlyTheNeededSideIsEvaluated) {
  const Expression* unknown = b.variable(b.local("x", kind(TypeKind::Bool)));
  EXPECT_EQ(evaluate_scalar(*b.logical_or(b.constant_bool(true), unknown)), 1U);
  EXPECT_EQ(evaluate_scalar(*b.logical_and(b.constant_bool(false), unknown)), 0U);
  EXPECT_EQ(evaluate_scalar(*b.logical_and(b.constant_bool(true), unknown)), std::nullopt);
  EXPECT_EQ(evaluate_scalar(*b.conditional(b.constant_bool(false), unknown, b.constant_bool(true))), 1U);
}

TEST_F(EvaluateTest, VectorsAreEvaluatedByComponent) {
  const Type* vector = b.vector(TypeKind::Int, 3);
  const Expression* v = b.construct(vector, {i(1), b.construct(b.vector(TypeKind::Int, 2), {i(2), i(3)})});
  EXPECT_EQ(evaluated(b.binary(Operator::Multiply, v, b.splat(i(2), 3))), "int3{2, 4, 6}");
  EXPECT_EQ(evaluated(b.swizzle(v, "zx")), "int2{3, 1}");
  EXPECT_EQ(evaluated(b.index(v, 1)), "2");
  EXPECT_EQ(evaluated(b.index(v, 3)), "not a constant");
  EXPECT_EQ(evaluated(b.intrinsic(Intrinsic::All, {less(v, b.splat(i(4), 3))})), "true");
  EXPECT_EQ(evaluated(b.intrinsic(Intrinsic::Select, {v, b.splat(i(9), 3), less(b.splat(i(1), 3), v)})),
            "int3{1, 9, 9}");
  EXPECT_EQ(evaluated(b.convert(b.vector(TypeKind::Float, 3), v)), "float3{1.0f, 2.0f, 3.0f}");
  EXPECT_EQ(evaluated(b.binary(Operator::Subtract, v, v)), "int3{}");
}

TEST_F(EvaluateTest, BitcastsKeepTheBytes) {
  EXPECT_EQ(evaluated(b.bitcast(kind(TypeKind::UInt), b.constant_float(1))), "1065353216u");
  EXPECT_EQ(evaluated(b.bitcast(b.vector(TypeKind::UShort, 2), b.constant_uint(0x00020001))),
            "ushort2{ushort(1), ushort(2)}");
  const Expression* halves = b.splat(b.constant_float(1, TypeKind::Half), 2);
  EXPECT_EQ(evaluated(b.bitcast(kind(TypeKind::UInt), halves)), "1006648320u");
}

// int sum(int n) { int s = 0; for (int k = 0; k < n; ++k) { if (k == 2) continue; s += k; } return s; }
TEST_F(EvaluateTest, FunctionsAreEvaluated) {
  Function& sum = b.function("sum", kind(TypeKind::Int));
  Variable& n = b.parameter(sum, "n", kind(TypeKind::Int));
  Variable &s = b.local("s", kind(TypeKind::Int)), &k = b.local("k", kind(TypeKind::Int));
  sum.body = {b.declare(s, i(0)), b.declare(k, i(0)),
              b.loop(less(b.variable(k), b.variable(n)),
                     {b.if_(b.binary(Operator::Equal, b.variable(k), i(2)), {b.continue_()}),
                      b.assign(b.variable(s), add(b.variable(s), b.variable(k)))},
                     {increment(k)}),
              b.return_(b.variable(s))};
  ASSERT_EQ(verify(module), "");
  EXPECT_EQ(evaluate_scalar(*b.call(sum, {i(5)})), 8U);
  EXPECT_EQ(evaluate_scalar(*b.call(sum, {i(10'000'000)})), std::nullopt);  // too many steps
}

TEST_F(EvaluateTest, LoopsSwitchesAndBreaksAreEvaluated) {
  const auto case_of = [&](int64_t label, Block body) { return Case{{label}, false, std::move(body)}; };
  Function& f = b.function("f", kind(TypeKind::Int));
  Variable &n = b.parameter(f, "n", kind(TypeKind::Int)), &s = b.local("s", kind(TypeKind::Int));
  Case otherwise{{}, true, {b.assign(b.variable(s), i(100))}};
  f.body = {b.declare(s, i(0)),
            b.do_loop({increment(s), b.if_(b.binary(Operator::Equal, b.variable(s), i(3)), {b.break_()})},
                      b.constant_bool(true)),
            b.switch_(b.variable(n), {case_of(1, {increment(s)}), case_of(2, {increment(s), b.break_()}), otherwise}),
            b.return_(b.variable(s))};
  ASSERT_EQ(verify(module), "");
  EXPECT_EQ(evaluate_scalar(*b.call(f, {i(1)})), 5U);
  EXPECT_EQ(evaluate_scalar(*b.call(f, {i(2)})), 4U);
  EXPECT_EQ(evaluate_scalar(*b.call(f, {i(3)})), 100U);
}

TEST_F(EvaluateTest, PointersToLocalsWriteThere) {
  Function& fill = b.function("fill", kind(TypeKind::Void));
  Variable& p = b.parameter(fill, "p", module.types.pointer(kind(TypeKind::Int), Space::Thread));
  fill.body = {b.assign(b.element(b.variable(p), i(1)), i(7)), b.assign(b.deref(b.variable(p)), i(5))};
  const Variable& array = b.local("a", int_array(4));
  const Expression* from_second = b.pointer_add(b.decay(b.variable(array)), i(1));
  const Block statements = {b.declare(array, b.zero(array.type)), b.evaluate(b.call(fill, {from_second}))};
  const Expression* made = evaluate_to_expression(module, statements, *b.variable(array));
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(print(*made), "int[4]{0, 5, 7, 0}");

  const Expression* last = b.pointer_add(b.decay(b.variable(array)), i(3));
  made = evaluate_to_expression(module, statements, *b.pointer_difference(last, from_second));
  EXPECT_EQ(print(*made), "2l");
  const Expression* beyond = b.pointer_add(b.decay(b.variable(array)), i(5));
  EXPECT_EQ(evaluate_to_expression(module, statements, *b.deref(beyond)), nullptr);
}

TEST_F(EvaluateTest, TablesOfTheProgramAreRead) {
  const Variable& table = b.program_constant("t", b.construct(int_array(3), {i(10), i(20), i(30)}));
  EXPECT_EQ(evaluate_scalar(*b.index(b.variable(table), 2)), 30U);
  EXPECT_EQ(evaluate_scalar(*b.deref(b.pointer_add(b.decay(b.variable(table)), i(1)))), 20U);
}

TEST_F(EvaluateTest, UnassignedVariablesAreNotConstant) {
  const Variable& v = b.local("v", b.vector(TypeKind::Int, 2));
  const Block half = {b.declare(v), b.assign(b.index(b.variable(v), 0), i(1))};
  EXPECT_EQ(evaluate_to_expression(module, half, *b.variable(v)), nullptr);
  EXPECT_EQ(print(*evaluate_to_expression(module, half, *b.index(b.variable(v), 0))), "1");
  const Block whole = {b.declare(v), b.assign(b.swizzle(b.variable(v), "yx"), b.construct(v.type, {i(1), i(2)}))};
  EXPECT_EQ(print(*evaluate_to_expression(module, whole, *b.variable(v))), "int2{2, 1}");
}

TEST_F(EvaluateTest, HugeValuesAreNotConstantAndTakeNoMemory) {
  EXPECT_EQ(evaluate_to_expression(module, {}, *b.zero(int_array(0xffffffff))), nullptr);
  const Variable& a = b.local("a", int_array(600'000));
  const Variable& c = b.local("c", a.type);
  EXPECT_EQ(evaluate_to_expression(module, {b.declare(a, b.zero(a.type)), b.declare(c, b.variable(a))}, *i(1)),
            nullptr);
  EXPECT_EQ(evaluate_to_expression(module, {b.loop(nullptr, {})}, *i(1)), nullptr);
}

TEST_F(EvaluateTest, DeepValuesAreNotConstant) {
  const Expression* e = i(1);
  for (int n = 0; n < 100'000; ++n) e = add(e, i(1));
  EXPECT_EQ(evaluate_scalar(*e), std::nullopt);
  Function* callee = nullptr;
  for (int n = 0; n < 300; ++n) {
    Function& caller = b.function("f", kind(TypeKind::Int));
    caller.body = {b.return_(callee == nullptr ? i(1) : b.call(*callee, {}))};
    callee = &caller;
    if (n == 200) {
      EXPECT_EQ(evaluate_scalar(*b.call(*callee, {})), 1U);
    }
  }
  EXPECT_EQ(evaluate_scalar(*b.call(*callee, {})), std::nullopt);
}

// Whoever evaluates an index may change what is indexed meanwhile: struct S { int a[2][2]; }; s.a[f(&s)][1]
TEST_F(EvaluateTest, AnIndexMayAssignItsArray) {
  const Type* table = module.types.array(int_array(2), 2);
  Function& f = b.function("f", kind(TypeKind::Int));
  Variable& p = b.parameter(f, "p", module.types.pointer(table, Space::Thread));
  f.body = {b.assign(b.deref(b.variable(p)), b.zero(table)), b.return_(i(1))};
  const Variable& s = b.local("s", table);
  const Expression* call = b.call(f, {b.address_of(b.variable(s))});
  const Expression* place = b.index(b.index(b.variable(s), 1), call);
  const Expression* made =
      evaluate_to_expression(module, {b.declare(s, b.zero(table)), b.assign(place, i(4))}, *b.variable(s));
  EXPECT_EQ(print(*made), "int[2][2]{int[2]{}, int[2]{0, 4}}");
}

TEST_F(EvaluateTest, FoldReplacesConstants) {
  const Expression* x = b.variable(b.local("x", kind(TypeKind::Int)));
  EXPECT_EQ(folded(add(x, add(i(1), i(2)))), "(x.1 + 3)");
  EXPECT_EQ(folded(b.conditional(less(i(1), i(2)), x, i(4))), "x.1");
  const Expression* t = b.variable(b.local("t", kind(TypeKind::Bool)));
  EXPECT_EQ(folded(b.logical_and(less(i(1), i(2)), t)), "t.2");
  EXPECT_EQ(folded(b.logical_and(t, less(i(2), i(1)))), "(t.2 && false)");
  EXPECT_EQ(folded(b.logical_or(t, less(i(2), i(1)))), "t.2");
  EXPECT_EQ(folded(b.binary(Operator::Divide, i(1), i(0))), "(1 / 0)");
  EXPECT_EQ(folded(b.swizzle(b.construct(b.vector(TypeKind::Int, 2), {i(1), i(2)}), "yxy")), "int3{2, 1, 2}");
  const Expression* same = add(x, i(1));
  EXPECT_EQ(fold(module, *same), same);
}

TEST_F(EvaluateTest, FoldKeepsFunctionsThatTargetsRoundDifferently) {
  EXPECT_EQ(folded(b.intrinsic(Intrinsic::Exp, {b.constant_float(0)})), "exp(0.0f)");
  EXPECT_EQ(folded(b.intrinsic(Intrinsic::Floor, {b.constant_float(1.5F)})), "1.0f");
}

TEST_F(EvaluateTest, FoldReadsTablesAndKeepsPlaces) {
  const Variable& table = b.program_constant("t", b.construct(int_array(3), {i(10), i(20), i(30)}));
  const Variable& one = b.program_constant("one", i(1));
  EXPECT_EQ(folded(b.index(b.variable(table), b.variable(one))), "20");
  EXPECT_EQ(folded(b.address_of(b.variable(one))), "(&one.2)");
  EXPECT_EQ(folded(b.address_of(b.index(b.variable(table), add(i(1), i(1))))), "(&t.1[2])");
  const Variable& array = b.local("a", int_array(3));
  EXPECT_EQ(print(*fold_place(module, *b.index(b.variable(array), add(i(1), i(1))))), "a.3[2]");
}

}  // namespace
}  // namespace kymo::shader::ir
