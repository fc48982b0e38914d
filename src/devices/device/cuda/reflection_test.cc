#include "device/cuda/reflection.h"

#include <gtest/gtest.h>

namespace kymo::device::cuda {
namespace {

PtxProgram ptx(const std::string& entries) {
  return prepare_ptx(".version 8.0\n.target sm_90\n.address_size 64\n" + entries);
}

TEST(ReflectionTest, ExternCKernelGetsTypesAndNamesFromTheSource) {
  const auto kernels =
      reflect(ptx(".entry f(.param .u64 a, .param .u32 b, .param .u64 c, .param .align 2 .b8 d[2],"
                  " .param .align 16 .b8 e[16]) { ret; }"),
              "extern \"C\" __global__ void f(const __half* x, unsigned n, size_t k, half h, float4 v) {}");
  ASSERT_EQ(kernels.size(), 1u);
  const auto& p = kernels[0].parameters;
  ASSERT_EQ(p.size(), 5u);
  EXPECT_EQ(p[0].kind, ParameterKind::Buffer);
  EXPECT_EQ(p[0].type, DType::F16);
  EXPECT_EQ(p[0].name, "x");
  EXPECT_EQ(p[1].kind, ParameterKind::Value);
  EXPECT_EQ(p[1].type, DType::U32);
  EXPECT_EQ(p[2].kind, ParameterKind::Value) << "as long as a pointer, but none";
  EXPECT_EQ(p[2].type, DType::U64);
  EXPECT_EQ(p[3].type, DType::F16);
  EXPECT_EQ(p[4].type, DType::F32);
  EXPECT_EQ(p[4].count, 4u);
  EXPECT_EQ(p[4].bytes, 16u);
}

TEST(ReflectionTest, PtxHasPriorityIfTheSourceDisagrees) {
  const PtxProgram program = ptx(".entry f(.param .u64 a, .param .f32 b) { ret; }");
  const auto more = reflect(program, "__global__ void f(float* a, float b, float c) {}");
  EXPECT_EQ(more[0].parameters.size(), 2u);
  EXPECT_EQ(more[0].parameters[0].name, "");
  EXPECT_EQ(more[0].parameters[0].kind, ParameterKind::Word) << "8 bytes, and nothing says whether they are an address";
  EXPECT_EQ(more[0].parameters[1].type, DType::F32);
  const auto wider = reflect(ptx(".entry f(.param .align 8 .b8 a[24]) { ret; }"), "__global__ void f(float4 a) {}");
  EXPECT_EQ(wider[0].parameters[0].kind, ParameterKind::Unknown);
  EXPECT_EQ(wider[0].parameters[0].bytes, 24u);
  EXPECT_EQ(wider[0].parameters[0].name, "a");
}

TEST(ReflectionTest, ParametersWithoutAMarkAreNotPointersIfOthersAreMarked) {
  const auto marked = reflect(ptx(".entry f(.param .u64 .ptr .align 1 a, .param .u64 b) { ret; }"), "");
  EXPECT_EQ(marked[0].parameters[0].kind, ParameterKind::Buffer);
  EXPECT_EQ(marked[0].parameters[1].kind, ParameterKind::Value);
  EXPECT_EQ(marked[0].parameters[1].type, DType::U64);
}

TEST(ReflectionTest, UndeclaredIntegersAreSignedAndHandwrittenPtxIsTakenAsWritten) {
  const PtxProgram program = ptx(".entry f(.param .u32 a, .param .s16 b) { ret; }");
  EXPECT_EQ(reflect(program, "MACRO(f)")[0].parameters[0].type, DType::I32);
  EXPECT_EQ(reflect(program, "")[0].parameters[0].type, DType::U32);
  EXPECT_EQ(reflect(program, "")[0].parameters[1].type, DType::I16);
}

TEST(ReflectionTest, MangledKernelsHavePlainNamesAndOverloadsShowTheirTypes) {
  const auto kernels = reflect(ptx(".entry _Z4overPf(.param .u64 a) { ret; } .entry _Z4overPi(.param .u64 a) { ret; }"
                                   ".entry _ZN4math5scaleIdEEvPT_S1_(.param .u64 a, .param .f64 b) { ret; }"),
                               "namespace math { template <class T> __global__ void scale(T* data, T by) {} }\n"
                               "template __global__ void math::scale<double>(double*, double);");
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].name, "over(float*)");
  EXPECT_EQ(kernels[1].name, "over(int*)");
  EXPECT_EQ(kernels[1].parameters[0].type, DType::I32);
  EXPECT_EQ(kernels[2].name, "math::scale<double>");
  EXPECT_EQ(kernels[2].parameters[0].name, "data");
  EXPECT_EQ(kernels[2].parameters[1].type, DType::F64);
}

TEST(ReflectionTest, EnumerationOfEightBytesIsNotAPointer) {
  const auto kernels = reflect(ptx(".entry _Z1f4Mode(.param .u64 a) { ret; }"), "");
  EXPECT_EQ(kernels[0].parameters[0].kind, ParameterKind::Value);
}

TEST(ReflectionTest, DynamicSharedMemoryIsTheLastParameter) {
  const auto kernels = reflect(
      ptx(".extern .shared .align 16 .b8 s[]; .entry f(.param .u32 a) .reqntid 64 { mov.u64 %r, s; ret; }"), "");
  ASSERT_EQ(kernels[0].parameters.size(), 2u);
  EXPECT_EQ(kernels[0].parameters[1].kind, ParameterKind::Local);
  EXPECT_EQ(kernels[0].required_group, (Extent{64, 1, 1}));
}

}  // namespace
}  // namespace kymo::device::cuda
