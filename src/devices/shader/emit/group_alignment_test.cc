#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/translate.h"

namespace kymo::shader {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string aligned_text(std::string_view use, Target target) {
  Options options;
  options.target = target;
  const Translation translation = translate(
      "kernel void f(device float4* x, threadgroup char* given [[threadgroup(0)]]) { threadgroup uchar own[64]; " +
          std::string(use) + " }",
      options);
  EXPECT_TRUE(translation.ok()) << translation.log;
  return translation.text;
}

// Bytes begin at any address, and a float4 does not.
TEST(GroupAlignmentTest, MemoryThatIsUsedAsWiderTypesIsAligned) {
  constexpr std::string_view kUse = "x[0] = *(threadgroup float4*)own + *(threadgroup float4*)given;";
  EXPECT_THAT(aligned_text(kUse, Target::Cuda), HasSubstr("__shared__ alignas(16) uchar own[64];"));
  const std::string opencl = aligned_text(kUse, Target::OpenCl);
  EXPECT_THAT(opencl, HasSubstr("__local __attribute__((aligned(16))) uchar own[64];"));
  EXPECT_THAT(opencl, HasSubstr("__local float4* given_in)"));
  EXPECT_THAT(opencl, HasSubstr("__local char* given = (__local char*)given_in;"));
}

TEST(GroupAlignmentTest, OtherMemoryIsAlignedWhereTheCompilerUsesIt) {
  constexpr std::string_view kUse = "own[1] = 2; x[0] = float(own[1]) + float(given[2]);";
  const std::string cuda = aligned_text(kUse, Target::Cuda), opencl = aligned_text(kUse, Target::OpenCl);
  EXPECT_THAT(cuda, HasSubstr("__shared__ alignas(16) uchar own[64];"));
  EXPECT_THAT(cuda, HasSubstr("(kymo_group_memory + (given_offset & ~15u));"));
  EXPECT_THAT(opencl, HasSubstr("__local uchar own[64];"));
  EXPECT_THAT(opencl, Not(HasSubstr("float4* given")));
}

// NVIDIA's compiler takes the lowest two bits of the address of a uint for 0.
TEST(GroupAlignmentTest, ArgumentsWhoseAddressIsReadArePassedAsBytes) {
  constexpr std::string_view kUse = "x[0].x = float(ulong(x) & 3);";
  const std::string opencl = aligned_text(kUse, Target::OpenCl);
  EXPECT_THAT(opencl, HasSubstr("(__global uchar* x_in, "));
  EXPECT_THAT(opencl, HasSubstr("__global float4* x = (__global float4*)x_in;"));
  EXPECT_THAT(aligned_text(kUse, Target::Cuda), HasSubstr("(kymo_float4* x, "));
  EXPECT_THAT(aligned_text("x[0] = x[1];", Target::OpenCl), HasSubstr("(__global float4* x, "));
}

}  // namespace
}  // namespace kymo::shader
