#include "shader/preprocess/literals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kymo::shader {
namespace {

using ::testing::HasSubstr;

TEST(NumbersTest, IntegersAreWrittenInFourBases) {
  for (const std::string_view text : {"0", "10", "10u", "10UL", "10lu", "10ull", "0x1F", "0Xffu", "0b101", "017",
                                      "1'000'000", "18446744073709551615", "0xffffffffffffffff"}) {
    const NumberSpelling spelling = spelling_of_number(text);
    EXPECT_EQ(spelling.fault, "");
    EXPECT_EQ(spelling.kind, TokenKind::Integer) << text;
  }
}

TEST(NumbersTest, FloatsHaveAPointOrAnExponent) {
  for (const std::string_view text : {"1.", ".5", "1.5f", "1.0h", "1.0bf", "1e5", "1E-5F", "0x1p3", "0x.8p0f",
                                      "0x1.8p-3h", "1'0.0'1", "09.5", "1.H"}) {
    const NumberSpelling spelling = spelling_of_number(text);
    EXPECT_EQ(spelling.fault, "");
    EXPECT_EQ(spelling.kind, TokenKind::Float) << text;
  }
}

TEST(NumbersTest, ErrorsNameTheProblem) {
  const auto fault = [](std::string_view text) { return spelling_of_number(text).fault; };
  EXPECT_EQ(fault("1f"), "\"1f\" is not a number: write 1.0f");
  EXPECT_THAT(fault("1.5q"), HasSubstr("\"q\" may not follow, only f, h or bf"));
  EXPECT_THAT(fault("1.5l"), HasSubstr("only f, h or bf"));
  EXPECT_THAT(fault("12abc"), HasSubstr("\"abc\" may not follow, only u and l"));
  EXPECT_THAT(fault("1ulu"), HasSubstr("may not follow"));
  EXPECT_THAT(fault("1lL"), HasSubstr("may not follow"));
  EXPECT_THAT(fault("0x"), HasSubstr("no digits"));
  EXPECT_THAT(fault("0b2"), HasSubstr("no digits"));
  EXPECT_THAT(fault("1e"), HasSubstr("exponent has no digits"));
  EXPECT_THAT(fault("1e+"), HasSubstr("exponent has no digits"));
  EXPECT_THAT(fault("0x1.8"), HasSubstr("needs p and an exponent"));
  EXPECT_THAT(fault("089"), HasSubstr("octal digits"));
  EXPECT_THAT(fault("18446744073709551616"), HasSubstr("more than 64 bits"));
  EXPECT_THAT(fault("1.2.3"), HasSubstr("may not follow"));
  EXPECT_THAT(fault("1''0"), HasSubstr("may not follow"));
  EXPECT_THAT(fault("0xE+1"), HasSubstr("may not follow"));
}

TEST(NumbersTest, IntegersHaveValues) {
  EXPECT_EQ(integer_value("1'000")->value, 1000u);
  EXPECT_EQ(integer_value("0x1Fu")->value, 31u);
  EXPECT_EQ(integer_value("0b101")->value, 5u);
  EXPECT_EQ(integer_value("017")->value, 15u);
  EXPECT_EQ(integer_value("0")->value, 0u);
  EXPECT_FALSE(integer_value("1")->is_unsigned);
  EXPECT_TRUE(integer_value("1u")->is_unsigned);
  EXPECT_TRUE(integer_value("1l")->is_long);
  EXPECT_TRUE(integer_value("0xffffffffffffffff")->is_unsigned);
  for (const std::string_view text : {"1.5", "1e5", "08", "0x", "x", "", "18446744073709551616"}) {
    EXPECT_FALSE(integer_value(text)) << text;
  }
}

TEST(NumbersTest, CharactersHaveValues) {
  EXPECT_EQ(character_value("'a'"), 'a');
  EXPECT_EQ(character_value("'\\n'"), '\n');
  EXPECT_EQ(character_value("'\\''"), '\'');
  EXPECT_EQ(character_value("'\\0'"), '\0');
  EXPECT_EQ(character_value("'\\101'"), 'A');
  EXPECT_EQ(character_value("'\\x41'"), 'A');
  for (const std::string_view text : {"''", "'ab'", "'\\'", "'\\q'", "'\\x'", "'\\777'", "'\\x100'", "a", ""}) {
    EXPECT_FALSE(character_value(text)) << text;
  }
}

std::string literals_unescaped(std::string_view content) {
  std::string text;
  return append_unescaped(content, text) ? text : "(none)";
}

TEST(LiteralsTest, EscapesAreDecoded) {
  EXPECT_EQ(literals_unescaped("plain"), "plain");
  EXPECT_EQ(literals_unescaped("a\\tb\\n\\\\\\\"\\'"), "a\tb\n\\\"'");
  EXPECT_EQ(literals_unescaped("\\x41\\x4a!"), "AJ!");
  EXPECT_EQ(literals_unescaped("\\101\\60"), "A0");
  EXPECT_EQ(literals_unescaped("\\0"), std::string(1, '\0'));
}

TEST(LiteralsTest, OctalEscapesHaveAtMostThreeDigits) { EXPECT_EQ(literals_unescaped("\\1011"), "A1"); }

TEST(LiteralsTest, UnknownEscapesAreReported) {
  EXPECT_EQ(literals_unescaped("\\q"), "(none)");
  EXPECT_EQ(literals_unescaped("\\x"), "(none)");
  EXPECT_EQ(literals_unescaped("\\"), "(none)");
}

}  // namespace
}  // namespace kymo::shader
