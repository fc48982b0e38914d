// For targets where barriers may not be in branches.
#include <gtest/gtest.h>

#include "shader/ir/predicate.h"
#include "shader/ir/test_kernel.h"
#include "shader/test_support/print_ir.h"
#include "shader/test_support/verify_ir.h"

namespace kymo::shader::ir {
namespace {

class PredicateFlatTest : public KernelTest {
 protected:
  // Text of the kernel after the pass.
  std::string made() {
    EXPECT_EQ(verify(module), "");
    make_collectives_uniform(module, {.may_be_in_branches = false, .may_leave_pointers_unset = false});
    EXPECT_EQ(verify(module), "");
    return print(kernel);
  }
};

TEST_F(PredicateFlatTest, ABarrierInAUniformBranchIsTakenOut) {
  kernel.body = {b.if_(less(var(n), i(3)), {b.assign(at(out, lane()), i(1))},
                       {b.evaluate(b.intrinsic(Intrinsic::GroupBarrier, {}, 2)), b.assign(at(out, lane()), i(2))})};
  EXPECT_EQ(made(), R"(kernel "k" void k.1([[buffer(0)]] device int* out.1, [[value(1) const]] int n.2) {
  bool active.3 = (n.2 < 3)
  bool active.4 = (!active.3)
  if active.3 {
    (*(out.1 + int(simd_lane()))) = 1
  }
  {
    group_barrier<2>()
    if active.4 {
      (*(out.1 + int(simd_lane()))) = 2
    }
  }
}
)");
}

TEST_F(PredicateFlatTest, AUniformLoopNeedsNoFlagInside) {
  const Variable& k = b.local("k", integer());
  kernel.body = {b.if_(less(var(n), i(3)), {b.return_()}), b.declare(k, i(0)),
                 b.loop(less(var(k), var(n)),
                        {b.evaluate(b.intrinsic(Intrinsic::GroupBarrier, {}, 2)), b.assign(at(out, lane()), var(k))},
                        {b.assign(var(k), b.binary(Operator::Add, var(k), i(1)))})};
  EXPECT_EQ(made(), R"(kernel "k" void k.1([[buffer(0)]] device int* out.1, [[value(1) const]] int n.2) {
  bool active.4 = true
  if active.4 {
    if (n.2 < 3) {
      active.4 = false
    }
  }
  int k.3 = 0
  loop (active.4 && (k.3 < n.2)) {
    group_barrier<2>()
    (*(out.1 + int(simd_lane()))) = k.3
    group_barrier<4>()
    step {
      k.3 = (k.3 + 1)
    }
  }
}
)");
}

TEST_F(PredicateFlatTest, AUniformLoopWithAJumpNeedsNoVote) {
  const Variable& k = b.local("k", integer());
  kernel.body = {b.declare(k, i(0)), b.loop(less(var(k), var(n)),
                                            {b.assign(at(out, lane()), var(k)), b.if_(less(i(9), var(k)), {b.break_()}),
                                             b.evaluate(b.intrinsic(Intrinsic::GroupBarrier, {}, 2))},
                                            {b.assign(var(k), b.binary(Operator::Add, var(k), i(1)))})};
  EXPECT_EQ(made(), R"(kernel "k" void k.1([[buffer(0)]] device int* out.1, [[value(1) const]] int n.2) {
  int k.3 = 0
  bool going.4 = true
  loop {
    going.4 = (going.4 && (k.3 < n.2))
    if (!going.4) {
      break
    }
    {
      (*(out.1 + int(simd_lane()))) = k.3
      if going.4 {
        if (9 < k.3) {
          going.4 = false
        }
      }
      group_barrier<2>()
    }
    if going.4 {
      k.3 = (k.3 + 1)
    }
    group_barrier<4>()
  }
}
)");
}

TEST_F(PredicateFlatTest, PointersOfInactiveThreadsAreNullInC) {
  Function& use = b.function("use", b.type(TypeKind::Void));
  b.parameter(use, "p", module.types.pointer(integer(), Space::Threadgroup));
  use.body = {b.evaluate(b.intrinsic(Intrinsic::GroupBarrier, {}, 2))};
  module.functions = {&use, &kernel};
  Variable& shared = module.make_variable("shared", module.types.array(integer(), 4), Space::Threadgroup);
  const Variable& p = b.local("p", module.types.pointer(integer(), Space::Threadgroup));
  kernel.body = {b.declare(shared), b.if_(less(var(n), lane()), {b.return_()}),
                 b.evaluate(b.intrinsic(Intrinsic::GroupBarrier, {}, 2)),
                 b.declare(p, b.address_of(b.index(b.variable(shared), lane()))), b.evaluate(b.call(use, {var(p)}))};
  EXPECT_NE(made().find("p.5 = null"), std::string::npos) << print(kernel);
}

}  // namespace
}  // namespace kymo::shader::ir
