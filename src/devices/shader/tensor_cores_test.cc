#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/translate.h"

namespace kymo::shader {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string translated(std::string_view kernel, Target target, bool tensor_cores) {
  Options options;
  options.target = target;
  options.tensor_cores = tensor_cores;
  const Translation translation =
      translate("#include <metal_stdlib>\nusing namespace metal;\n" + std::string(kernel), options);
  EXPECT_TRUE(translation.ok()) << translation.log;
  return translation.text;
}

constexpr std::string_view kHalves = R"(kernel void f(device half* x) {
  simdgroup_half8x8 m;
  simdgroup_load(m, x);
  simdgroup_float8x8 sum(0.0f);
  simdgroup_multiply_accumulate(sum, m, m, sum);
  simdgroup_store(m, x);
})";

constexpr const char* kOtherOrder = "matrix_lane(lane >> 2";  // from Apple's to that of the unit

TEST(SimdgroupMatrixTest, TheTranslationSaysWhichKernelsHaveMatrices) {
  const Translation translation = translate(R"(#include <metal_stdlib>
using namespace metal;
struct Tile { simdgroup_float8x8 parts[2]; };
void zero(device float* x) { simdgroup_store(simdgroup_float8x8(0), x); }
kernel void own(device float* x) { simdgroup_half8x8 m; m = simdgroup_half8x8(1); x[0] = m.thread_elements()[0]; }
kernel void in_a_structure(device float* x) { Tile t; simdgroup_load(t.parts[1], x); simdgroup_store(t.parts[1], x); }
kernel void in_a_function(device float* x) { zero(x); }
kernel void none(device float* x) { x[0] = simd_sum(x[0]); })");
  ASSERT_TRUE(translation.ok()) << translation.log;
  std::vector<std::string> with;
  for (const Kernel& kernel : translation.kernels)
    if (kernel.uses_simdgroup_matrices) with.push_back(kernel.name);
  EXPECT_THAT(with, ElementsAre("own", "in_a_structure", "in_a_function"));
}

TEST(TensorCoresTest, OnlyCudaAndOnlyIfItIsAsked) {
  const std::string with = translated(kHalves, Target::Cuda, true);
  EXPECT_THAT(with, HasSubstr("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"));
  EXPECT_THAT(with, Not(HasSubstr(kOtherOrder))) << "lanes hold matrices in the order of the unit";
  EXPECT_THAT(translated(kHalves, Target::Cuda, false), Not(HasSubstr("mma.sync")));
  for (const Target target : {Target::OpenCl, Target::Glsl})
    EXPECT_EQ(translated(kHalves, target, true), translated(kHalves, target, false));
}

TEST(TensorCoresTest, TypesThatLoseBitsAreMultipliedByLanes) {
  std::string floats(kHalves);
  for (size_t at = floats.find("half"); at != std::string::npos; at = floats.find("half"))
    floats.replace(at, 4, "float");
  EXPECT_THAT(translated(floats, Target::Cuda, true), Not(HasSubstr("mma.sync")));
}

TEST(TensorCoresTest, CodeThatSeesTheLanesGetsTheirUsualOrder) {
  const std::string seen =
      std::string(kHalves) +
      "\nkernel void g(device half* x) { simdgroup_half8x8 m(1.0h); x[0] = m.thread_elements()[0]; }";
  const std::string text = translated(seen, Target::Cuda, true);
  EXPECT_THAT(text, HasSubstr("mma.sync"));
  EXPECT_THAT(text, HasSubstr(kOtherOrder));
}

// A thread then need not ask the others for the row and the columns of each product.
TEST(TensorCoresTest, OnCudaThreadsHoldWhatProductsNeed) {
  const std::string text = translated(kHalves, Target::Cuda, false);
  EXPECT_THAT(text, HasSubstr("fmaf(kymo_float2(a.matrix_held.row.v[k]), b.matrix_held.columns.v[k], sum)"));
  // Elements that a source changes would not be in the row and the columns.
  const std::string changed =
      std::string(kHalves) +
      "\nkernel void g(device half* x) { simdgroup_half8x8 m(1.0h); m.thread_elements()[0] = 2.0h; x[0] = 1.0h; }";
  EXPECT_THAT(translated(changed, Target::Cuda, false), Not(HasSubstr("matrix_held.row")));
  EXPECT_THAT(translated(kHalves, Target::OpenCl, false), Not(HasSubstr("matrix_held.row")));
}

}  // namespace
}  // namespace kymo::shader
