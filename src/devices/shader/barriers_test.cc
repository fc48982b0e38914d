// Where the emitted text has barriers.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/translate.h"

namespace kymo::shader {
namespace {

std::string barriers_source(std::string_view body) {
  return "#include <metal_stdlib>\nusing namespace metal;\n"
         "kernel void f(device int* out, constant int& n, uint t [[thread_position_in_threadgroup]]) {\n" +
         std::string(body) + "}\n";
}

int count_in(Target target, std::string_view text, std::string_view body) {
  Options options;
  options.target = target;
  const Translation made = translate(barriers_source(body), options);
  EXPECT_EQ(made.first_error(), nullptr);
  int count = 0;
  for (size_t at = made.text.find(text); at != std::string::npos; at = made.text.find(text, at + 1)) ++count;
  return count;
}

constexpr std::string_view kBarrier = "threadgroup_barrier(mem_flags::mem_threadgroup);";

// What is around the barriers of the OpenCL text, from outside to inside: "loop if" is a barrier in an if in a loop.
std::string opencl_around_barriers(std::string_view body) {
  Options options;
  options.target = Target::OpenCl;
  std::istringstream text(translate(barriers_source(body), options).text);
  std::vector<std::string> open;
  std::string found;
  for (std::string line; std::getline(text, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (line.starts_with('}') && !open.empty()) open.pop_back();
    if (line.starts_with("barrier(CLK")) {
      found += '[';
      for (const std::string& one : open) found += one;
      found += ']';
    }
    if (!line.ends_with('{')) continue;
    const bool is_loop = line.starts_with("for") || line.starts_with("while") || line.starts_with("do");
    const bool is_branch = line.starts_with("if") || line.starts_with("} else") || line.starts_with("switch");
    open.emplace_back(is_loop ? "loop" : is_branch ? "branch" : "");
  }
  return found;
}

TEST(BarriersTest, NoBranchHasOneInOpenCl) {
  const std::string barrier(kBarrier);
  EXPECT_EQ(opencl_around_barriers("if (n > 5) out[t] = 1; else { " + barrier + " out[t] = 2; }"), "[]");
  EXPECT_EQ(opencl_around_barriers("if (n > 5) { " + barrier + " }"), "[]");
  EXPECT_EQ(opencl_around_barriers("switch (n) { case 1: " + barrier + " default: out[t] = 2; }"), "[]");
  EXPECT_EQ(opencl_around_barriers("if (n > 5) { out[t] = 1; return; } " + barrier + " out[t] = 2;"), "[]");
  EXPECT_EQ(opencl_around_barriers("if (n > 5) for (int i = 0; i < n; ++i) { " + barrier + " out[t] = i; }"), "[loop]");
  EXPECT_EQ(opencl_around_barriers("for (int i = 0; i < n; ++i) { if (i == 3) break; " + barrier + " }"), "[loop]");
  EXPECT_EQ(opencl_around_barriers("for (int i = 0; i < n; ++i) { if (i == 3) { " + barrier + " } }"), "[loop]");
  EXPECT_EQ(count_in(Target::Cuda, "__syncthreads()", "if (n > 5) { " + barrier + " out[t] = 2; }"), 1);
}

TEST(BarriersTest, ATextWithoutBarriersInBranchesIsUnchanged) {
  const std::string barrier(kBarrier);
  const auto has_flags = [&](const std::string& body) { return count_in(Target::OpenCl, "bool ", body) != 0; };
  EXPECT_FALSE(has_flags("if (n > 5) { out[t] = 1; return; } out[t] = 2;"));
  EXPECT_FALSE(has_flags(barrier + " if (n > 5) { out[t] = 1; return; } out[t] = 2;"));
  EXPECT_FALSE(has_flags("for (int i = 0; i < n; ++i) { " + barrier + " if (i == 3) out[t] = i; }"));
  EXPECT_FALSE(has_flags("for (int i = 0; i < n; ++i) { for (;;) if (out[t] == i) break; " + barrier + " }"));
  EXPECT_TRUE(has_flags("for (int i = 0; i < n; ++i) { if (i == 3) break; " + barrier + " }"));
}

// No thread asks the others in a loop that all of them execute equally often.
TEST(BarriersTest, LoopsOfAllThreadsNeedNoVoteInOpenCl) {
  const std::string barrier(kBarrier);
  const auto votes = [](const std::string& body) { return count_in(Target::OpenCl, "kymo_group_any(&", body); };
  EXPECT_EQ(votes("if (n > 5) for (int i = 0; i < n; ++i) { " + barrier + " out[t] = i; }"), 0);
  EXPECT_EQ(votes("for (int i = 0; i < n; ++i) { if (i == 3) break; " + barrier + " }"), 0);
  EXPECT_EQ(votes("if (int(t) > n) for (int i = 0; i < n; ++i) { " + barrier + " }"), 1);
}

}  // namespace
}  // namespace kymo::shader
