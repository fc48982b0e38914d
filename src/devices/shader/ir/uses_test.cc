#include "shader/ir/uses.h"

#include <gtest/gtest.h>

#include "shader/test_support/print_ir.h"
#include "shader/test_support/test_builder.h"
#include "shader/test_support/verify_ir.h"

namespace kymo::shader::ir {
namespace {

class UsesTest : public ::testing::Test {
 protected:
  Function& calls(const char* name, std::vector<const Function*> callees) {
    Function& made = b.function(name, b.type(TypeKind::Void));
    for (const Function* callee : callees) made.body.push_back(b.evaluate(b.call(*callee, {})));
    return made;
  }

  Module module;
  TestBuilder b{module};
};

TEST_F(UsesTest, CalleesComeBeforeCallers) {
  Function &leaf = calls("leaf", {}), &middle = calls("middle", {&leaf, &leaf});
  Function &kernel = calls("kernel", {&middle, &leaf}), &other = calls("other", {&leaf});
  kernel.is_kernel = other.is_kernel = true;
  const Uses uses(module);
  using Functions = std::vector<const Function*>;
  EXPECT_EQ(uses.of(middle).calls, (Functions{&leaf}));
  EXPECT_EQ(uses.reachable_from_kernels(), (Functions{&leaf, &middle, &kernel, &other}));
}

TEST_F(UsesTest, CallersUseWhatTheirCalleesUse) {
  const Variable& table = b.program_constant("t", b.constant_int(1));
  Function& sums = calls("sums", {});
  sums.body = {b.loop(nullptr, {b.evaluate(b.intrinsic(Intrinsic::SimdSum, {b.variable(table)}))})};
  Function& waits = calls("waits", {});
  waits.body = {b.evaluate(b.intrinsic(Intrinsic::GroupBarrier, {}, 2)), b.evaluate(b.intrinsic(Intrinsic::SimdLane))};
  Function& both = calls("both", {&sums, &waits});
  const Uses uses(module);
  EXPECT_TRUE(uses.of(sums).has_simd_collectives());
  EXPECT_FALSE(uses.of(sums).has_barriers());
  EXPECT_FALSE(uses.of(waits).has_simd_collectives());
  EXPECT_TRUE(uses.of(waits).has(Intrinsic::SimdLane));
  EXPECT_TRUE(uses.of(both).has_simd_collectives());
  EXPECT_TRUE(uses.of(both).has_barriers());
  EXPECT_TRUE(uses.of(both).has(Intrinsic::SimdLane));
  EXPECT_EQ(uses.of(both).constants, (std::vector<const Variable*>{&table}));
}

TEST_F(UsesTest, ACloneHasVariablesOfItsOwn) {
  Function& f = b.function("f", b.type(TypeKind::Int));
  Variable& x = b.parameter(f, "x", b.type(TypeKind::Int));
  const Variable& y = b.local("y", b.type(TypeKind::Int));
  f.body = {b.declare(y, b.variable(x)), b.switch_(b.variable(y), {{{1}, true, {b.break_()}}}),
            b.return_(b.variable(y))};
  Function& clone = clone_function(module, f, "g");
  EXPECT_EQ(print(clone), R"(int g.2(int x.3) {
  int y.4 = x.3
  switch y.4 {
  case 1: default:
    break
  }
  return y.4
}
)");
  module.functions.push_back(&clone);
  EXPECT_EQ(verify(module), "");
}

}  // namespace
}  // namespace kymo::shader::ir
