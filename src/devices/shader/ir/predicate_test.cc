#include "shader/ir/predicate.h"

#include <gtest/gtest.h>

#include "shader/ir/test_kernel.h"
#include "shader/ir/uniform.h"
#include "shader/test_support/print_ir.h"
#include "shader/test_support/verify_ir.h"

namespace kymo::shader::ir {
namespace {

class PredicateTest : public KernelTest {
 protected:
  E sum(E of) { return b.intrinsic(Intrinsic::SimdSum, {of}); }

  // Text of the kernel behind the pass, which is checked to be right.
  std::string made() {
    EXPECT_EQ(verify(module), "");
    make_collectives_uniform(module);
    EXPECT_EQ(verify(module), "");
    EXPECT_TRUE(Uniformity(module).collectives_apart().empty());
    return print(kernel);
  }
};

TEST_F(PredicateTest, UniformCodeIsUnchanged) {
  const Variable& k = b.local("k", integer());
  kernel.body = {
      b.declare(k, i(0)),
      b.loop(less(var(k), var(n)),
             {b.evaluate(b.intrinsic(Intrinsic::SimdBarrier, {}, 2)), b.if_(less(var(n), i(3)), {b.break_()})},
             {b.assign(var(k), b.binary(Operator::Add, var(k), i(1)))}),
      b.if_(less(lane(), i(2)), {b.return_()}), b.assign(at(out, lane()), i(1))};
  const std::string before = print(kernel);
  EXPECT_EQ(made(), before);
}

TEST_F(PredicateTest, AllThreadsEnterABranch) {
  const Variable &v = b.local("v", integer()), &s = b.local("s", integer());
  kernel.body = {b.declare(s, i(0)), b.if_(less(lane(), var(n)),
                                           {b.declare(v, at(out, lane())), b.assign(var(s), sum(var(v))),
                                            b.assign(at(out, lane()), var(s))},
                                           {b.assign(var(s), sum(at(out, var(s))))})};
  EXPECT_EQ(made(), R"(kernel "k" void k.1([[buffer(0)]] device int* out.1, [[value(1) const]] int n.2) {
  int s.4 = 0
  bool active.7 = (int(simd_lane()) < n.2)
  bool active.8 = (!active.7)
  {
    int v.3 = 0
    if active.7 {
      v.3 = (*(out.1 + int(simd_lane())))
    }
    int together.5 = simd_sum(v.3, active.7)
    if active.7 {
      s.4 = together.5
      (*(out.1 + int(simd_lane()))) = s.4
    }
  }
  {
    int operand.9 = 0
    if active.8 {
      operand.9 = (*(out.1 + s.4))
    }
    int together.6 = simd_sum(operand.9, active.8)
    if active.8 {
      s.4 = together.6
    }
  }
}
)");
}

TEST_F(PredicateTest, CodeAfterAnEarlyReturnIsPredicated) {
  const Variable& s = b.local("s", integer());
  kernel.body = {b.if_(less(var(n), lane()), {b.return_()}), b.declare(s, sum(lane())),
                 b.evaluate(b.intrinsic(Intrinsic::GroupBarrier, {}, 2)), b.assign(at(out, lane()), var(s))};
  EXPECT_EQ(made(), R"(kernel "k" void k.1([[buffer(0)]] device int* out.1, [[value(1) const]] int n.2) {
  bool active.4 = true
  if active.4 {
    if (n.2 < int(simd_lane())) {
      active.4 = false
    }
  }
  int s.3 = simd_sum(int(simd_lane()), active.4)
  group_barrier<2>()
  if active.4 {
    (*(out.1 + int(simd_lane()))) = s.3
  }
}
)");
}

