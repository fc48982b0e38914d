#include "device/opencl/types.h"

#include <gtest/gtest.h>

namespace kymo::device::opencl {
namespace {

TEST(OpenClTypesTest, ScalarsAndVectorsAreNumbers) {
  EXPECT_EQ(number_type("float"), (NumberType{DType::F32, 1}));
  EXPECT_EQ(number_type("unsigned int"), (NumberType{DType::U32, 1}));
  EXPECT_EQ(number_type("uchar16"), (NumberType{DType::U8, 16}));
  EXPECT_EQ(number_type("const long2"), (NumberType{DType::I64, 2}));
  EXPECT_EQ(number_type("half"), (NumberType{DType::F16, 1}));
}

TEST(OpenClTypesTest, VectorOfThreeTakesTheSpaceOfFour) {
  EXPECT_EQ(number_type("float3")->bytes(), 16u);
  EXPECT_EQ(number_type("short3")->bytes(), 8u);
  EXPECT_EQ(number_type("double2")->bytes(), 16u);
}

TEST(OpenClTypesTest, OtherNamesAreNotNumbers) {
  for (const char* name : {"", "float5", "float32", "index_t", "struct S", "int4x4", "float*", "image2d_t"})
    EXPECT_FALSE(number_type(name).has_value()) << name;
}

TEST(OpenClTypesTest, NamesAreConvertedBothWays) {
  for (const char* name :
       {"char", "uchar3", "short", "ushort8", "int2", "uint", "long", "ulong16", "half4", "float", "double"})
    EXPECT_EQ(name_of(*number_type(name)), name);
}

TEST(OpenClTypesTest, PointersAreBuffersOrGroupMemory) {
  const Parameter buffer = parameter_of("o", "float4*", false, false);
  EXPECT_EQ(buffer.kind, ParameterKind::Buffer);
  EXPECT_EQ(buffer.type, DType::F32);
  EXPECT_EQ(parameter_of("l", "uint*", true, false).kind, ParameterKind::Local);
  EXPECT_EQ(parameter_of("s", "struct S*", false, false).type, std::nullopt);
  EXPECT_EQ(parameter_of("p", "const __global int *restrict", false, false).type, DType::I32);
  EXPECT_EQ(parameter_of("p", "uint*;8", false, false).type, DType::U32);
}

TEST(OpenClTypesTest, ValuesHaveTheirSize) {
  const Parameter value = parameter_of("v", "float3", false, true);
  EXPECT_EQ(value.kind, ParameterKind::Value);
  EXPECT_EQ(value.count, 3u);
  EXPECT_EQ(value.bytes, 16u);
}

TEST(OpenClTypesTest, ImagesAndSamplersCannotBePassedAsBytes) {
  EXPECT_EQ(parameter_of("i", "image2d_t", false, false).kind, ParameterKind::Unknown);
  EXPECT_EQ(parameter_of("s", "sampler_t", false, true).kind, ParameterKind::Unknown);
  EXPECT_FALSE(may_be_bytes("image2d_t"));
  EXPECT_FALSE(may_be_bytes("sampler_t"));
  EXPECT_FALSE(may_be_bytes(""));
  EXPECT_TRUE(may_be_bytes("struct S"));
}

}  // namespace
}  // namespace kymo::device::opencl
