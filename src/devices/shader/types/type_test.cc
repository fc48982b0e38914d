#include "shader/types/type.h"

#include <gtest/gtest.h>

namespace kymo::shader {
namespace {

class TypeTest : public ::testing::Test {
 protected:
  const Type* scalar(TypeKind kind) { return types.get(kind); }
  const Type* vector(TypeKind kind, uint32_t count, bool packed = false) {
    return types.vector(types.get(kind), count, packed);
  }
  const Type* structure(std::vector<Field> fields, uint32_t at_least_align = 1) {
    Type* made = types.make_struct("S", nullptr);
    types.complete(*made, std::move(fields), at_least_align);
    return made;
  }

  TypeTable types;
};

TEST_F(TypeTest, AskingTwiceGivesTheSameType) {
  EXPECT_EQ(vector(TypeKind::Float, 3), vector(TypeKind::Float, 3));
  EXPECT_NE(vector(TypeKind::Float, 3), vector(TypeKind::Float, 3, true));
  EXPECT_NE(vector(TypeKind::Float, 3), vector(TypeKind::Half, 3));
  const Type* to = scalar(TypeKind::Int);
  EXPECT_EQ(types.pointer(to, Space::Device), types.pointer(to, Space::Device));
  EXPECT_NE(types.pointer(to, Space::Device), types.pointer(to, Space::Device, true));
  EXPECT_NE(types.pointer(to, Space::Device), types.reference(to, Space::Device));
  EXPECT_NE(types.make_struct("S", nullptr), types.make_struct("S", nullptr));
}

TEST_F(TypeTest, ScalarsHaveTheirNaturalSize) {
  const std::pair<TypeKind, uint64_t> sizes[] = {{TypeKind::Void, 0},   {TypeKind::Bool, 1},  {TypeKind::Char, 1},
                                                 {TypeKind::UShort, 2}, {TypeKind::Int, 4},   {TypeKind::ULong, 8},
                                                 {TypeKind::Half, 2},   {TypeKind::BFloat, 2}};
  for (const auto& [kind, size] : sizes) {
    EXPECT_EQ(scalar(kind)->size, size);
    EXPECT_EQ(scalar(kind)->align, std::max<uint64_t>(size, 1));
  }
}

TEST_F(TypeTest, AVectorOfThreeHasTheSizeOfFourUnlessPacked) {
  EXPECT_EQ(vector(TypeKind::Float, 3)->size, 16U);
  EXPECT_EQ(vector(TypeKind::Float, 3)->align, 16U);
  EXPECT_EQ(vector(TypeKind::Half, 2)->size, 4U);
  EXPECT_EQ(vector(TypeKind::Long, 4)->align, 32U);
  EXPECT_EQ(vector(TypeKind::Float, 3, true)->size, 12U);
  EXPECT_EQ(vector(TypeKind::Float, 3, true)->align, 4U);
  EXPECT_EQ(vector(TypeKind::Bool, 3)->size, 4U);
}

TEST_F(TypeTest, AtomicsAreAtLeastFourBytes) {
  EXPECT_EQ(types.atomic(scalar(TypeKind::Bool))->size, 4U);
  EXPECT_EQ(types.atomic(scalar(TypeKind::ULong))->size, 8U);
  EXPECT_EQ(types.atomic(scalar(TypeKind::Float))->align, 4U);
}

TEST_F(TypeTest, StructsAreLaidOutAsInC) {
  const Type* made = structure({{"a", scalar(TypeKind::Char)},
                                {"b", vector(TypeKind::Float, 3)},
                                {"c", scalar(TypeKind::Half)},
                                {"d", vector(TypeKind::Float, 3, true)},
                                {"e", types.pointer(scalar(TypeKind::Int), Space::Device)}});
  EXPECT_EQ(made->fields[1].offset, 16U);
  EXPECT_EQ(made->fields[2].offset, 32U);
  EXPECT_EQ(made->fields[3].offset, 36U);
  EXPECT_EQ(made->fields[4].offset, 48U);
  EXPECT_EQ(made->size, 64U);
  EXPECT_EQ(made->align, 16U);
}

TEST_F(TypeTest, AnEmptyStructHasOneByte) {
  EXPECT_EQ(structure({})->size, 1U);
  EXPECT_EQ(structure({}, 16)->size, 16U);
}

TEST_F(TypeTest, SizesOfHugeArraysDoNotOverflow) {
  const Type* type = scalar(TypeKind::ULong);
  for (int i = 0; i < 8; ++i) {
    const uint64_t before = type->size;
    type = types.array(type, 0xffffffff);
    EXPECT_GE(type->size, before);
  }
  EXPECT_GE(structure({{"a", type}, {"b", type}})->size, type->size);
}

TEST_F(TypeTest, NamesAreAsMetalSpellsThem) {
  const Type* real = scalar(TypeKind::Float);
  EXPECT_EQ(TypeTable::name(scalar(TypeKind::Void)), "void");
  EXPECT_EQ(TypeTable::name(vector(TypeKind::Half, 3)), "half3");
  EXPECT_EQ(TypeTable::name(vector(TypeKind::Float, 3, true)), "packed_float3");
  EXPECT_EQ(TypeTable::name(types.pointer(real, Space::Device, true)), "device const float*");
  EXPECT_EQ(TypeTable::name(types.reference(scalar(TypeKind::Int), Space::Thread)), "thread int&");
  EXPECT_EQ(TypeTable::name(types.array(real, 4)), "float[4]");
  EXPECT_EQ(TypeTable::name(types.array(types.array(real, 3), 2)), "float[2][3]");
  EXPECT_EQ(TypeTable::name(types.make_struct("S<int>", nullptr)), "S<int>");
  EXPECT_EQ(TypeTable::name(types.atomic(scalar(TypeKind::UInt))), "atomic<uint>");
  EXPECT_EQ(TypeTable::name(types.pointer(types.array(real, 4), Space::Threadgroup)), "threadgroup float (*)[4]");
  EXPECT_EQ(TypeTable::name(types.pointer(types.pointer(real, Space::Device), Space::Thread)), "device float* thread*");
  EXPECT_EQ(TypeTable::name(types.array(types.pointer(real, Space::Device), 2)), "device float*[2]");
}

TEST_F(TypeTest, WithScalarKeepsTheShape) {
  const Type* integer = scalar(TypeKind::Int);
  EXPECT_EQ(types.with_scalar(vector(TypeKind::Float, 4), integer), vector(TypeKind::Int, 4));
  EXPECT_EQ(types.with_scalar(vector(TypeKind::Float, 4, true), integer), vector(TypeKind::Int, 4));
  EXPECT_EQ(types.with_scalar(scalar(TypeKind::Float), integer), integer);
}

TEST_F(TypeTest, FitsChecksTheRangeOfTheType) {
  EXPECT_TRUE(fits(scalar(TypeKind::Char), -128, false));
  EXPECT_FALSE(fits(scalar(TypeKind::Char), 128, false));
  EXPECT_FALSE(fits(scalar(TypeKind::Char), -129, false));
  EXPECT_TRUE(fits(scalar(TypeKind::UInt), 0xffffffff, false));
  EXPECT_FALSE(fits(scalar(TypeKind::UInt), 0x100000000, false));
  EXPECT_FALSE(fits(scalar(TypeKind::ULong), -1, false));
  EXPECT_TRUE(fits(scalar(TypeKind::ULong), -1, true));
  EXPECT_FALSE(fits(scalar(TypeKind::Long), -1, true));
  EXPECT_TRUE(fits(scalar(TypeKind::Long), INT64_MIN, false));
  EXPECT_TRUE(fits(scalar(TypeKind::Bool), 1, false));
  EXPECT_FALSE(fits(scalar(TypeKind::Bool), 2, false));
}

}  // namespace
}  // namespace kymo::shader
