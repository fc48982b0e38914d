#include "shader/meaning/meaning_test.h"

// Input of any size and depth ends in an error or in a module.

namespace kymo::shader {

namespace {

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

TEST(LimitsTest, FunctionsAreLoweredOnceHoweverOftenTheyAreCalled) {
  std::string functions = "int f0(int x) { return x; }\n";
  for (int i = 1; i <= 100; ++i) {
    const std::string before = "f" + std::to_string(i - 1);
    functions += "int f" + std::to_string(i) + "(int x) { return " + before + "(x) + " + before + "(x + 1); }\n";
  }
  EXPECT_EQ(lines("b[0] = f100(1);", functions), "(*(b + 0)) = f100(1)\n");
}

TEST(LimitsTest, EvaluatingConstantsHasABudget) {
  std::string body;
  for (int i = 0; i < 30; ++i) body += "constexpr int v" + std::to_string(i) + " = forever(1);\n";
  EXPECT_NE(faults_of(body, "constexpr int forever(int n) { while (true) n++; return n; }"), "");
}

}  // namespace kymo::shader
