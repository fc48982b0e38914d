#include "shader/preprocess/preprocessor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "shader/preprocess/headers.h"
#include "shader/preprocess/text_test_support.h"

namespace kymo::shader {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string preprocessor_repeated(std::string_view text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i) result += text;
  return result;
}

TEST(PreprocessorTest, TheLastTokenIsTheEnd) {
  const Preprocessed empty("");
  ASSERT_EQ(empty.tokens().size(), 1u);
  EXPECT_EQ(empty.tokens()[0].kind, TokenKind::End);
  const Preprocessed source("a\n b");
  ASSERT_EQ(source.tokens().size(), 3u);
  EXPECT_EQ(source.tokens()[2].kind, TokenKind::End);
  EXPECT_EQ(source.tokens()[1].at, (Location{0, 2, 2}));
}

TEST(PreprocessorTest, TokensOutliveTheInput) {
  SourceFiles files;
  Diagnostics diagnostics(files);
  Preprocessor preprocessor(files, diagnostics);
  std::vector<Token> tokens;
  {
    PreprocessorInput input;
    std::string text = "#include \"a.h\"\nb A";
    input.text = text;
    input.headers["a.h"] = "a";
    input.defines = {"A=x"};
    tokens = preprocessor.run(input);
    std::fill(text.begin(), text.end(), '?');
  }
  PreprocessorInput again;
  again.text = "c";
  EXPECT_EQ(preprocessor.run(again)[0].text, "c");
  EXPECT_EQ(tokens[0].text, "a");
  EXPECT_EQ(tokens[1].text, "b");
  EXPECT_EQ(tokens[2].text, "x");
}

TEST(PreprocessorTest, IncludesHeadersOfTheCaller) {
  EXPECT_EQ(preprocessed("#include \"a.h\"\nb", {}, {{"a.h", "a"}}), "a b");
  EXPECT_EQ(preprocessed("#include <x/a.h>\nb", {}, {{"x/a.h", "#include \"b.h\"\na"}, {"b.h", "c\n"}}), "c a b");
  EXPECT_EQ(preprocessed("#define H \"a.h\"\n#include H\n", {}, {{"a.h", "a"}}), "a");
  EXPECT_EQ(preprocessed("#define P <x/\n#include P a-1.h>\n", {}, {{"x/ a-1.h", "a"}}), "a");
}

TEST(PreprocessorTest, MacrosOfHeadersAreDefined) {
  EXPECT_EQ(preprocessed("#include \"a.h\"\nF(1)", {}, {{"a.h", "#define F(x) x+x\n"}}), "1+1");
}

TEST(PreprocessorTest, AHeaderIsReadAgainWithOtherMacros) {
  EXPECT_EQ(preprocessed("#define X(n) a##n\n#include \"list.h\"\n#undef X\n#define X(n) b##n\n#include \"list.h\"\n",
                         {}, {{"list.h", "X(1);X(2);"}}),
            "a1;a2;b1;b2;");
  EXPECT_THAT(preprocessed("#include \"a.h\"\n", {}, {{"a.h", "#include \"a.h\"\n"}}),
              HasSubstr("headers include each other deeper than 64; write #pragma once in them"));
  EXPECT_THAT(preprocessed("#include \"a.h\"\n", {}, {{"a.h", "#include \"a.h\"\n#include \"a.h\"\n"}}),
              HasSubstr("headers"));
}

TEST(PreprocessorTest, AHeaderWithPragmaOnceIsReadOnce) {
  EXPECT_EQ(preprocessed("#include \"a.h\"\n#include <a.h>\nb", {}, {{"a.h", "#pragma once\n#include \"a.h\"\na"}}),
            "a b");
}

TEST(PreprocessorTest, TokensOfAHeaderHaveItsPosition) {
  const Preprocessed source("#include \"a.h\"\nb", {}, {{"a.h", "\n a __FILE__"}});
  EXPECT_EQ(source.tokens()[0].at, (Location{1, 2, 2}));
  EXPECT_EQ(source.tokens()[1].text, "\"a.h\"");
  EXPECT_EQ(source.tokens()[2].at, (Location{0, 2, 1}));
}

