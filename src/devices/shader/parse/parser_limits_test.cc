// Whatever comes in, parsing ends: soon, and without using up the stack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "shader/parse/parser_test_support.h"

namespace kymo::shader::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kDeep = 5000;

std::string limits_repeated(std::string_view text, size_t count) {
  std::string all;
  all.reserve(text.size() * count);
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

// `open`, many times, `middle`, and `close` as often.
std::string limits_nested(std::string_view open, std::string_view middle, std::string_view close,
                          size_t count = kDeep) {
  return limits_repeated(open, count) + std::string(middle) + limits_repeated(close, count);
}

std::string limits_in_function(const std::string& text) { return "void f() {\n" + text + "\n}"; }

TEST(ParserLimitsTest, DeepNestingIsAnError) {
  const char* const kTooDeep = "nests deeper than 200 levels";
  EXPECT_THAT(parse_errors(limits_in_function("a = " + limits_nested("(", "1", ")") + ";")), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_in_function("a = " + limits_nested("f(", "1", ")") + ";")), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_in_function("a = " + limits_nested("{", "1", "}") + ";")), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_in_function("a = " + limits_nested("b[", "1", "]") + ";")), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_in_function(limits_nested("- ", "1;", ""))), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_in_function(limits_nested("(int)", "1;", ""))), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_in_function(limits_nested("sizeof ", "1;", ""))), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_in_function(limits_nested("a = ", "1;", ""))), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_in_function(limits_nested("a ? b : ", "1;", ""))), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_in_function(limits_nested("a ? ", "1", ": 2") + ";")), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_in_function(limits_nested("{", "", "}"))), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_in_function(limits_nested("if (a) ", "b;", ""))), HasSubstr(kTooDeep));
  const std::string chain = parse_errors(limits_in_function(limits_nested("if (a) b;\nelse ", "c;", "")));
  EXPECT_THAT(chain, HasSubstr("a chain of more than 190 \"else if\" is not supported"));
  EXPECT_EQ(chain.find('\n'), std::string::npos) << "the rest of the chain is not an error of its own: " << chain;
  EXPECT_THAT(parse_errors(limits_in_function(limits_nested("do ", "b;", "while (a);"))), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_in_function("a = " + limits_nested("[] { return ", "1", "; }()") + ";")),
              HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_in_function(limits_nested("struct S { void f() {", "", "} };"))),
              HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_nested("namespace a {", "", "}")), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors("namespace a" + limits_nested("::a", " {}", "")), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_nested("struct S {", "", "};")), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_nested("vec<", "int", ">") + " a;"), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors("int " + limits_nested("(*", "a", ")[1]") + ";"), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors("int a" + limits_repeated("[1]", kDeep) + ";"), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors(limits_nested("decltype(", "a", ")") + " b;"), HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors("template <" + limits_nested("template <", "typename", "> class") + "> struct S;"),
              HasSubstr(kTooDeep));
  EXPECT_THAT(parse_errors("int " + limits_repeated("*", kDeep) + "a;"), HasSubstr("more than 200 pointers"));
}

TEST(ParserLimitsTest, LongChainsHaveALimit) {
  EXPECT_THAT(parse_errors("int a = 1" + limits_repeated(" + 1", kDeep) + ";"),
              HasSubstr("more than 500 operations deep"));
  EXPECT_THAT(parse_errors("int a = b" + limits_repeated(".c", kDeep) + ";"),
              HasSubstr("more than 500 operations deep"));
  EXPECT_THAT(parse_errors("int a = b" + limits_repeated("[0]", kDeep) + ";"),
              HasSubstr("more than 500 operations deep"));
  EXPECT_THAT(parse_errors("int a = b" + limits_repeated("(0)", kDeep) + ";"),
              HasSubstr("more than 500 operations deep"));
  EXPECT_THAT(parse_errors("int a = (b" + limits_repeated(", b", kDeep) + ");"),
              HasSubstr("more than 500 operations deep"));
  // Also where it is spread over levels: each lambda here is 400 operations below the next.
  const std::string long_sum = "1" + limits_repeated(" + 1", 400);
  EXPECT_THAT(parse_errors("int a = [] { return " + long_sum + "; }()" + limits_repeated(" + 1", 400) + ";"),
              HasSubstr("more than 500 operations deep"));
}

