#include "device/opencl/reflection.h"

#include <gmock/gmock.h>
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
  EXPECT_EQ(parameter_of("i", "image2d_t", false, false).count, 0u);
  EXPECT_EQ(parameter_of("s", "sampler_t", false, true).count, 0u);
  EXPECT_EQ(parameter_of("s", "struct S", false, true).count, 1u);
}

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SourceTextTest, KernelThatUsesOnlyItsGlobalIdDoesNotSeeGroups) {
  const Sees sees = look_into("kernel void f(global float* o) { o[get_global_id(0)] = 1; }", "");
  EXPECT_FALSE(sees.groups);
  EXPECT_FALSE(sees.launch_shape);
  EXPECT_FALSE(sees.launch_size);
}

TEST(SourceTextTest, WordsThatShowGroupsAreFound) {
  EXPECT_TRUE(look_into("get_local_id(0)", "").groups);
  EXPECT_TRUE(look_into("barrier(CLK_LOCAL_MEM_FENCE);", "").groups);
  EXPECT_TRUE(look_into("local float tile[64];", "").groups);
  EXPECT_TRUE(look_into("x = sub_group_reduce_add(x);", "").groups);
  EXPECT_FALSE(look_into("get_local_id(0)", "").launch_shape);
  EXPECT_TRUE(look_into("get_group_id(0)", "").launch_shape);
  EXPECT_FALSE(look_into("get_group_id(0)", "").launch_size);
  EXPECT_TRUE(look_into("__attribute__((reqd_work_group_size(8, 1, 1)))", "").launch_shape);
  EXPECT_TRUE(look_into("get_num_groups(0)", "").launch_size);
  EXPECT_TRUE(look_into("get_num_groups(0)", "").groups);
}

TEST(SourceTextTest, AWordInsideAnotherIsNotFound) {
  EXPECT_FALSE(look_into("int locality, my_get_group_id, get_num_groups_2;", "").groups);
}

TEST(SourceTextTest, IncludesAndMacroOptionsMaySeeEverything) {
  EXPECT_TRUE(look_into("#include \"a.h\"\n", "").launch_size);
  EXPECT_TRUE(look_into("kernel void f() { SIZE; }", "-DSIZE=get_global_size(0)").launch_size);
}

TEST(SourceTextTest, LinesBeginAtOneInTheUsersFile) {
  EXPECT_THAT(preamble("my \"file\".cl", ""), EndsWith("\n#line 1 \"my \\\"file\\\".cl\"\n"));
  EXPECT_THAT(piece_preamble("a.cl", "", {64, 1, 1}, {3, 0, 0}), EndsWith("\n#line 1 \"a.cl\"\n"));
}

TEST(SourceTextTest, AFileNameCannotEndTheLineDirective) {
  EXPECT_THAT(preamble("a\nkernel", ""), EndsWith("#line 1 \"akernel\"\n"));
}

TEST(SourceTextTest, ContractionIsOffUnlessSpeedIsRequested) {
  EXPECT_THAT(preamble("a", ""), HasSubstr("FP_CONTRACT OFF"));
  EXPECT_THAT(preamble("a", "-cl-mad-enable"), Not(HasSubstr("FP_CONTRACT")));
  EXPECT_THAT(preamble("a", "-cl-fast-relaxed-math"), Not(HasSubstr("FP_CONTRACT")));
}

TEST(SourceTextTest, NewestLanguageIsUsedUnlessOneIsNamed) {
  const std::vector<std::string> none, some = {"-DN=4"}, named = {"-cl-std=CL1.2"};
  EXPECT_THAT(all_options(none, "CL3.0"), HasSubstr("-cl-std=CL3.0"));
  EXPECT_THAT(all_options(some, "CL3.0"), HasSubstr("-DN=4"));
  EXPECT_THAT(all_options(named, "CL3.0"), Not(HasSubstr("CL3.0")));
  EXPECT_THAT(all_options(none, ""), Not(HasSubstr("-cl-std")));
}

TEST(SourceTextTest, PartialGroupsNeedOpenClC2OrLater) {
  EXPECT_TRUE(allows_partial_groups("-cl-std=CL3.0"));
  EXPECT_TRUE(allows_partial_groups("-cl-std=CL2.0 -DX"));
  EXPECT_FALSE(allows_partial_groups("-cl-std=CL1.2"));
  EXPECT_FALSE(allows_partial_groups(""));
  EXPECT_FALSE(allows_partial_groups("-cl-std=CL2.0 -cl-uniform-work-group-size"));
}

}  // namespace
}  // namespace kymo::device::opencl