TEST(PreprocessorTest, BuiltinHeadersAreFound) {
  EXPECT_EQ(preprocessed("#include <metal_stdlib>\n#include <metal_math>\n#include \"metal_atomic\"\nx"), "x");
  EXPECT_TRUE(Preprocessed("#include <c10/metal/utils.h>\n#include \"c10/metal/random.h\"\n").ok());
  EXPECT_EQ(preprocessed("#include <c10/metal/utils.h>\n", {}, {{"c10/metal/utils.h", "mine"}}), "mine");
}

TEST(PreprocessorTest, AnUnknownHeaderIsAnErrorWithTheListOfHeaders) {
  const std::string text = preprocessed("#include <vector>\nx", {}, {{"mine.h", ""}});
  EXPECT_THAT(text,
              HasSubstr("x | error: there is no header \"vector\"; there are mine.h, c10/metal/*.h, simd/simd.h, "));
  EXPECT_THAT(preprocessed("#include <c10/metal/no.h>\n"),
              HasSubstr("; there are c10/metal/atomic.h, c10/metal/bessel.h, "));
  EXPECT_THAT(text, HasSubstr("and metal_stdlib with its parts"));
  EXPECT_THAT(preprocessed("#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>\n"),
              HasSubstr("is not supported: its tensor operations are those of Apple's driver; use simdgroup_matrix"));
  EXPECT_THAT(preprocessed("#include\n"), HasSubstr("#include must be followed by a \"name\" or a <name>"));
  EXPECT_THAT(preprocessed("#include a.h\n"), HasSubstr("#include must be followed by"));
  EXPECT_THAT(preprocessed("#include <a.h\n"), HasSubstr("#include must be followed by"));
}

TEST(PreprocessorTest, DirectivesAreExecuted) {
  EXPECT_EQ(preprocessed("#error don't \"do\" this\nx"), "x | error: #error don't \"do\" this");
  EXPECT_EQ(preprocessed("#warning it's odd\nx"), "x | warning: #warning it's odd");
  EXPECT_EQ(preprocessed("#pragma unroll don't\n#line 7 \"x\"\n#\n# 12 \"y\"\n  #  define A 1\nA"), "1");
  EXPECT_EQ(preprocessed("#nonsense here\nx"), "x | error: there is no directive \"#nonsense\"");
  EXPECT_EQ(preprocessed("#undef __LINE__\nx"), "x | error: \"__LINE__\" has a meaning of its own, which stays");
}

TEST(PreprocessorTest, AHashInsideALineIsNotADirective) {
  EXPECT_EQ(preprocessed("a #define b"), "a #define b");
  EXPECT_EQ(preprocessed("#define SHARP #\nSHARP define A 1\nA"), "# define A 1 A");
}

TEST(PreprocessorTest, ManyErrorsEndThePreprocessor) {
  const Preprocessed source(preprocessor_repeated("#nonsense\n", 1000) + "x");
  EXPECT_EQ(source.reports().size(), 20u);
  EXPECT_THAT(source.text(), Not(HasSubstr("x |")));
}

// ---- Limits --------------------------------------------------------------------------------------------------------

TEST(PreprocessorLimitTest, IncludeDepthIsLimited) {
  std::map<std::string, std::string, std::less<>> headers;
  for (int i = 0; i < 100; ++i) headers[base::format("{}.h", i)] = base::format("#include \"{}.h\"\nx", i + 1);
  EXPECT_THAT(preprocessed("#include \"0.h\"\n", {}, headers), HasSubstr("headers include each other deeper than 64"));
}