TEST_F(PredicateTest, ALoopContinuesWhileAnyThreadIsActive) {
  const Variable& k = b.local("k", integer());
  kernel.body = {b.declare(k, lane()),
                 b.loop(less(var(k), var(n)),
                        {b.if_(less(var(k), i(3)), {b.continue_()}), b.assign(at(out, lane()), sum(var(k))),
                         b.if_(less(i(9), var(k)), {b.break_()})},
                        {b.assign(var(k), b.binary(Operator::Add, var(k), i(1)))})};
  EXPECT_EQ(made(), R"(kernel "k" void k.1([[buffer(0)]] device int* out.1, [[value(1) const]] int n.2) {
  int k.3 = int(simd_lane())
  bool going.5 = true
  loop {
    going.5 = (going.5 && (k.3 < n.2))
    if (!group_any(going.5)) {
      break
    }
    bool active.6 = going.5
    {
      if active.6 {
        if (k.3 < 3) {
          active.6 = false
        }
      }
      int together.4 = simd_sum(k.3, active.6)
      if active.6 {
        (*(out.1 + int(simd_lane()))) = together.4
        if (9 < k.3) {
          active.6 = false
          going.5 = false
        }
      }
    }
    if going.5 {
      k.3 = (k.3 + 1)
    }
  }
}
)");
}

TEST_F(PredicateTest, ACalleeGetsTheActiveFlag) {
  Function& total = b.function("total", integer());
  const Variable& x = b.parameter(total, "x", integer());
  total.body = {b.if_(less(var(x), i(0)), {b.return_(i(0))}), b.return_(sum(var(x)))};
  module.functions = {&total, &kernel};
  kernel.body = {b.assign(at(out, lane()), b.call(total, {i(1)})),
                 b.if_(b.logical_and(less(lane(), i(4)), less(b.call(total, {at(out, lane())}), i(7))), {b.return_()})};
  const std::string text = made();
  ASSERT_EQ(module.functions.size(), 3U);
  EXPECT_EQ(print(*module.functions[0]), R"(int total.3(bool active.10, int x.8) {
  int result.11 = 0
  if active.10 {
    if (x.8 < 0) {
      result.11 = 0
      active.10 = false
    }
  }
  int together.9 = simd_sum(x.8, active.10)
  if active.10 {
    result.11 = together.9
  }
  return result.11
}
)");
  EXPECT_EQ(text, R"(kernel "k" void k.1([[buffer(0)]] device int* out.1, [[value(1) const]] int n.2) {
  int together.5 = total.2(1)
  (*(out.1 + int(simd_lane()))) = together.5
  bool decided.6 = (int(simd_lane()) < 4)
  bool active.14 = decided.6
  {
    int operand.15 = 0
    if active.14 {
      operand.15 = (*(out.1 + int(simd_lane())))
    }
    int together.7 = total.3(active.14, operand.15)
    if active.14 {
      decided.6 = (together.7 < 7)
    }
  }
  if decided.6 {
    return
  }
}
)");
}

TEST_F(PredicateTest, ASwitchIsPredicatedCaseByCase) {
  const Variable& s = b.local("s", integer());
  kernel.body = {
      b.switch_(lane(), {{{1, 2}, false, {b.declare(s, sum(i(1)))}},
                         {{}, true, {b.if_(less(var(n), i(3)), {b.break_()}), b.assign(at(out, i(0)), sum(i(2)))}}})};
  EXPECT_EQ(made(), R"(kernel "k" void k.1([[buffer(0)]] device int* out.1, [[value(1) const]] int n.2) {
  int first.5 = -1
  switch int(simd_lane()) {
  case 1: case 2:
    first.5 = 0
    break
  default:
    first.5 = 1
    break
  }
  bool active.6 = false
  active.6 = (active.6 || (first.5 == 0))
  {
    int s.3 = simd_sum(1, active.6)
  }
  active.6 = (active.6 || (first.5 == 1))
  {
    if active.6 {
      if (n.2 < 3) {
        active.6 = false
      }
    }
    int together.4 = simd_sum(2, active.6)
    if active.6 {
      (*(out.1 + 0)) = together.4
    }
  }
}
)");
}

