// Where the emitted text has barriers.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "kymo/translate.h"

namespace kymo::shader {
namespace {

int count_in(Target target, std::string_view barrier, std::string_view body) {
  Options options;
  options.target = target;
  const std::string source =
      "#include <metal_stdlib>\nusing namespace metal;\n"
      "kernel void f(device int* out, constant int& n, uint t [[thread_position_in_threadgroup]]) {\n" +
      std::string(body) + "}\n";
  const Translation made = translate(source, options);
  EXPECT_EQ(made.first_error(), nullptr);
  int count = 0;
  for (size_t at = made.text.find(barrier); at != std::string::npos; at = made.text.find(barrier, at + 1)) ++count;
  return count;
}

int opencl_barriers(std::string_view body) { return count_in(Target::OpenCl, "barrier(CLK", body); }

constexpr std::string_view kBarrier = "threadgroup_barrier(mem_flags::mem_threadgroup);";

TEST(BarriersTest, BothWaysOfABranchHaveThemInOpenCl) {
  const std::string barrier(kBarrier);
  EXPECT_EQ(opencl_barriers("if (n > 5) out[t] = 1; else { " + barrier + " out[t] = 2; }"), 2);
  EXPECT_EQ(opencl_barriers("if (n > 5) { " + barrier + " out[t] = 2; }"), 2);
  EXPECT_EQ(opencl_barriers("if (n > 5) { out[t] = 1; return; } " + barrier + " out[t] = 2;"), 2);
  EXPECT_EQ(count_in(Target::Cuda, "__syncthreads()", "if (n > 5) { " + barrier + " out[t] = 2; }"), 1);
}

TEST(BarriersTest, NoneIsAddedWhereNoneIsMissing) {
  const std::string barrier(kBarrier);
  EXPECT_EQ(opencl_barriers("if (n > 5) { out[t] = 1; return; } out[t] = 2;"), 0);
  EXPECT_EQ(opencl_barriers(barrier + " if (n > 5) { out[t] = 1; return; } out[t] = 2;"), 1);
  EXPECT_EQ(opencl_barriers("for (int i = 0; i < n; ++i) { " + barrier + " out[t] = i; }"), 1);
  EXPECT_EQ(opencl_barriers("if (n > 5) { " + barrier + " } else { " + barrier + " }"), 2);
}

}  // namespace
}  // namespace kymo::shader
