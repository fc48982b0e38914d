// #if and its kin, as a preprocessed source shows them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shader/preprocess/text_test_support.h"

namespace kymo::shader {
namespace {

using ::testing::HasSubstr;

// "yes", "no", or "no | error: …"
std::string decided_by(const std::string& text) {
  return preprocessed("#define ONE 1\n#define EMPTY\n#define F(x) (x + 1)\n#if " + text + "\nyes\n#else\nno\n#endif\n");
}

TEST(ConditionTest, OperatorsBindAsInC) {
  for (const char* text : {"1 + 2 * 3 == 7",    "(1 + 2) * 3 == 9",     "10 - 4 - 3 == 3",
                           "1 << 2 + 1 == 8",   "7 & 3 == 3",           "(6 | 1) == 7",
                           "(6 ^ 3) == 5",      "!0 && !(1 && 0) || 0", "~0 == -1",
                           "-7 / 2 == -3",      "-7 % 3 == -1",         "7 % -3 == 1",
                           "1 ? 0 ? 0 : 1 : 0", "0 ? 0 : 0 ? 0 : 1",    "(0, 1)",
                           "16 >> 2 == 4",      "-16 >> 2 == -4",       "1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3 && 1 != 2",
                           "1 || 0 && 0",       "+1 == - -1",           "not 0 and 1"}) {
    EXPECT_EQ(decided_by(text), "yes") << text;
  }
}

TEST(ConditionTest, ValuesHave64Bits) {
  for (const char* text :
       {"0x7fffffffffffffff > 0", "0xffffffffffffffff == -1", "-1 > 0u", "-1 < 0", "(-1 >> 63) == -1", "(1 << 63) < 0",
        "(1u << 63) > 0", "(1 << 64) == 0", "(-1 >> 100) == -1", "(1 << -1) == 0", "(1 << 63) / -1 == (1 << 63)",
        "(1 << 63) % -1 == 0", "9223372036854775807 + 1 < 0", "-1 / 2u == 0x7fffffffffffffff", "(1 ? -1 : 0u) > 0",
        "'a' == 97", "'\\n' == 10", "'\\xff' < 0", "0b11 == 3 && 010 == 8 && 1'000 == 1000"}) {
    EXPECT_EQ(decided_by(text), "yes") << text;
  }
}

TEST(ConditionTest, NamesAreExpandedOrZero) {
  for (const char* text : {"ONE", "F(ONE) == 2", "UNKNOWN == 0", "true && !false", "ONE EMPTY == 1"}) {
    EXPECT_EQ(decided_by(text), "yes") << text;
  }
}

TEST(ConditionTest, DefinedChecksNames) {
  for (const char* text :
       {"defined ONE", "defined(ONE)", "!defined TWO", "defined EMPTY && defined(F)",
        "defined(__LINE__) && defined(__has_include) && !defined(__has_builtin)", "1 > defined TWO"}) {
    EXPECT_EQ(decided_by(text), "yes") << text;
  }
  EXPECT_EQ(preprocessed("#define HAS defined(X) && defined Y\n#define X 0\n#define Y\n#if HAS\nyes\n#endif"), "yes");
}

TEST(ConditionTest, HasIncludeChecksHeaders) {
  for (const char* text : {"__has_include(<metal_stdlib>)", "__has_include(<c10/metal/utils.h>)",
                           "__has_include(\"c10/metal/utils.h\") && 1", "!__has_include(<vector>)",
                           "!__has_include(\"nope.h\")", "!__has_builtin(__builtin_(x)) && !__has_feature(y)"}) {
    EXPECT_EQ(decided_by(text), "yes") << text;
  }
  EXPECT_EQ(preprocessed("#define H <metal_math>\n#if __has_include(H)\nyes\n#endif"), "yes");
  EXPECT_EQ(preprocessed("#if __has_include(\"a.h\")\nyes\n#endif", {}, {{"a.h", ""}}), "yes");
}

TEST(ConditionTest, UnevaluatedOperandsMayDivideByZero) {
  for (const char* text : {"1 || 1 / 0", "!(0 && 1 % 0)", "1 ? 1 : 1 / 0", "0 ? 1 / 0 : 1"}) {
    EXPECT_EQ(decided_by(text), "yes") << text;
  }
  EXPECT_EQ(decided_by("1 / 0"), "no | error: the condition divides by zero");
  EXPECT_EQ(decided_by("1 % (ONE - 1)"), "no | error: the condition divides by zero");
}

TEST(ConditionTest, WrongConditionsAreReportedAndFalse) {
  EXPECT_EQ(decided_by(""), "no | error: the condition is missing");
  EXPECT_EQ(decided_by("EMPTY"), "no | error: the condition is missing");
  EXPECT_EQ(decided_by("1 +"), "no | error: expected a value, found the end of the condition");
  EXPECT_EQ(decided_by("(1"), "no | error: expected \")\", found the end of the condition");
  EXPECT_EQ(decided_by("1 2"), "no | error: expected an operator in the condition, not \"2\"");
  EXPECT_EQ(decided_by("1 = 2"), "no | error: expected an operator in the condition, not \"=\"");
  EXPECT_EQ(decided_by("* 2"), "no | error: expected a value in the condition, not \"*\"");
  EXPECT_EQ(decided_by("\"a\""), "no | error: expected a value in the condition, not \"\"a\"\"");
  EXPECT_EQ(decided_by("1 ? 2"), "no | error: expected \":\", found the end of the condition");
  EXPECT_EQ(decided_by("1.5"), "no | error: a condition may contain only integers, not 1.5");
  EXPECT_EQ(decided_by("1x"), "no | error: \"1x\" is not a number: \"x\" may not follow, only u and l");
  EXPECT_EQ(decided_by("'ab'"), "no | error: 'ab' is not one character");
  EXPECT_EQ(decided_by("G(1)"), "no | error: there is no macro \"G\" that takes arguments");
  EXPECT_EQ(decided_by("defined"), "no | error: expected a name after defined, found the end of the condition");
  EXPECT_EQ(decided_by("defined(ONE"), "no | error: expected \")\", found the end of the condition");
  EXPECT_EQ(decided_by("__has_include(x)"), "no | error: __has_include needs a \"name\" or a <name>");
  EXPECT_EQ(decided_by("__has_include"),
            "no | error: expected \"(\" after __has_include, found the end of the condition");
  EXPECT_THAT(decided_by("F("), HasSubstr("the arguments of macro \"F\" do not end"));
}

TEST(ConditionalTest, TheFirstTrueGroupIsRead) {
  constexpr std::string_view kText =
      "#if A == 1\none\n#elif A == 2\ntwo\n#elif A == 2\nagain\n#else\nother\n#endif\nend";
  EXPECT_EQ(preprocessed(kText, {"A=1"}), "one end");
  EXPECT_EQ(preprocessed(kText, {"A=2"}), "two end");
  EXPECT_EQ(preprocessed(kText, {"A=3"}), "other end");
}

TEST(ConditionalTest, IfdefChecksNames) {
  EXPECT_EQ(preprocessed("#ifdef KYMO\na\n#endif\n#ifndef KYMO\nb\n#else\nc\n#endif"), "a c");
  EXPECT_EQ(preprocessed("#ifdef X\na\n#elifdef KYMO\nb\n#endif\n#ifdef X\n#elifndef X\nc\n#endif"), "b c");
}

TEST(ConditionalTest, GroupsNest) {
  EXPECT_EQ(preprocessed("#if 1\n#if 0\na\n#else\nb\n#endif\nc\n#else\n#if 1\nd\n#endif\n#endif"), "b c");
  EXPECT_EQ(preprocessed("#if 0\n#if 1\na\n#elif 1\nb\n#else\nc\n#endif\n#elif 1\nd\n#endif"), "d");
}

TEST(ConditionalTest, SkippedTextIsNotChecked) {
  EXPECT_EQ(preprocessed("#if 0\ndon't @ \"x\n#error no\n#include <nope>\n#nonsense\n#if\n#endif\n#define A 1\n"
                         "/* #endif */ // #endif\n\"#endif\n#endif\nA"),
            "A");
  EXPECT_EQ(preprocessed("#if 1\na\n#elif 1 / 0\n#else what\n#endif"), "a");
}

TEST(ConditionalTest, AreAllowedAmongArguments) {
  EXPECT_EQ(preprocessed("#define F(a, b) a-b\nF(1,\n#if 0\n2\n#elif defined KYMO\n3\n#endif\n)"), "1-3");
  EXPECT_EQ(preprocessed("#define F(a) a F2\n#define G(a) a\nF(\n#define F2 9\n#if G(1) == 1\n8\n#endif\n#undef F\n)"),
            "8 9");
}

TEST(ConditionalTest, MustPair) {
  EXPECT_EQ(preprocessed("#if 1\nx"), "x | error: this #if does not end: #endif is missing");
  EXPECT_EQ(preprocessed("#if 0\nx"), " | error: this #if does not end: #endif is missing");
  EXPECT_EQ(preprocessed("#endif\nx"), "x | error: #endif has no #if before it");
  EXPECT_EQ(preprocessed("#else\nx"), "x | error: #else has no #if before it");
  EXPECT_EQ(preprocessed("#elif 1\nx"), "x | error: #elif has no #if before it");
  EXPECT_EQ(preprocessed("#if 1\na\n#else\nb\n#else\nc\n#endif\nd"),
            "a d | error: #else follows the #else of its #if | note: the #if is here");
  EXPECT_THAT(preprocessed("#if 0\n#else\nb\n#elif 1\nc\n#endif\nd"),
              HasSubstr("b d | error: #elif follows the #else"));
}

TEST(ConditionalTest, AHeaderEndsItsOwn) {
  EXPECT_EQ(preprocessed("#if 1\n#include \"a.h\"\nx\n#endif", {}, {{"a.h", "#endif\n#if 1\ny\n"}}),
            "y x | error: #endif has no #if before it | error: this #if does not end: #endif is missing");
}

TEST(ConditionalTest, TextAfterADirectiveIsReported) {
  EXPECT_EQ(preprocessed("#ifdef KYMO and\nx\n#endif KYMO\n"),
            "x | warning: what follows #ifdef is ignored | warning: what follows #endif is ignored");
  EXPECT_EQ(preprocessed("#ifdef KYMO // and\nx\n#endif /* KYMO */"), "x");
  EXPECT_THAT(preprocessed("#ifdef\nx\n#endif"), HasSubstr("#ifdef must be followed by the name of a macro"));
  EXPECT_THAT(preprocessed("#ifndef 1\nx\n#endif"), HasSubstr("\"1\" cannot be the name of a macro"));
}

}  // namespace
}  // namespace kymo::shader