TEST(PreprocessorLimitTest, MacroDepthIsLimited) {
  std::string chain;
  for (int i = 0; i < 1000; ++i) chain += base::format("#define A{} A{}\n", i, i + 1);
  EXPECT_THAT(preprocessed(chain + "A0"), HasSubstr("macros nest deeper than 256"));
  EXPECT_EQ(preprocessed(chain + "A900"), "A1000");
  const std::string calls =
      "#define F(x) x\n" + preprocessor_repeated("F(", 1000) + "1" + preprocessor_repeated(")", 1000);
  EXPECT_THAT(preprocessed(calls), HasSubstr("macros nest deeper than 256"));
}

TEST(PreprocessorLimitTest, EndlessExpansionIsRefusedEvenIfEmpty) {
  std::string doubling = "#define A0\n";
  for (int i = 0; i < 60; ++i) doubling += base::format("#define A{} A{} A{}\n", i + 1, i, i);
  EXPECT_THAT(preprocessed(doubling + "A60"), HasSubstr("the source grows to more than 4000000 tokens"));
}

TEST(PreprocessorLimitTest, PastedTextIsLimited) {
  const std::string nested = preprocessor_repeated("E(", 60) + "a" + preprocessor_repeated(")", 60);
  EXPECT_THAT(preprocessed("#define D(x) x##x\n#define E(x) D(x)\n" + nested), HasSubstr("the source grows"));
}

