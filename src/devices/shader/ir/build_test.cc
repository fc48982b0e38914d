#include "shader/ir/build.h"

#include <gtest/gtest.h>

#include <limits>

#include "shader/test_support/print_ir.h"
#include "shader/test_support/test_builder.h"
#include "shader/test_support/verify_ir.h"

namespace kymo::shader::ir {
namespace {

class BuildTest : public ::testing::Test {
 protected:
  std::string text(const Expression* e) { return print(*e); }
  const Type* kind(TypeKind wanted) { return b.type(wanted); }

  Module module;
  TestBuilder b{module};
};

TEST_F(BuildTest, PrintShowsTheWholeModule) {
  const Type* real = kind(TypeKind::Float);
  Variable& table = b.program_constant(
      "table", b.construct(module.types.array(real, 2), {b.constant_float(1.5F), b.constant_float(-2)}));
  Function& twice = b.function("twice", real);
  Variable& x = b.parameter(twice, "x", real);
  twice.body = {b.return_(b.binary(Operator::Multiply, b.variable(x), b.constant_float(2)))};

  Function& kernel = b.kernel("scale");
  kernel.max_threads = 64;
  Variable& out = b.binding(kernel, "out", BindingKind::Buffer, module.types.pointer(real, Space::Device));
  Variable& factor = b.binding(kernel, "factor", BindingKind::Value, kind(TypeKind::Half));
  Variable& memory =
      b.binding(kernel, "memory", BindingKind::Threadgroup, module.types.pointer(real, Space::Threadgroup));
  Variable& i = b.local("i", kind(TypeKind::UInt));
  Variable& shared = module.make_variable("shared", module.types.array(real, 4), Space::Threadgroup);
  const Expression* position = b.index(b.intrinsic(Intrinsic::GridPosition), 0);
  const Expression* place = b.element(b.variable(out), b.variable(i));
  kernel.body = {
      b.declare(shared),
      b.declare(i, position),
      b.assign(b.index(b.variable(shared), b.variable(i)), b.convert(real, b.variable(factor))),
      b.evaluate(b.intrinsic(Intrinsic::GroupBarrier, {}, 2)),
      b.if_(b.binary(Operator::Less, b.variable(i), b.constant_uint(7)), {b.return_()},
            {b.assign(place, b.zero(real))}),
      b.loop(b.constant_bool(true), {b.break_()}, {b.assign(place, b.index(b.variable(table), 1))},
             {b.evaluate(b.call(twice, {place}))}),
      b.do_loop({b.continue_()}, b.constant_bool(false)),
      b.switch_(b.constant_int(3), {{{1, 2}, false, {b.break_()}}, {{}, true, {}}}),
      b.block({b.assign(b.deref(b.variable(memory)), place)}),
  };
  EXPECT_EQ(print(module), R"(constant float[2] table.1 = float[2]{1.5f, -2.0f}
float twice.1(float x.2) {
  return (x.2 * 2.0f)
}
kernel "scale" [[max_threads(64)]] void scale.2([[buffer(0)]] device float* out.3, [[value(1) const]] half factor.4, )"
                           R"([[threadgroup(0)]] threadgroup float* memory.5) {
  threadgroup float[4] shared.7
  uint i.6 = grid_position()[0]
  shared.7[i.6] = float(factor.4)
  group_barrier<2>()
  if (i.6 < 7u) {
    return
  } else {
    (*(out.3 + long(i.6))) = 0.0f
  }
  loop true {
    before {
      twice.1((*(out.3 + long(i.6))))
    }
    break
    step {
      (*(out.3 + long(i.6))) = table.1[1]
    }
  }
  do {
    continue
  } while false
  switch 3 {
  case 1: case 2:
    break
  default:
  }
  {
    (*memory.5) = (*(out.3 + long(i.6)))
  }
}
)");
  EXPECT_EQ(verify(module), "");
  EXPECT_EQ(module.kernels(), std::vector<Function*>{&kernel});
}

TEST_F(BuildTest, ConstantsPrintWithTheirType) {
  EXPECT_EQ(text(b.constant_int(-5)), "-5");
  EXPECT_EQ(text(b.constant_int(-5, TypeKind::Char)), "char(-5)");
  EXPECT_EQ(text(b.constant_uint(5, TypeKind::ULong)), "5ul");
  EXPECT_EQ(text(b.constant_float(2049, TypeKind::Half)), "2048.0h");
  EXPECT_EQ(text(b.constant_float(0.1F)), "0.1f");
  EXPECT_EQ(text(b.constant_float(std::numeric_limits<float>::infinity())), "bits<f>(0x7f800000)");
  EXPECT_EQ(text(b.null(module.types.pointer(kind(TypeKind::Int), Space::Device))), "null<device int*>()");
}

TEST_F(BuildTest, ConversionsOfConstantsAreEvaluated) {
  EXPECT_EQ(text(b.convert(kind(TypeKind::UChar), b.constant_int(257))), "uchar(1)");
  EXPECT_EQ(text(b.convert(kind(TypeKind::Half), b.constant_int(3))), "3.0h");
  EXPECT_EQ(text(b.convert(kind(TypeKind::Bool), b.constant_float(0.5F))), "true");
}

TEST_F(BuildTest, ConversionsOfHalfGoThroughFloat) {
  const Variable& small = b.local("h", kind(TypeKind::Half));
  EXPECT_EQ(text(b.convert(kind(TypeKind::Half), b.variable(small))), "h.1");
  EXPECT_EQ(text(b.convert(kind(TypeKind::Int), b.variable(small))), "int(float(h.1))");
  EXPECT_EQ(text(b.convert(kind(TypeKind::BFloat), b.variable(small))), "bfloat(float(h.1))");
  const Variable& packed = b.local("p", module.types.vector(kind(TypeKind::Half), 3, true));
  EXPECT_EQ(text(b.convert(b.vector(TypeKind::Int, 3), b.variable(packed))), "int3(float3(half3(p.2)))");
  const Variable& whole = b.local("v", b.vector(TypeKind::Int, 3));
  EXPECT_EQ(text(b.convert(packed.type, b.variable(whole))), "packed_half3(half3(float3(v.3)))");
}

TEST_F(BuildTest, AddressOfAndDereferenceCancel) {
  const Variable& array = b.local("a", module.types.array(kind(TypeKind::Int), 4));
  const Expression* decayed = b.decay(b.variable(array));
  EXPECT_EQ(text(b.element(decayed, b.constant_int(2))), "a.1[2]");
  EXPECT_EQ(text(b.deref(b.address_of(b.variable(array)))), "a.1");
  EXPECT_TRUE(array.address_taken);
  const Variable& pointer = b.local("p", module.types.pointer(kind(TypeKind::Int), Space::Device, true));
  EXPECT_EQ(text(b.address_of(b.deref(b.variable(pointer)))), "p.2");
  EXPECT_EQ(b.space_of(b.index(b.deref(b.variable(pointer)), 0)), Space::Device);
}

TEST_F(BuildTest, APlaceIsMemory) {
  Type* pair = module.types.make_struct("Pair", nullptr);
  module.types.complete(*pair, {{"v", b.vector(TypeKind::Float, 4)}});
  const Expression* whole = b.variable(b.local("s", pair));
  EXPECT_TRUE(is_place(*b.member(whole, "v")));
  EXPECT_TRUE(is_place(*b.swizzle(b.member(whole, 0), "xzy")));
  EXPECT_FALSE(is_place(*b.swizzle(b.member(whole, 0), "xx")));
  EXPECT_EQ(text(b.swizzle(b.member(whole, 0), "bgr")), "s.1.v.zyx");
  EXPECT_FALSE(is_place(*b.index(b.zero(b.vector(TypeKind::Float, 4)), 0)));
  EXPECT_EQ(&place_root(*b.swizzle(b.member(whole, 0), "xz")), whole);
}

TEST_F(BuildTest, IntrinsicsHaveTheirResultTypes) {
  const Expression* v = b.zero(b.vector(TypeKind::Float, 3));
  EXPECT_EQ(b.intrinsic(Intrinsic::Floor, {v})->type, v->type);
  EXPECT_EQ(b.intrinsic(Intrinsic::IsNan, {v})->type, b.vector(TypeKind::Bool, 3));
  EXPECT_EQ(b.intrinsic(Intrinsic::Any, {b.intrinsic(Intrinsic::IsNan, {v})})->type, kind(TypeKind::Bool));
  EXPECT_EQ(b.intrinsic(Intrinsic::SimdBallot, {b.constant_bool(true)})->type, kind(TypeKind::UInt));
  EXPECT_EQ(b.intrinsic(Intrinsic::SimdLane)->type, kind(TypeKind::UInt));
  EXPECT_EQ(b.intrinsic(Intrinsic::GroupCount)->type, b.vector(TypeKind::UInt, 3));
  const Type* atomic = module.types.pointer(module.types.atomic(kind(TypeKind::Int)), Space::Device);
  EXPECT_EQ(b.intrinsic(Intrinsic::AtomicAdd, {b.null(atomic), b.constant_int(1)})->type, kind(TypeKind::Int));
  EXPECT_EQ(b.intrinsic(Intrinsic::AtomicStore, {b.null(atomic), b.constant_int(1)})->type, kind(TypeKind::Void));
}

}  // namespace
}  // namespace kymo::shader::ir
