#include <gtest/gtest.h>

#include "shader/parse/parser_test_support.h"

namespace kymo::shader::testing {
namespace {

TEST(ParseTemplatesTest, ParametersOfAllKinds) {
  EXPECT_EQ(parsed("template <typename T, class U = int, int N = 3, typename... A, bool... B> struct S;"),
            "<typename T, typename U = int, int N = 3, typename... A, bool... B> struct S");
  EXPECT_EQ(parsed("template <template <typename, int> class C, template <typename...> typename D = E, typename "
                   "T::type V, auto W> struct S;"),
            "<template C, template D = E, T::type V, auto W> struct S");
}

TEST(ParseTemplatesTest, ParametersWithoutANameCarryConditions) {
  EXPECT_EQ(parsed(R"(template <bool B, typename T = void> using enable_if_t = T;
template <typename T, enable_if_t<(sizeof(T) > 2), bool> = true> T f(T t);
template <typename T, typename = void> struct S;
template <typename T, typename = enable_if_t<T::value>> void g();)"),
            R"(<bool B, typename T = void> type enable_if_t = T
<typename T, enable_if_t<(sizeof<T> > 2), bool> = true> fn f(t: T) -> T
<typename T, typename = void> struct S
<typename T, typename = enable_if_t<(T::value)>> fn g() -> void)");
}

TEST(ParseTemplatesTest, SpecialisationsAreQualified) {
  EXPECT_EQ(parsed(R"(template <typename T> struct S {};
template <> struct S<int> {};
template <typename T> struct S<T*> {};
template <typename T> T f(T);
template <> int f<int>(int a) { return a; }
template <> float f(float a);
template <typename T> constexpr bool v = false;
template <> constexpr bool v<int> = true;)"),
            R"(<typename T> struct S { }
<> struct S<int> { }
<typename T> struct S<T*> { }
<typename T> fn f(: T) -> T
<> fn f<int>(a: int) -> int { return a; }
<> fn f(a: float) -> float
<typename T> constexpr v: bool = false
<> constexpr v<int>: bool = true)");
}

TEST(ParseTemplatesTest, MembersOfATemplateAreDefinedOutside) {
  EXPECT_EQ(
      parsed(R"(template <typename T> struct S {
  using V = T; V f(); S(T); template <typename U> void g(U);
  static T n; };
template <typename T> typename S<T>::V S<T>::f() { V v; return v; }
template <typename T> S<T>::S(T t) {}
template <typename T> template <typename U> void S<T>::g(U u) {}
template <typename T> T S<T>::n = 0;
template <> int S<int>::f() { return 1; }
template <typename T> struct S<T>::I {};)"),
      R"(<typename T> struct S { type V = T; fn f() -> V; fn S(: T); <typename U> fn g(: U) -> void; static n: T; }
outer<typename T> fn S<T>::f() -> S<T>::V { v: V; return v; }
outer<typename T> fn S<T>::S(t: T) { }
outer<typename T> <typename U> fn S<T>::g(u: U) -> void { }
outer<typename T> S<T>::n: T = 0
outer<> fn S<int>::f() -> int { return 1; }
outer<typename T> struct S<T>::I { })");
}

TEST(ParseTemplatesTest, ExplicitInstantiations) {
  EXPECT_EQ(parsed(R"(template <typename T> void f(T);
template void f<int>(int);
template [[host_name("f_half")]] kernel void f<half>(half);
template [[host_name("g")]] [[kernel]] decltype(f<int>) f<int>;
template struct S<int>;
extern template void f<long>(long);)"),
            R"(<typename T> fn f(: T) -> void
instantiate fn f<int>(: int) -> void
kernel instantiate kernel fn f<half>(: half) -> void [[host_name("f_half")]]
kernel instantiate kernel f<int>: decltype(f<int>) [[host_name("g")]] [[kernel]]
instantiate struct S<int>)");
}

TEST(ParseTemplatesTest, VariableTemplates) {
  EXPECT_EQ(parsed(R"(template <typename T> constant constexpr T pi = T(3.14);
template <typename T> struct S { template <int N> static constexpr constant int k = N; };
float a = pi<float> * 2;)"),
            R"(<typename T> constexpr pi: constant T = <T>(3.14)
<typename T> struct S { <int N> static constexpr k: constant int = N; }
a: float = (pi<float> * 2))");
}

TEST(ParseTemplatesTest, MemberTemplatesAndNestedOnes) {
  EXPECT_EQ(parsed(R"(template <typename T> struct S {
  template <typename U> struct I { U u; }; template <typename U> using A = I<U>;
  };
template <typename T> void f() {
  typename S<T>::template I<int> a; typename S<T>::template A<int> b;
  S<int>::I<float> c; })"),
            R"(<typename T> struct S { <typename U> struct I { u: U; }; <typename U> type A = I<U>; }
<typename T> fn f() -> void { a: S<T>::I<int>; b: S<T>::A<int>; c: S<int>::I<float>; })");
}

TEST(ParseTemplatesTest, NamesOfASpecialisationAreKnown) {
  EXPECT_EQ(parsed(R"(template <typename T> struct S;
template <> struct S<int> { using type = float; template <typename U> static U f(); };
void g() { S<int>::type * a; S<int>::f<int>(); })"),
            R"(<typename T> struct S
<> struct S<int> { type type = float; <typename U> static fn f() -> U; }
fn g() -> void { a: S<int>::type*; S<int>::f<int>(); })");
}

TEST(ParseTemplatesTest, PackExpansionOfBases) {
  EXPECT_EQ(parsed("template <typename... B> struct S : B... { using B::operator()...; S(B... b) : B(b)... {} };"),
            "<typename... B> struct S : B... { using B::operator()...; fn S(b...: B) : B(b)... { }; }");
}

TEST(ParseTemplatesTest, ATemplateParameterHidesOuterNames) {
  EXPECT_EQ(parsed("int T; template <typename T> void f() { T * t; } void g() { T * t; }"), R"(T: int
<typename T> fn f() -> void { t: T*; }
fn g() -> void { (T * t); })");
}

TEST(ParseTemplatesTest, TypenameDecidesInADependentScope) {
  EXPECT_EQ(parsed("template <typename T> void f() { typename T::a * b; T::c * d + 1; T::e f; }"),
            "<typename T> fn f() -> void { b: T::a*; ((T::c * d) + 1); f: T::e; }");
}

}  // namespace
}  // namespace kymo::shader::testing
