// Simdgroups in the OpenCL text: what PoCL compiles for each group size must be little.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "kymo/translate.h"

namespace kymo::shader {
namespace {

std::string opencl(std::string_view source) {
  Options options;
  options.target = Target::OpenCl;
  const Translation made =
      translate("#include <metal_stdlib>\nusing namespace metal;\n" + std::string(source), options);
  EXPECT_TRUE(made.ok()) << made.log;
  return made.text;
}

int count_of(std::string_view what, std::string_view text) {
  int count = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(OpenClSimdTest, AProductOfMatricesIsOneOperation) {
  const std::string text = opencl(R"(
kernel void products(device float* out, device const half* in) {
  simdgroup_half8x8 a, b;
  simdgroup_float8x8 c = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  simdgroup_load(a, in);
  simdgroup_load(b, in + 64);
  simdgroup_multiply_accumulate(c, a, b, c);
  simdgroup_multiply_accumulate(c, b, c, c);
  simdgroup_store(c, out);
})");
  EXPECT_EQ(count_of("kymo_simd_matrix(kymo_simd, ", text) + count_of("kymo_simd_matrix(&kymo_simd, ", text), 2)
      << text;
  EXPECT_EQ(count_of("shuffle", text), 0) << text;
  EXPECT_LT(text.find("#define KYMO_MATRIX_MEMORY"), text.find("} kymo_simd_memory;"));
}

TEST(OpenClSimdTest, MatricesTakeMemoryOnlyWhereTheyAreUsed) {
  const std::string text =
      opencl("kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i] = simd_sum(x[i]); }");
  EXPECT_EQ(count_of("#define KYMO_MATRIX_MEMORY", text), 0);
}

TEST(OpenClSimdTest, ABallotIsAReduction) {
  const std::string text = opencl(R"(
kernel void f(device uint* x, uint i [[thread_position_in_grid]]) {
  if (simd_any(x[i] > 5u)) x[i] = simd_or(x[i]);
})");
  EXPECT_EQ(count_of("void kymo_simd_combine_or_uint(", text), 1) << text;
}

// PoCL must be able to inline them into the kernel, and must not inline the kernel.
TEST(OpenClSimdTest, FunctionsWithSimdgroupOperationsAreMarked) {
  const std::string text = opencl(R"(
float plain(float x) { return x * 2.0f; }
float inner(float x) { return simd_sum(plain(x)); }
float outer(float x) { return inner(x) + 1.0f; }
kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i] = outer(x[i]); })");
  EXPECT_EQ(count_of("KYMO_TOGETHER float inner(", text), 1) << text;
  EXPECT_EQ(count_of("KYMO_TOGETHER float outer(", text), 1) << text;
  EXPECT_EQ(count_of("\nfloat plain(", text), 1) << text;
}

}  // namespace
}  // namespace kymo::shader
