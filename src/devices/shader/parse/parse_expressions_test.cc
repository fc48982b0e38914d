#include <gtest/gtest.h>

#include "shader/parse/parser_test_support.h"

namespace kymo::shader::testing {
namespace {

TEST(ParseExpressionsTest, ElementsByTheirIndex) {
  EXPECT_EQ(parsed("int a[8] = {[1] = 2, 3, [N - 2 ... N - 1] = {4}, [](int x) { return x; }(5)};"),
            "a: int[8] = {[1] = 2, 3, [(N - 2), (N - 1)] = {4}, [](x: int) -> auto { return x; }(5)}");
}

TEST(ParseExpressionsTest, OperatorsBindAsInC) {
  EXPECT_EQ(parsed_expression("a + b * c - d"), "((a + (b * c)) - d)");
  EXPECT_EQ(parsed_expression("a << 1 + b"), "(a << (1 + b))");
  EXPECT_EQ(parsed_expression("a & b == c"), "(a & (b == c))");
  EXPECT_EQ(parsed_expression("a | b ^ c & d"), "(a | (b ^ (c & d)))");
  EXPECT_EQ(parsed_expression("a && b || c && d"), "((a && b) || (c && d))");
  EXPECT_EQ(parsed_expression("a < b == c > d"), "((a < b) == (c > d))");
  EXPECT_EQ(parsed_expression("a = b += c"), "(a = (b += c))");
  EXPECT_EQ(parsed_expression("a / b % c"), "((a / b) % c)");
}

TEST(ParseExpressionsTest, PrefixAndPostfixOperators) {
  EXPECT_EQ(parsed_expression("-a * !b"), "((-a) * (!b))");
  EXPECT_EQ(parsed_expression("~a & *b"), "((~a) & (*b))");
  EXPECT_EQ(parsed_expression("++a - b--"), "((++a) - (b--))");
  EXPECT_EQ(parsed_expression("&a[1]"), "(&a[1])");
  EXPECT_EQ(parsed_expression("- -a"), "(-(-a))");
}

TEST(ParseExpressionsTest, TheConditionalOperatorGroupsFromTheRight) {
  EXPECT_EQ(parsed_expression("a ? b : c ? d : e"), "(a ? b : (c ? d : e))");
  EXPECT_EQ(parsed_expression("a ? b ? 1 : 2 : 3"), "(a ? (b ? 1 : 2) : 3)");
  EXPECT_EQ(parsed_expression("a ? b : c = d"), "(a ? b : (c = d))");
}

TEST(ParseExpressionsTest, CommasEvaluateBoth) { EXPECT_EQ(parsed_expression("(a, b, c)"), "((a, b), c)"); }

TEST(ParseExpressionsTest, ShiftsAreTwoTokensThatTouch) {
  EXPECT_EQ(parsed_expression("a >> b"), "(a >> b)");
  EXPECT_EQ(parsed_expression("a > (b > c)"), "(a > (b > c))");
  EXPECT_EQ(parsed_expression("a >> b >> c"), "((a >> b) >> c)");
  EXPECT_EQ(parsed_expression("a > > b"), R"(1:14: expected an expression, found ">")");
}

TEST(ParseExpressionsTest, CallsIndicesAndMembersChain) {
  EXPECT_EQ(parsed_expression("a.b->c(1, 2)[3].d()"), "a.b->c(1, 2)[3].d()");
}

TEST(ParseExpressionsTest, MemberTemplatesNeedTheWordTemplateOrADeclaration) {
  EXPECT_EQ(parsed_expression("x.template f<int>(1)"), "x.f<int>(1)");
  EXPECT_EQ(parsed_expression("x.f<int>(1)", "struct S { template <typename T> void f(T); };"), "x.f<int>(1)");
  EXPECT_EQ(parsed_expression("x.f < 1"), "(x.f < 1)");
  EXPECT_EQ(parsed_expression("x.f<a>(b)"), "((x.f < a) > b)");
}

TEST(ParseExpressionsTest, CStyleCastsNeedAType) {
  EXPECT_EQ(parsed_expression("(float)a + b"), "(<float>(a) + b)");
  EXPECT_EQ(parsed_expression("(a) + b"), "(a + b)");
  EXPECT_EQ(parsed_expression("(a) - b"), "(a - b)");
  EXPECT_EQ(parsed_expression("(device float*)p"), "<device float*>(p)");
  EXPECT_EQ(parsed_expression("(unsigned long)-1"), "<ulong>((-1))");
  EXPECT_EQ(parsed_expression("(T)(a)", "struct T {};"), "<T>(a)");
  EXPECT_EQ(parsed_expression("(float4)(a, b)"), "<float4>((a, b))");
  EXPECT_EQ(parsed_expression("(a)(b)"), "a(b)");
}

TEST(ParseExpressionsTest, CastsToUnknownTypesAreCasts) {
  EXPECT_EQ(parsed_expression("(Missing)a"), "<Missing>(a)");
  EXPECT_EQ(parsed_expression("(Missing*)a"), "<Missing*>(a)");
  EXPECT_EQ(parsed_expression("(missing)(a)"), "missing(a)");
}

TEST(ParseExpressionsTest, NamedCasts) {
  EXPECT_EQ(parsed_expression("static_cast<float>(a)"), "static_cast<float>(a)");
  EXPECT_EQ(parsed_expression("reinterpret_cast<device const uint2*>(p + 1)"),
            "reinterpret_cast<device const uint2*>((p + 1))");
  EXPECT_EQ(parsed_expression("const_cast<thread int&>(a)"), "const_cast<thread int&>(a)");
  EXPECT_EQ(parsed_expression("as_type<uint>(1.0f)"), "as_type<uint>(1.0f)");
  EXPECT_EQ(parsed_expression("metal::as_type<uint>(1.0f)", "namespace metal {}"), "as_type<uint>(1.0f)");
  EXPECT_EQ(parsed_expression("static_cast<vec<float, 4>>(a)"), "static_cast<vec<float, 4>>(a)");
}

TEST(ParseExpressionsTest, ConstructionsTakeAnyNumberOfArguments) {
  EXPECT_EQ(parsed_expression("float(1)"), "<float>(1)");
  EXPECT_EQ(parsed_expression("float4(a, b.xy, 1)"), "<float4>(a, b.xy, 1)");
  EXPECT_EQ(parsed_expression("float4()"), "<float4>()");
  EXPECT_EQ(parsed_expression("vec<T, 4>(1)"), "<vec<(T), 4>>(1)");
  EXPECT_EQ(parsed_expression("unsigned(1) + 2"), "(<uint>(1) + 2)");
  EXPECT_EQ(parsed_expression("typename T::type(1)"), "<T::type>(1)");
  EXPECT_EQ(parsed_expression("metal::float2(1, 2)", "namespace metal {}"), "<float2>(1, 2)");
  EXPECT_EQ(parsed_expression("decltype(a)(1)"), "<decltype(a)>(1)");
}

TEST(ParseExpressionsTest, BracesMakeValues) {
  EXPECT_EQ(parsed_expression("{1, {2, 3}, {}}"), "{1, {2, 3}, {}}");
  EXPECT_EQ(parsed_expression("float2{1, 2}.x"), "float2{1, 2}.x");
  EXPECT_EQ(parsed_expression("S<int>{1,}", "template <typename T> struct S;"), "S<int>{1}");
  EXPECT_EQ(parsed_expression("f({1, 2}, {})"), "f({1, 2}, {})");
  EXPECT_EQ(parsed_expression("Missing{1}"), "Missing{1}");
  EXPECT_EQ(parsed_expression("(float2){1, 2}"), "float2{1, 2}");
}

TEST(ParseExpressionsTest, LiteralsStayAsTheyWereWritten) {
  EXPECT_EQ(parsed_expression("0x1fU + 1.5h + 'a' + 1e3f + 0b11"), "((((0x1fU + 1.5h) + 'a') + 1e3f) + 0b11)");
  EXPECT_EQ(parsed_expression("true ? nullptr : false"), "(true ? nullptr : false)");
}

TEST(ParseExpressionsTest, AdjacentStringsAreJoinedAndDecoded) {
  EXPECT_EQ(parsed_expression(R"("ab" "c\n\x41\101\0")"), R"("abc\x0aAA\x00")");
  EXPECT_EQ(parsed_expression(R"("plain")"), R"("plain")");
  EXPECT_EQ(parsed_expression(R"("q\"q")"), R"("q\"q")");
  EXPECT_EQ(parsed_expression(R"x(R"(a\n)")x"), R"("a\\n")");
}

TEST(ParseExpressionsTest, SizesOfTypesValuesAndPacks) {
  EXPECT_EQ(parsed_expression("sizeof(float4)"), "sizeof<float4>");
  EXPECT_EQ(parsed_expression("sizeof(a)"), "sizeof(a)");
  EXPECT_EQ(parsed_expression("sizeof a + 1"), "(sizeof(a) + 1)");
  EXPECT_EQ(parsed_expression("sizeof(a).b"), "sizeof(a.b)");
  EXPECT_EQ(parsed_expression("sizeof...(a)"), "sizeof...(a)");
  EXPECT_EQ(parsed_expression("alignof(float)"), "alignof<float>");
  EXPECT_EQ(parsed_expression("sizeof(a[0]) / sizeof(float)"), "(sizeof(a[0]) / sizeof<float>)");
  EXPECT_EQ(parsed_expression("sizeof(const device float*)"), "sizeof<device const float*>");
}

TEST(ParseExpressionsTest, ThisIsAName) {
  EXPECT_EQ(parsed_expression("this->a + (*this).b"), "(this->a + (*this).b)");
}

TEST(ParseExpressionsTest, FunctionNamesAreNames) {
  EXPECT_EQ(parsed_expression("__func__"), "__func__");
  EXPECT_EQ(parsed_expression("f(__PRETTY_FUNCTION__)"), "f(__PRETTY_FUNCTION__)");
}

TEST(ParseExpressionsTest, OperatorsCanBeCalledByName) {
  EXPECT_EQ(parsed_expression("a.operator+(b)"), "a.operator+(b)");
  EXPECT_EQ(parsed_expression("a.operator()(b)"), "a.operator()(b)");
  EXPECT_EQ(parsed_expression("operator==(a, b)"), "operator==(a, b)");
  EXPECT_EQ(parsed_expression("a.operator[](1)"), "a.operator[](1)");
  EXPECT_EQ(parsed_expression("a.template operator()<int>(1)"), "a.operator()<int>(1)");
  EXPECT_EQ(parsed_expression("a.operator float()"), "a.operator float()");
}

TEST(ParseExpressionsTest, FoldsKeepTheirDirection) {
  EXPECT_EQ(parsed("template <typename... A> auto f(A... a) { return (a + ...); }"),
            "<typename... A> fn f(a...: A) -> auto { return (a + ...); }");
  EXPECT_EQ(parsed("template <typename... A> auto f(A... a) { return (... && a); }"),
            "<typename... A> fn f(a...: A) -> auto { return (... && a); }");
  EXPECT_EQ(parsed("template <typename... A> auto f(A... a) { return (1 * ... * g(a)); }"),
            "<typename... A> fn f(a...: A) -> auto { return (1 * ... * g(a)); }");
  EXPECT_EQ(parsed("template <typename... A> auto f(A... a) { return (g(a) >> ... >> 1); }"),
            "<typename... A> fn f(a...: A) -> auto { return (g(a) >> ... >> 1); }");
  EXPECT_EQ(parsed("template <typename... A> void f(A... a) { (g(a), ...); }"),
            "<typename... A> fn f(a...: A) -> void { (g(a) , ...); }");
  EXPECT_EQ(parsed("template <typename... A> auto f() { return (sizeof(A) + ... + 0); }"),
            "<typename... A> fn f() -> auto { return (sizeof<A> + ... + 0); }");
}

TEST(ParseExpressionsTest, PacksAreExpandedInArguments) {
  EXPECT_EQ(parsed_expression("f(a, g(b)..., c...)"), "f(a, g(b)..., c...)");
  EXPECT_EQ(parsed_expression("S<T...>{a...}", "template <typename... T> struct S;"), "S<(T)...>{a...}");
}

TEST(ParseExpressionsTest, AlternativeTokens) {
  EXPECT_EQ(parsed_expression("not a and b or c"), "(((!a) && b) || c)");
}

TEST(ParseExpressionsTest, LongChainsOfOperatorsAreAllowed) {
  EXPECT_EQ(parsed_expression("a + a + a + a + a + a + a + a"), "(((((((a + a) + a) + a) + a) + a) + a) + a)");
}

}  // namespace
}  // namespace kymo::shader::testing