TEST(ParserLimitsTest, LongListsAreAllowed) {
  EXPECT_EQ(parse_errors("int a[] = {1" + limits_repeated(", 1", kDeep) + "};"), "");
  EXPECT_EQ(parse_errors("int a = f(1" + limits_repeated(", 1", kDeep) + ");"), "");
  EXPECT_EQ(parse_errors("int a" + limits_repeated(", a", kDeep) + ";"), "");
  EXPECT_EQ(parse_errors("int a = 1" + limits_repeated(" + 1", 400) + ";"), "");
  EXPECT_EQ(parse_errors(limits_in_function("a = " + limits_nested("(", "1", ")", 150) + ";")), "");
  EXPECT_EQ(parse_errors("a" + limits_repeated("::a", kDeep) + " b;"), "");
  EXPECT_EQ(parse_errors(limits_in_function(limits_repeated("{}", kDeep))), "");
}

TEST(ParserLimitsTest, LookaheadIsLimited) {
  EXPECT_THAT(parse_errors("int a = b" + limits_repeated(" < b", kDeep) + ";"), HasSubstr("more than 500"));
  EXPECT_THAT(parse_errors(limits_in_function(limits_repeated("a < b;", kDeep))), "");
  EXPECT_THAT(parse_errors(limits_in_function(limits_repeated("a <", kDeep))), Not(""));
  EXPECT_THAT(parse_errors(limits_in_function(limits_repeated("a < (", kDeep))), Not(""));
  EXPECT_THAT(parse_errors(limits_in_function(limits_repeated("f(a < b, c > (d));", kDeep))), "");
}

TEST(ParserLimitsTest, ManyMutualUsingDirectivesAreAllowed) {
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "n" + std::to_string(i);
    text += "namespace " + name + " { using namespace n" + std::to_string((i + 1) % 2000) + "; int v" +
            std::to_string(i) + "; } using namespace " + name + ";\n";
  }
  EXPECT_EQ(parse_errors(text + limits_in_function(limits_repeated("x = y;", 2000))), "");
}

TEST(ParserLimitsTest, UnclosedBracketsEnd) {
  for (const char* const open :
       {"(",      "[",     "{",    "[[",         "<",       "a<",        "template <", "struct S {",   "struct S : ",
        "enum {", "f(",    "if (", "for (",      "[](",     "operator",  "decltype(",  "namespace {",  "a::",
        "case ",  "else ", "~",    "using A = ", "friend ", "template ", "typename ",  "static_cast<", "...",
        ",",      ";",     "}",    ")",          "]",       ">",         "\"a\""}) {
    EXPECT_LE(parse_errors(limits_repeated(open, kDeep)).size(), 10000u) << open;
    EXPECT_LE(parse_errors("void f() {" + limits_repeated(open, kDeep)).size(), 10000u) << open;
    EXPECT_LE(parse_errors("struct T { " + limits_repeated(open, kDeep)).size(), 10000u) << open;
  }
}

TEST(ParserLimitsTest, AnEmptySourceIsAllowed) {
  EXPECT_EQ(parsed(""), "");
  ast::Tree tree;
  SourceFiles files;
  Diagnostics diagnostics(files);
  Parser parser(tree, diagnostics);
  parser.parse({});
  EXPECT_TRUE(tree.declarations.empty());
  EXPECT_FALSE(diagnostics.has_errors());
}

TEST(ParserLimitsTest, TwentyThousandLinesAreParsed) {
  std::string text = "namespace metal { template <typename T> T max(T a, T b); }\nusing namespace metal;\n";
  for (int i = 0; i < 2000; ++i) {
    const std::string n = std::to_string(i);
    text += "struct S" + n + " {\n  float a, b[4];\n  float sum() const { return a + b[" + n + " % 4]; }\n};\n";
    text += "template <typename T> inline T f" + n + "(thread S" + n +
            "& s, T x) {\n  for (int i = 0; i < 4; ++i) s.b[i] += x;\n";
    text += "  return max<T>(x, T(s.sum()));\n}\nconstant float c" + n + " = " + n + ".5f;\n";
    text += "kernel void k" + n + "(device float* out, uint i) { S" + n + " s; out[i] = f" + n + "<float>(s, c" + n +
            "); }\n";
  }
  Parsed all(text);
  EXPECT_EQ(all.errors(), "");
  EXPECT_EQ(all.tree().declarations.size(), 2u + 2000 * 4);
}

}  // namespace
}  // namespace kymo::shader::testing
