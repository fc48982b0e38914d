#include <gtest/gtest.h>

#include "shader/parse/parser_test_support.h"

namespace kymo::shader::testing {
namespace {

TEST(ParseFunctionsTest, KernelsByWordAndByAttribute) {
  EXPECT_EQ(parsed(R"(kernel void a(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]);
[[kernel]] void b();
[[max_total_threads_per_threadgroup(64)]] kernel void c();
static kernel void d();)"),
            R"(kernel fn a(x: device float* [[buffer(0)]], i: uint [[thread_position_in_grid]]) -> void
kernel fn b() -> void [[kernel]]
kernel fn c() -> void [[max_total_threads_per_threadgroup(64)]]
kernel static fn d() -> void)");
}

TEST(ParseFunctionsTest, KernelIsANameInOtherPlaces) {
  EXPECT_EQ(parsed_body("float kernel[9]; kernel[0] = 1; f(kernel, vertex); int fragment = 3;"),
            "kernel: float[9]; (kernel[0] = 1); f(kernel, vertex); fragment: int = 3;");
}

TEST(ParseFunctionsTest, OtherStagesAreNamed) {
  EXPECT_EQ(parsed("vertex float4 a(); fragment half4 b(); [[vertex]] float4 c(); [[mesh]] void d();"),
            R"(vertex fn a() -> float4
fragment fn b() -> half4
vertex fn c() -> float4 [[vertex]]
mesh fn d() -> void [[mesh]])");
}

TEST(ParseFunctionsTest, ParametersMayHaveNoNameAndADefault) {
  EXPECT_EQ(
      parsed("void f(int, float a = 1, device float* b = nullptr, int c[3], float4 = float4(0), bool d = 1 > 0);"),
      "fn f(: int, a: float = 1, b: device float* = nullptr, c: int[3], : float4 = <float4>(0), d: bool = (1 > 0)) -> "
      "void");
  EXPECT_EQ(parsed("void f(void); void g(int a, bool b = a < 3);"), R"(fn f() -> void
fn g(a: int, b: bool = (a < 3)) -> void)");
}

TEST(ParseFunctionsTest, ParametersMayBeReferencesToArrays) {
  EXPECT_EQ(parsed(R"(struct T {};
void f(T (&a)[4], float (*b)[2], threadgroup float (&c)[2][3]);
template <typename T, int N> T g(thread T (&a)[N], T (&)[N]);)"),
            R"(struct T { }
fn f(a: (T[4])&, b: (float[2])*, c: (threadgroup float[2][3])&) -> void
<typename T, int N> fn g(a: (thread T[N])&, : (T[N])&) -> T)");
}

TEST(ParseFunctionsTest, TrailingResults) {
  EXPECT_EQ(parsed("auto f(int a) -> decltype(a) { return a; } auto g() -> device float*;"),
            R"(fn f(a: int) -> decltype(a) { return a; }
fn g() -> device float*)");
}

TEST(ParseFunctionsTest, PrototypesAndDefinitions) {
  EXPECT_EQ(parsed("int f(int); int f(int a) { return a; } int g(), h(int);"), R"(fn f(: int) -> int
fn f(a: int) -> int { return a; }
fn g() -> int
fn h(: int) -> int)");
}

TEST(ParseFunctionsTest, Operators) {
  EXPECT_EQ(parsed(R"(S operator+(S a, S b);
bool operator<(S a, S b);
S operator>>(S a, int b);
S operator-(S a);
void operator,(S a, S b);
bool operator==(S, S);
S& operator+=(S& a, S b);
bool operator!(S);)"),
            R"(fn operator+(a: S, b: S) -> S
fn operator<(a: S, b: S) -> bool
fn operator>>(a: S, b: int) -> S
fn operator-(a: S) -> S
fn operator,(a: S, b: S) -> void
fn operator==(: S, : S) -> bool
fn operator+=(a: S&, b: S) -> S&
fn operator!(: S) -> bool)");
}

TEST(ParseFunctionsTest, PacksOfParameters) {
  EXPECT_EQ(parsed("template <typename... A> void f(A... a, thread A&... b, A&&... c, A...);"),
            "<typename... A> fn f(a...: A, b...: thread A&, c...: A&&, ...: A) -> void");
}

TEST(ParseFunctionsTest, AutoParametersMakeATemplate) {
  EXPECT_EQ(parsed("auto f(auto a, auto b) { return a + b; }"),
            "<typename auto#1, typename auto#2> fn f(a: auto#1, b: auto#2) -> auto { return (a + b); }");
}

TEST(ParseFunctionsTest, MembersAreDefinedOutside) {
  EXPECT_EQ(
      parsed(R"(struct S { struct T {}; void f(); S(int); ~S(); operator float() const; static int n; };
void S::f() { T * t; }
S::S(int a) : n(a) {}
S::~S() {}
S::operator float() const { return 1; }
int S::n = 3;
S::T S::g(T t) { return t; })"),
      R"(struct S { struct T { }; fn f() -> void; fn S(: int); fn ~S(); fn operator float() const; static n: int; }
fn S::f() -> void { t: T*; }
fn S::S(a: int) : n(a) { }
fn S::~S() { }
fn S::operator float() const { return 1; }
S::n: int = 3
fn S::g(t: T) -> S::T { return t; })");
}

TEST(ParseFunctionsTest, MembersOfNamespacesAreDefinedOutside) {
  EXPECT_EQ(parsed(R"(namespace a { struct S {}; void f(S); }
void a::f(S s) { S * t; }
float4 ::a::g() { S * t; })"),
            R"(namespace a { struct S { }; fn f(: S) -> void; }
fn a::f(s: S) -> void { t: S*; }
fn ::a::g() -> float4 { t: S*; })");
  EXPECT_EQ(parsed(R"(namespace a { template <typename T> kernel void f(T); }
template kernel void ::a::f<int>(int);)"),
            R"(namespace a { <typename T> kernel fn f(: T) -> void; }
kernel instantiate kernel fn ::a::f<int>(: int) -> void)");
}

TEST(ParseFunctionsTest, FunctionsOfAStructHaveASpaceForThis) {
  EXPECT_EQ(parsed(R"(struct S {
  int f() const; int g() device; int h() const constant;
  int i() const threadgroup; thread int& j() thread;
  int k() const & ; };)"),
            "struct S { fn f() const -> int; fn g() device -> int; fn h() const constant -> int; fn i() const "
            "threadgroup -> int; fn j() thread -> thread int&; fn k() const -> int; }");
}

}  // namespace
}  // namespace kymo::shader::testing
