#include "shader/parse/literals.h"

#include <gtest/gtest.h>

namespace kymo::shader {
namespace {

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
