#include <gtest/gtest.h>

#include "shader/parse/parser_test_support.h"

namespace kymo::shader::testing {
namespace {

TEST(ParseStatementsTest, BranchesWithAndWithoutElse) {
  EXPECT_EQ(parsed_body("if (a) b; else if (c) { d; } else e;"), "if (a) b; else if (c) { d; } else e;");
  EXPECT_EQ(parsed_body("if (a) if (b) c; else d;"), "if (a) if (b) c; else d;");
}

TEST(ParseStatementsTest, BranchesDecidedAtCompileTime) {
  EXPECT_EQ(parsed_body("if constexpr (sizeof(T) == 4) a; else b;"), "if constexpr ((sizeof(T) == 4)) a; else b;");
}

TEST(ParseStatementsTest, ConditionsMayDeclare) {
  EXPECT_EQ(parsed_body("if (int a = f()) a; if (auto b = g(); b > 1) b; if (; c) d; while (int e = h()) e; switch "
                        "(int i = 0; i) { default: ; }"),
            "if (a: int = f()) a; if (b: auto = g(); (b > 1)) b; if (c) d; while (e: int = h()) e; switch (i: int = 0; "
            "i) { default: ; }");
}

TEST(ParseStatementsTest, Loops) {
  EXPECT_EQ(parsed_body("for (;;) break; for (int i = 0, j = 1; i < j; ++i, --j) continue; for (i = 0; i < 3; i++) ; "
                        "while (a) b; do c; while (d); do { e; } while (f);"),
            "for (; ; ) break; for (i: int = 0, j: int = 1; (i < j); ((++i), (--j))) continue; for ((i = 0); (i < 3); "
            "(i++)) ; while (a) b; do c; while (d); do { e; } while (f);");
}

TEST(ParseStatementsTest, RangeForLoops) {
  EXPECT_EQ(parsed_body("for (auto a : b) a; for (const thread int& c : {1, 2}) { c; } for (auto [d, e] : f) d;"),
            "for (a: auto : b) a; for (c: thread const int& : {1, 2}) { c; } for ([d, e]: auto : f) d;");
}

TEST(ParseStatementsTest, SwitchesWithFallThrough) {
  EXPECT_EQ(parsed_body("switch (a) { case 1: case 1 + 1: b; break; case E::c: { d; } default: return; }"),
            "switch (a) { case 1: case (1 + 1): b; break; case E::c: { d; } default: return; }");
  EXPECT_EQ(parsed_body("switch (a) case 1: b;"), "switch (a) { case 1: b; }");
}

TEST(ParseStatementsTest, DeclarationsAreDistinguishedFromExpressions) {
  EXPECT_EQ(parsed_body("int a; a * a; float (b); float4 c = a; S * s; a = 1; (a)++; S(1); S{2}; S t(1); f(a); float "
                        "(*p)[4] = q; S::T * u;",
                        "struct S { struct T {}; };"),
            "a: int; (a * a); <float>(b); c: float4 = a; s: S*; (a = 1); (a++); <S>(1); S{2}; t: S(1); f(a); p: "
            "(float[4])* = q; u: S::T*;");
}

TEST(ParseStatementsTest, UnknownNamesBeforeNamesAreTypes) {
  EXPECT_EQ(
      parsed_body(
          "Missing a; Missing* b = c; Missing& d = e; a::Missing f; Missing<int> g; h * i + j; Missing const k;"),
      "a: Missing; b: Missing* = c; d: Missing& = e; f: a::Missing; g: Missing<int>; ((h * i) + j); k: const Missing;");
}

TEST(ParseStatementsTest, LocalNamesHideTypes) {
  EXPECT_EQ(parsed_body("struct S {}; S * a; { int S = 1; S * a; } S * b;"),
            "struct S { }; a: S*; { S: int = 1; (S * a); } b: S*;");
}

TEST(ParseStatementsTest, BlocksAndEmptyStatements) { EXPECT_EQ(parsed_body("{ { } ; } ;"), "{ { } ; } ;"); }

TEST(ParseStatementsTest, HintAttributesAreDropped) {
  EXPECT_EQ(parsed_body("[[unroll]] for (;;) {} [[fallthrough]]; [[likely]] a;"), "for (; ; ) { } ; a;");
}

TEST(ParseStatementsTest, ReturnsOfAllKinds) {
  EXPECT_EQ(parsed_body("return; return a; return {1, 2}; return a, b;"),
            "return; return a; return {1, 2}; return (a, b);");
}

TEST(ParseStatementsTest, LocalDeclarationsOfAllKinds) {
  EXPECT_EQ(parsed_body("using A = int; typedef int B; static_assert(true); using namespace n; using m::o; constexpr "
                        "int c = 1; static constant int d = 2; threadgroup float e[2]; enum { x }; struct S;"),
            "type A = int; type B = int; static_assert(true); using namespace n; using m::o; constexpr c: int = 1; "
            "static d: constant int = 2; e: threadgroup float[2]; enum { x }; struct S;");
}

}  // namespace
}  // namespace kymo::shader::testing
