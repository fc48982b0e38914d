#include "shader/emit/reflect.h"

#include <gtest/gtest.h>

#include "shader/emit/test_modules.h"
#include "shader/test_support/test_builder.h"

namespace kymo::shader {
namespace {

KernelParameter reflected(ir::Module& module, const Type* value) {
  ir::TestBuilder b(module);
  ir::Function& kernel = b.kernel("k");
  b.binding(kernel, "x", ir::BindingKind::Value, value);
  return reflect(module, kernel).parameters[0];
}

TEST(ReflectTest, AValueIsPassedAfterItsAddress) {
  ir::Module module;
  const Type* f = module.types.get(TypeKind::Float);
  const KernelParameter scalar = reflected(module, f);
  EXPECT_EQ(scalar.type, "constant float&");
  EXPECT_EQ(scalar.kind, KernelParameter::Kind::Value);
  EXPECT_EQ(scalar.passing, Passing::Inline);
  EXPECT_EQ(scalar.scalar, Scalar::Float);
  EXPECT_EQ(scalar.bytes, 4u);
  EXPECT_EQ(scalar.value_offset, 8u);
  EXPECT_EQ(scalar.inline_bytes, 16u);
  EXPECT_TRUE(scalar.is_const);
  const KernelParameter three = reflected(module, module.types.vector(f, 3));
  EXPECT_EQ(three.count, 3u);
  EXPECT_EQ(three.bytes, 16u);
  EXPECT_EQ(three.value_offset, 16u);
  EXPECT_EQ(three.inline_bytes, 32u);
}

TEST(ReflectTest, ARowOfOneKindOfNumberIsCounted) {
  ir::Module module;
  const Type* f = module.types.get(TypeKind::Float);
  const KernelParameter rows = reflected(module, module.types.array(module.types.array(f, 3), 2));
  EXPECT_EQ(rows.scalar, Scalar::Float);
  EXPECT_EQ(rows.count, 6u);
  Type* wrapper = module.types.make_struct("array<float, 5>", nullptr);
  module.types.complete(*wrapper, {{"__v", module.types.array(f, 5), 0}});
  const KernelParameter wrapped = reflected(module, wrapper);
  EXPECT_EQ(wrapped.scalar, Scalar::Float);
  EXPECT_EQ(wrapped.count, 5u);
}

TEST(ReflectTest, VectorsOfThreeAreARowWithTheirGaps) {
  ir::Module module;
  const Type* columns = module.types.array(module.types.vector(module.types.get(TypeKind::Float), 3), 3);
  Type* matrix = module.types.make_struct("matrix<float, 3, 3>", nullptr);
  module.types.complete(*matrix, {{"c", columns, 0}});
  for (const Type* type : {columns, static_cast<const Type*>(matrix)}) {
    const KernelParameter nine = reflected(module, type);
    EXPECT_EQ(nine.scalar, Scalar::Float);
    EXPECT_EQ(nine.count, 9u);
    EXPECT_EQ(nine.bytes, 48u);
  }
}

TEST(ReflectTest, GapsAndMixedNumbersAreNotARow) {
  ir::Module module;
  const Type* f = module.types.get(TypeKind::Float);
  Type* gap = module.types.make_struct("Gap", nullptr);
  module.types.complete(*gap, {{"a", module.types.vector(f, 3), 0}, {"b", module.types.vector(f, 2), 0}});
  EXPECT_EQ(reflected(module, gap).scalar, Scalar::None);
  Type* mixed = module.types.make_struct("Mixed", nullptr);
  module.types.complete(*mixed, {{"a", f, 0}, {"b", module.types.get(TypeKind::Int), 0}});
  EXPECT_EQ(reflected(module, mixed).scalar, Scalar::None);
  EXPECT_FALSE(reflected(module, mixed).is_addresses);
}

TEST(ReflectTest, AStructureOfPointersIsAddresses) {
  ir::Module module;
  const Type* pointer = module.types.pointer(module.types.get(TypeKind::Float), Space::Device);
  Type* made = module.types.make_struct("Arguments", nullptr);
  module.types.complete(*made, {{"first", pointer, 0}, {"rest", module.types.array(pointer, 63), 0}});
  const KernelParameter parameter = reflected(module, made);
  EXPECT_TRUE(parameter.is_addresses);
  EXPECT_EQ(parameter.count, 64u);
  EXPECT_EQ(parameter.bytes, 512u);
  EXPECT_EQ(parameter.scalar, Scalar::None);
}

TEST(ReflectTest, GroupMemoryAndSimdgroupsIncludeCalledFunctions) {
  ir::Module matrix, simdgroups;
  test::matrix(matrix);
  test::simdgroups(simdgroups);
  const Kernel tiles = reflect(matrix, *matrix.kernels()[0]);
  EXPECT_EQ(tiles.group_memory, 512u);
  EXPECT_FALSE(tiles.uses_simdgroups);
  EXPECT_EQ(tiles.parameters[0].type, "constant float*");
  EXPECT_EQ(tiles.parameters[2].type, "device float*");
  EXPECT_TRUE(reflect(simdgroups, *simdgroups.kernels()[0]).uses_simdgroups);
}

TEST(ReflectTest, AKernelIsCalledByItsHostName) {
  ir::Module module;
  test::names(module);
  module.kernels()[0]->max_threads = 128;
  const Kernel kernel = reflect(module, *module.kernels()[0]);
  EXPECT_EQ(kernel.name, "my kernel<float>");
  EXPECT_EQ(kernel.symbol, "my_kernel_float");
  EXPECT_EQ(kernel.max_threads, 128u);
}

TEST(ReflectTest, GroupMemoryOfTheCallerHasAnElementType) {
  ir::Module module;
  test::positions(module);
  const KernelParameter scratch = reflect(module, *module.kernels()[0]).parameters[1];
  EXPECT_EQ(scratch.kind, KernelParameter::Kind::Threadgroup);
  EXPECT_EQ(scratch.passing, Passing::Group);
  EXPECT_EQ(scratch.type, "threadgroup uint*");
  EXPECT_EQ(scratch.scalar, Scalar::UInt);
  EXPECT_EQ(scratch.bytes, 4u);
}

}  // namespace
}  // namespace kymo::shader
