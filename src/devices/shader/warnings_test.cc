#include <gtest/gtest.h>

#include <string>

#include "kymo/translate.h"

namespace kymo::shader {
namespace {

// "line: text" of each warning.
std::string warnings_of(std::string_view source) {
  const Translation translation = translate(source);
  EXPECT_TRUE(translation.ok()) << translation.log;
  std::string all;
  for (const Diagnostic& each : translation.diagnostics)
    if (each.severity == Severity::Warning) all += std::to_string(each.line) + ": " + each.text + "\n";
  return all;
}

const std::string kBarrier =
    ": some threads of the group may not reach this barrier: move it out of the branch or loop whose condition differs "
    "between threads, and return only after it\n";

TEST(WarningsTest, ABarrierThatSomeThreadsMayNotReach) {
  const std::string begin =
      "using namespace metal;\nkernel void f(device int* x, constant int& n, uint i [[thread_position_in_grid]]) {\n";
  const std::string barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);\n";
  EXPECT_EQ(warnings_of(begin + "if (i < 5)\n" + barrier + "}"), "4" + kBarrier);
  EXPECT_EQ(warnings_of(begin + "if (i >= uint(n)) return;\n" + barrier + "x[i] = 1; }"), "4" + kBarrier);
  EXPECT_EQ(warnings_of(begin + "for (uint k = 0; k < i; ++k)\n" + barrier + "}"), "4" + kBarrier);
  EXPECT_EQ(warnings_of(begin + barrier + "if (n > 3)\n" + barrier + "for (int k = 0; k < n; ++k)\n" + barrier + "}"),
            "");
  EXPECT_EQ(warnings_of(begin + barrier + "if (i >= uint(n)) return;\nx[i] = 1; }"), "");
}

TEST(WarningsTest, ConditionsThatAllThreadsOfAGroupShare) {
  const std::string begin =
      "using namespace metal;\nbool is_odd(thread const short& n) { return n % 2 == 1; }\n"
      "kernel void f(device const int* mask, device int* x, constant int& n, uint g [[threadgroup_position_in_grid]],\n"
      "              uint i [[thread_index_in_threadgroup]]) {\n";
  const std::string barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);\n";
  EXPECT_EQ(warnings_of(begin + "if (mask[g] == 0) return;\n" + barrier + "}"), "");
  EXPECT_EQ(warnings_of(begin + "if (mask[i] == 0) return;\n" + barrier + "}"), "6" + kBarrier);
  EXPECT_EQ(warnings_of(begin + "if (x[g] == 0) return;\n" + barrier + "}"), "6" + kBarrier);
  EXPECT_EQ(warnings_of(begin + "const short q = n; if (q < 3 || is_odd(q)) return;\n" + barrier + "}"), "");
  EXPECT_EQ(warnings_of(begin + "const short q = i; if (is_odd(q)) return;\n" + barrier + "}"), "6" + kBarrier);
}

TEST(WarningsTest, ACallOfAFunctionWithABarrier) {
  const std::string begin =
      "using namespace metal;\nvoid inner() { threadgroup_barrier(mem_flags::mem_threadgroup); }\n"
      "void step(device int* x, uint i) { x[i] += 1; inner(); x[i] += 2; }\n"
      "kernel void f(device int* x, constant int& n, uint i [[thread_index_in_threadgroup]]) {\n";
  const std::string expected =
      ": some threads of the group may not reach the barrier in \"step\": move the call out of the branch or loop "
      "whose "
      "condition differs between threads, and return only after it\n";
  EXPECT_EQ(warnings_of(begin + "if (i < 7)\nstep(x, i); }"), "6" + expected);
  EXPECT_EQ(warnings_of(begin + "if (i < 7) return;\nstep(x, i); }"), "6" + expected);
  EXPECT_EQ(warnings_of(begin + "for (uint k = 0; k < i; ++k)\nstep(x, i); }"), "6" + expected);
  EXPECT_EQ(warnings_of(begin + "if (n < 7)\nstep(x, i); }"), "");
}

TEST(WarningsTest, GroupMemoryBeyondTheLimit) {
  EXPECT_EQ(warnings_of("kernel void big(device float* x) {\n  threadgroup float room[10000];\n  room[0] = x[0];\n"
                        "  x[1] = room[0];\n}\n"
                        "kernel void fits(device float* x) {\n  threadgroup float room[8192];\n  room[0] = x[0];\n"
                        "  x[1] = room[0];\n}\n"),
            "1: the kernel \"big\" declares 40000 bytes of threadgroup memory: Metal allows 32768, and it cannot be "
            "launched on devices that have less\n");
}

TEST(WarningsTest, AttributesWithoutEffect) {
  EXPECT_EQ(warnings_of("[[made_up]] kernel void f(device float* x [[buffer(0)]]) { x[0] = 1; }\n"
                        "[[maybe_unused]] constant int a = 3;\n"
                        "struct S { int b [[id(0)]]; int c [[color(0)]]; };\n"
                        "namespace n { [[nodiscard]] inline int g() { return 1; } }\n"),
            "1: the attribute [[made_up]] is ignored\n3: the attribute [[color]] is ignored\n");
}

TEST(WarningsTest, TheLogHasThem) {
  const Translation translation = translate("[[made_up]] kernel void f() {}", {.file = "a.metal"});
  EXPECT_TRUE(translation.ok());
  EXPECT_NE(translation.log.find("a.metal:1:3: warning: the attribute [[made_up]] is ignored"), std::string::npos)
      << translation.log;
}

}  // namespace
}  // namespace kymo::shader
