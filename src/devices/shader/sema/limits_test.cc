#include <gmock/gmock.h>

#include "base/test_size.h"
#include "shader/sema/test_sema.h"

// Input of any size and depth ends in an error or in a module.

namespace kymo::shader {

namespace {

using ::testing::HasSubstr;

// The usual budget takes a minute under AddressSanitizer.
Options small_budget() {
  Options options;
  options.max_expressions = 20'000;
  return options;
}

std::string limits_repeat(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

}  // namespace

TEST(LimitsTest, LongExpressionsAreRefused) {
  EXPECT_NE(faults_of("b[0] = 1" + limits_repeat(" + b[1]", 10'000) + ";"), "");
  EXPECT_NE(faults_of("b[0] = " + limits_repeat("(", 5'000) + "1" + limits_repeat(")", 5'000) + ";"), "");
  EXPECT_NE(faults_of("b[0] = " + limits_repeat("b[0] ? 1 : ", 3'000) + "2;"), "");
}

TEST(LimitsTest, DeepStatementsAreRefused) {
  EXPECT_NE(faults_of(limits_repeat("{", 3'000) + limits_repeat("}", 3'000)), "");
  EXPECT_NE(faults_of(limits_repeat("if (b[0]) ", 3'000) + "b[1] = 1;"), "");
}

TEST(LimitsTest, ManyStatementsAreFine) { EXPECT_EQ(faults_of(limits_repeat("b[0] += 1;\n", 5'000)), ""); }

TEST(LimitsTest, InitializersWithTooManyPartsAreRefused) {
  EXPECT_EQ(faults_of("int v[1000000] = {1};"), "error: \"int[1000000]\" is too large for an initializer\n");
  std::string structs = "struct A0 { int x = 1; };\n";
  for (int i = 1; i <= 24; ++i) {
    const std::string before = "A" + std::to_string(i - 1);
    structs += "struct A" + std::to_string(i) + " { " + before + " a, b; };\n";
  }
  EXPECT_EQ(faults_of("A24 v;", structs), "error: \"A15\" has more than 16384 fields, with those of its fields\n");
}

TEST(LimitsTest, CallsThatNestTooDeepAreRefused) {
  std::string functions = "int f0(int x) { return x; }\n";
  for (int i = 1; i <= 300; ++i) {
    functions += "int f" + std::to_string(i) + "(int x) { return f" + std::to_string(i - 1) + "(x); }\n";
  }
  EXPECT_NE(faults_of("b[0] = f300(1);", functions), "");
}

TEST(LimitsTest, FunctionsAreLoweredOnce) {
  std::string functions = "int f0(int x) { return x; }\n";
  for (int i = 1; i <= 100; ++i) {
    const std::string before = "f" + std::to_string(i - 1);
    functions += "int f" + std::to_string(i) + "(int x) { return " + before + "(x) + " + before + "(x + 1); }\n";
  }
  EXPECT_EQ(lines("b[0] = f100(1);", functions), "(*(b + 0)) = f100(1)\n");
}

// Each default is written once, and worked out wherever it is left to its default.
TEST(LimitsTest, NestedDefaultArgumentsHaveALimit) {
  std::string functions = "int f0(int x = 1) { return x; }\n";
  std::string structs = "template <int N> struct S0 { static constant constexpr int v = 1; };\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string name = std::to_string(i), before = std::to_string(i - 1);
    functions += "int f" + name + "(int x = f" + before + "() + f" + before + "()) { return x; }\n";
    structs += "template <int N, int V = S" + before + "<N + 1>::v + S" + before + "<N + 2>::v> struct S" + name +
               " { static constant constexpr int v = V; };\n";
  }
  EXPECT_THAT(faults_of("b[0] = f40();", functions, small_budget()),
              HasSubstr("expands to more than 20000 expressions"));
  EXPECT_THAT(faults_of("b[0] = S40<0>::v;", structs, small_budget()),
              HasSubstr("expands to more than 20000 expressions"));
}

TEST(LimitsTest, AfterALimitThereAreNoMoreErrors) {
  std::string functions = "int f0(int x = 1) { return x; }\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string name = std::to_string(i), before = std::to_string(i - 1);
    functions += "int f" + name + "(int x = f" + before + "() + f" + before + "()) { return x; }\n";
  }
  EXPECT_EQ(faults_of("b[0] = f40();\nint x = f39();\nb[1] = x;\nb[2] = f38() + x;", functions, small_budget()),
            "error: the kernel expands to more than 20000 expressions: check its default arguments and templates\n");
}

// The limit is that of a kernel: files with hundreds of them are common.
TEST(LimitsTest, EachKernelHasItsOwnBudget) {
  std::string source = "template <int N> kernel void f(device int* b) { int x = N;\n";
  for (int i = 0; i < 500; ++i) source += "x = x * 3 + " + std::to_string(i) + ";\n";
  source += "b[0] = x; }\n";
  for (int i = 0; i < 40; ++i)
    source += "template [[host_name(\"f" + std::to_string(i) + "\")]] kernel void f<" + std::to_string(i) +
              ">(device int*);\n";
  EXPECT_EQ(faults(source, small_budget()), "");
}

TEST(LimitsTest, NestedTemplateArgumentsHaveALimit) {
  const std::string structs =
      "template <int N> struct V { static constant constexpr int v = N; };\n"
      "template <typename T> struct W { using t = T; };\n";
  const auto values = [](int count) { return limits_repeat("V<", count) + "1" + limits_repeat(">::v", count); };
  const auto types = [](int count) {
    return limits_repeat("typename W<", count) + "int" + limits_repeat(">::t", count);
  };
  EXPECT_EQ(faults_of("b[0] = " + values(8) + "; " + types(8) + " x;", structs), "");
  EXPECT_THAT(faults_of("b[0] = " + values(80) + ";", structs, small_budget()),
              HasSubstr("expands to more than 20000 expressions"));
  EXPECT_THAT(faults_of(types(80) + " x;", structs, small_budget()),
              HasSubstr("expands to more than 20000 expressions"));
}

TEST(LimitsTest, RecursiveTemplateDefaultsAreRefused) {
  EXPECT_THAT(faults_of("S<int> s;", "template <typename T, int N = S<T>::v> struct S {};"),
              HasSubstr("nests deeper than 200 levels"));
}

TEST(LimitsTest, KernelsWithTooManyBuffersAreRefused) {
  const std::string many = limits_repeat(", device int*", 5'000), groups = limits_repeat(", threadgroup int*", 5'000);
  EXPECT_THAT(faults("kernel void f(device int* a" + many + ") {}"), HasSubstr("at most 4096 buffers and values"));
  EXPECT_THAT(faults("kernel void f(device int* a" + groups + ") {}"), HasSubstr("at most 4096 buffers and values"));
}

TEST(LimitsTest, ConstantEvaluationHasALimit) {
  std::string body;
  for (int i = 0; i < base::test_size(30); ++i) body += "constexpr int v" + std::to_string(i) + " = forever(1);\n";
  EXPECT_NE(faults_of(body, "constexpr int forever(int n) { while (true) n++; return n; }"), "");
}

}  // namespace kymo::shader