TEST(PreprocessorLimitTest, ConditionDepthIsLimited) {
  EXPECT_THAT(preprocessed("#if " + preprocessor_repeated("(", 100'000)),
              HasSubstr("the condition nests deeper than 200"));
  EXPECT_THAT(preprocessed("#if " + preprocessor_repeated("!", 100'000)),
              HasSubstr("the condition nests deeper than 200"));
  EXPECT_THAT(preprocessed("#if " + preprocessor_repeated("1?1:", 100'000)),
              HasSubstr("the condition nests deeper than 200"));
  EXPECT_EQ(preprocessed("#if " + preprocessor_repeated("1+", 100'000) + "1\nx\n#endif"), "x");
  EXPECT_THAT(preprocessed(preprocessor_repeated("#if 1\n", 1000)), HasSubstr("#if nests deeper than 256"));
  EXPECT_EQ(preprocessed(preprocessor_repeated("#if 0\n", 1000) + preprocessor_repeated("#endif\n", 1000) + "x"), "x");
}

TEST(PreprocessorLimitTest, TheNumberOfParametersIsLimited) {
  EXPECT_THAT(preprocessed("#define F(a0" +
                           [] {
                             std::string names;
                             for (int i = 1; i < 200; ++i) names += base::format(", a{}", i);
                             return names;
                           }() +
                           ") a0\n"),
              HasSubstr("macro \"F\" has more than 128 parameters"));
}

TEST(PreprocessorLimitTest, TheSizeOfASourceIsLimited) {
  const std::string text(17u << 20, ' ');
  EXPECT_EQ(preprocessed(text), " | error: shader has 17825792 bytes; a source may have 16777216");
  EXPECT_THAT(preprocessed("#include \"a.h\"\nx", {}, {{"a.h", text}}), HasSubstr("x | error: a.h has 17825792 bytes"));
}

TEST(PreprocessorTest, AFileThatIsNotATextIsOneError) {
  using namespace std::string_view_literals;
  EXPECT_EQ(preprocessed("\x7f"
                         "ELF\x02\0 kernel \xff"sv),
            " | error: shader is not a text: it has bytes of 0");
  EXPECT_EQ(preprocessed("\xff\xfe#\0i\0"sv), " | error: shader is UTF-16: save it as UTF-8");
  EXPECT_EQ(preprocessed("MTLB\x01"), " | error: shader is a compiled Metal library: its source is needed");
  EXPECT_EQ(preprocessed("a // Gr\xfc\xdf"
                         "e\nb"),
            "a b")
      << "comments may have any encoding";
  EXPECT_THAT(preprocessed("#include \"a.h\"\nx", {}, {{"a.h", std::string("\0", 1)}}),
              HasSubstr("x | error: a.h is not a text"));
}

TEST(PreprocessorLimitTest, AnyInputEnds) {
  constexpr std::string_view kPieces[] = {"#define F(x) ",
                                          "#define G(x, ...) ",
                                          "#define A ",
                                          "#if ",
                                          "#elif ",
                                          "#else\n",
                                          "#endif\n",
                                          "#undef F\n",
                                          "F",
                                          "G",
                                          "A",
                                          "(",
                                          ")",
                                          ",",
                                          "#",
                                          "##",
                                          "\n",
                                          "\n",
                                          "x",
                                          "1",
                                          "__VA_ARGS__",
                                          "__VA_OPT__(",
                                          "defined ",
                                          "__LINE__",
                                          "#include A",
                                          "\"s\"",
                                          " ",
                                          "/*",
                                          "*/",
                                          "\\\n",
                                          "R\"(",
                                          ")\"",
                                          "__has_include(<"};
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::string text;
    uint32_t state = seed * 2654435761u + 7;
    for (int i = 0; i < 50; ++i) {
      state = state * 1664525u + 1013904223u;
      text += kPieces[(state >> 16) % std::size(kPieces)];
    }
    const Preprocessed source(text);
    ASSERT_EQ(source.tokens().back().kind, TokenKind::End);
    for (const Token& token : source.tokens()) ASSERT_TRUE(token.kind == TokenKind::End || !token.text.empty());
  }
}

// ---- Headers -------------------------------------------------------------------------------------------------------

TEST(HeadersTest, AllListedHeadersExist) {
  for (const std::string_view name : builtin_header_names()) EXPECT_TRUE(builtin_header(name)) << name;
  EXPECT_EQ(builtin_header("metal_stdlib"), "");
  EXPECT_EQ(builtin_header("metal_texture"), "");
  EXPECT_FALSE(builtin_header("c10/metal/utils.h")->empty());
  EXPECT_FALSE(builtin_header("vector"));
  EXPECT_FALSE(builtin_header(""));
}

TEST(PreprocessorTest, LineDirectivesChangeLineAndFile) {
  EXPECT_EQ(preprocessed("#line 100 \"foo.metal\"\n__LINE__ __FILE__\n__LINE__\n#line 7\n__LINE__ __FILE__\n"
                         "# 3 \"bar\"\n__LINE__ __FILE__"),
            "100 \"foo.metal\" 101 7 \"foo.metal\" 3 \"bar\"");
  EXPECT_EQ(preprocessed("#line x\n__LINE__"), "2");
}

TEST(HeadersTest, TheStandardLibraryHasText) {
  EXPECT_EQ(standard_library_texts().size(), 13u);
  for (const std::string_view text : standard_library_texts()) EXPECT_FALSE(text.empty());
}

// #if and its kin, as a preprocessed source shows them.

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

TEST(UnrollWishTest, PragmasOfLoops) {
  for (const std::string_view text : {"unroll", " unroll ", "clang loop unroll(full)", "clang loop unroll ( enable )",
                                      "clang loop vectorize(enable) unroll(full)"})
    EXPECT_EQ(unroll_wish(text), kUnrollAll) << text;
  for (const std::string_view text : {"nounroll", "unroll 1", "unroll(1)", "clang loop unroll(disable)"})
    EXPECT_EQ(unroll_wish(text), kNeverUnroll) << text;
  for (const std::string_view text : {"unroll 4", "unroll(4)", "clang loop unroll_count(4)"})
    EXPECT_EQ(unroll_wish(text), 4) << text;
}

TEST(UnrollWishTest, OtherPragmas) {
  for (const std::string_view text : {"", "once", "unroll don't", "unroll(n)", "unroll 99999", "omp unroll", "clang",
                                      "clang unroll", "clang loop", "clang loop vectorize(enable)"})
    EXPECT_EQ(unroll_wish(text), kNoUnrollWish) << text;
}

}  // namespace
}  // namespace kymo::shader
