#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/translate.h"

namespace kymo::shader {
namespace {

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

TEST(TensorCoresTest, OnlyCudaAndOnlyIfItIsAsked) {
  const std::string with = translated(kHalves, Target::Cuda, true);
  EXPECT_THAT(with, HasSubstr("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"));
  EXPECT_THAT(with, Not(HasSubstr("kymo_simd_shuffle"))) << "lanes hold matrices in the order of the unit";
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
  EXPECT_THAT(text, HasSubstr("kymo_simd_shuffle"));
}

}  // namespace
}  // namespace kymo::shader