TEST_F(PredicateTest, AReturnFromALoopWithoutCollectivesIsABreak) {
  const Variable &k = b.local("k", integer()), &s = b.local("s", integer());
  kernel.body = {
      b.declare(k, i(0)),
      b.loop(less(var(k), lane()), {b.if_(less(var(n), var(k)), {b.return_()}), b.assign(at(out, i(0)), i(1))}),
      b.declare(s, sum(i(1)))};
  EXPECT_EQ(made(), R"(kernel "k" void k.1([[buffer(0)]] device int* out.1, [[value(1) const]] int n.2) {
  int k.3 = 0
  bool active.5 = true
  if active.5 {
    loop (k.3 < int(simd_lane())) {
      if (n.2 < k.3) {
        active.5 = false
        break
      }
      (*(out.1 + 0)) = 1
    }
  }
  int s.4 = simd_sum(1, active.5)
}
)");
}

TEST_F(PredicateTest, CodeAfterAJumpIsSkipped) {
  const Variable& s = b.local("s", integer());
  kernel.body = {b.block({b.loop(less(lane(), i(5)), {b.if_(less(var(n), lane()), {b.return_()})}),
                          b.if_(less(lane(), i(2)), {b.return_()}), b.assign(at(out, i(0)), i(1))}),
                 b.declare(s, sum(i(1)))};
  EXPECT_EQ(made(), R"(kernel "k" void k.1([[buffer(0)]] device int* out.1, [[value(1) const]] int n.2) {
  bool active.4 = true
  if active.4 {
    do {
      {
        loop (int(simd_lane()) < 5) {
          if (n.2 < int(simd_lane())) {
            active.4 = false
            break
          }
        }
        if (!active.4) {
          break
        }
        if (int(simd_lane()) < 2) {
          active.4 = false
          break
        }
        (*(out.1 + 0)) = 1
      }
    } while false
  }
  int s.3 = simd_sum(1, active.4)
}
)");
}

TEST_F(PredicateTest, PointersToOwnMemoryAreNotCopied) {
  const Type* row = module.types.array(integer(), 4);
  Function& f = b.function("f", b.type(TypeKind::Void));
  const Variable& p = b.parameter(f, "p", module.types.pointer(integer(), Space::Thread));
  f.body = {b.assign(b.deref(var(p)), sum(b.deref(var(p))))};
  module.functions = {&f, &kernel};
  const Variable& a = b.local("a", row);
  const E pointer = b.address_of(b.index(var(a), at(out, lane())));
  kernel.body = {b.declare(a, b.zero(row)), b.if_(less(lane(), i(4)), {b.evaluate(b.call(f, {pointer}))})};
  const std::string text = made();
  EXPECT_NE(text.find("f.3(active.10, (&a.4[operand.11]))"), std::string::npos) << text;
}

TEST_F(PredicateTest, BarriersThatAllThreadsReachStay) {
  const E barrier = b.intrinsic(Intrinsic::GroupBarrier, {}, 2);
  kernel.body = {b.if_(less(var(n), i(1)), {b.return_()}), b.evaluate(barrier)};
  const std::string before = print(module);
  make_collectives_uniform(module);
  EXPECT_EQ(print(module), before);
}

TEST_F(PredicateTest, AllThreadsPassABarrierThatSomeReach) {
  const E barrier = b.intrinsic(Intrinsic::GroupBarrier, {}, 2);
  kernel.body = {b.if_(less(lane(), i(1)), {b.return_()}), b.evaluate(barrier)};
  EXPECT_EQ(made(), R"(kernel "k" void k.1([[buffer(0)]] device int* out.1, [[value(1) const]] int n.2) {
  bool active.3 = true
  if active.3 {
    if (int(simd_lane()) < 1) {
      active.3 = false
    }
  }
  group_barrier<2>()
}
)");
}

}  // namespace
}  // namespace kymo::shader::ir
