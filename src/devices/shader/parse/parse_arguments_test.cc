#include <gtest/gtest.h>

#include "shader/parse/parser_test_support.h"

namespace kymo::shader::testing {
namespace {

TEST(ParseArgumentsTest, AKnownTemplateTakesArguments) {
  EXPECT_EQ(parsed_expression("f<int, 3>(a)", "template <typename T, int N> void f(T);"), "f<int, 3>(a)");
  EXPECT_EQ(parsed_expression("v<int> + 1", "template <typename T> constexpr int v = 1;"), "(v<int> + 1)");
  EXPECT_EQ(parsed_expression("S<int>::x < 3", "template <typename T> struct S { static constexpr int x = 1; };"),
            "(S<int>::x < 3)");
}

TEST(ParseArgumentsTest, AKnownValueIsCompared) {
  EXPECT_EQ(parsed_body("int a = 0, b = 1, c = 2; bool d = a < b && c > (d); f(a < b, c > (b));"),
            "a: int = 0, b: int = 1, c: int = 2; d: bool = ((a < b) && (c > d)); f((a < b), (c > b));");
  EXPECT_EQ(parsed_expression("f < 3", "int f;"), "(f < 3)");
}

TEST(ParseArgumentsTest, NestedArgumentsCloseWithTwoTokens) {
  EXPECT_EQ(parsed_expression("f<S<S<int>>>(a)", "template <typename T> struct S; template <typename T> void f();"),
            "f<S<S<int>>>(a)");
  EXPECT_EQ(parsed_expression("f<(a >> b)>(c)", "template <int> void f(int);"), "f<(a >> b)>(c)");
  EXPECT_EQ(parsed_expression("f<(a > b), sizeof(int) >= 4>(c)", "template <bool...> void f(int);"),
            "f<(a > b), (sizeof<int> >= 4)>(c)");
}

TEST(ParseArgumentsTest, UnknownNamesMayBeTemplates) {
  EXPECT_EQ(parsed_expression("f<int>(a)"), "f<int>(a)");
  EXPECT_EQ(parsed_expression("a::f<int, 3>(b)"), "a::f<int, 3>(b)");
  EXPECT_EQ(parsed_expression("a < b"), "(a < b)");
  EXPECT_EQ(parsed_expression("a < b && c > (d)"), "((a < b) && (c > d))");
  EXPECT_EQ(parsed_expression("f<a>()"), "f<(a)>()");
  EXPECT_EQ(parsed_expression("a::b<int>::c"), "a::b<int>::c");
  EXPECT_EQ(parsed_expression("a::b < 3"), "(a::b < 3)");
}

TEST(ParseArgumentsTest, InADependentScopeTheWordTemplateDecides) {
  EXPECT_EQ(parsed("template <typename T> void f() { T::template g<int>(1); auto a = T::n < 3; }"),
            "<typename T> fn f() -> void { T::g<int>(1); a: auto = (T::n < 3); }");
}

TEST(ParseArgumentsTest, TypesAndValuesAreDistinguished) {
  EXPECT_EQ(parsed_expression("f<float, 1 + 2, a, float(1), const int*, T::x, int[3], g(1)>()",
                              "template <typename... T> void f(); struct T;"),
            "f<float, (1 + 2), (a), <float>(1), const int*, (T::x), int[3], g(1)>()");
  EXPECT_EQ(parsed_expression("f<int(float, long)>()", "template <typename T> void f();"), "f<int(float, long)>()");
  EXPECT_EQ(parsed_expression("f<Missing*, missing>()", "template <typename T> void f();"), "f<Missing*, (missing)>()");
}

TEST(ParseArgumentsTest, ArgumentsCanBeExpanded) {
  EXPECT_EQ(parsed(R"(template <typename... T> struct S;
template <typename... T> S<T..., const T*...> f();)"),
            R"(<typename... T> struct S
<typename... T> fn f() -> S<T..., const T*...>)");
}

TEST(ParseArgumentsTest, EmptyArgumentListsAreKept) {
  EXPECT_EQ(parsed_expression("f<>(1)", "template <typename... T> void f(int);"), "f<>(1)");
}

}  // namespace
}  // namespace kymo::shader::testing
