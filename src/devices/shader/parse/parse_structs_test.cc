#include <gtest/gtest.h>

#include "shader/parse/parser_test_support.h"

namespace kymo::shader::testing {
namespace {

TEST(ParseStructsTest, FieldsInAllShapes) {
  EXPECT_EQ(parsed("struct S { float a, *b, c[2]; device float* d; int e = 1; int f{2}; float4 g [[position]]; };"),
            "struct S { a: float; b: float*; c: float[2]; d: device float*; e: int = 1; f: int = {2}; g: float4 "
            "[[position]]; }");
}

TEST(ParseStructsTest, AccessIsKept) {
  EXPECT_EQ(parsed(R"(struct S { int a; private: int b; protected: int c; public: int d; };
class C { int a; public: int b; };)"),
            R"(struct S { a: int; private b: int; protected c: int; d: int; }
struct C { private a: int; b: int; })");
}

TEST(ParseStructsTest, Constructors) {
  EXPECT_EQ(parsed(R"(struct S {
  S() = default; S(int a) : x(a), y{a, 1}, B<int>(2) {}
  explicit S(float); constexpr S(const thread S&) = delete;
  template <typename T> S(T t) : x(t) {} int x; int y[2];
  };)"),
            "struct S { fn S() = default; fn S(a: int) : x(a), y({a, 1}), B<int>(2) { }; explicit fn S(: float); "
            "constexpr fn S(: thread const S&) = delete; <typename T> fn S(t: T) : x(t) { }; x: int; y: int[2]; }");
}

TEST(ParseStructsTest, AConstructorMayBeNamedWithTheArgumentsOfItsTemplate) {
  EXPECT_EQ(parsed("template <typename T> struct S { T x; constexpr S<T>() = default; S<T>(T a) : x(a) {} };"),
            "<typename T> struct S { x: T; constexpr fn S() = default; fn S(a: T) : x(a) { }; }");
}

TEST(ParseStructsTest, ConversionsAndOperators) {
  EXPECT_EQ(parsed(R"(struct S {
  operator float() const { return 1; } explicit operator bool() const;
  operator device float*(); int operator()(int a) const;
  thread int& operator[](int i); S& operator++(); S operator++(int);
  S* operator->(); };)"),
            "struct S { fn operator float() const { return 1; }; explicit fn operator bool() const; fn operator device "
            "float*(); fn operator()(a: int) const -> int; fn operator[](i: int) -> thread int&; fn operator++() -> "
            "S&; fn operator++(: int) -> S; fn operator->() -> S*; }");
}

TEST(ParseStructsTest, StaticMembersAndNestedTypes) {
  EXPECT_EQ(parsed(R"(struct S {
  static constexpr constant int n = 3; using T = int;
  typedef float U; enum E { a }; struct I { T t; };
  static int f(T t) { return I{t}.t; } };)"),
            "struct S { static constexpr n: constant int = 3; type T = int; type U = float; enum E { a }; struct I { "
            "t: T; }; static fn f(t: T) -> int { return I{t}.t; }; }");
}

TEST(ParseStructsTest, BodiesSeeLaterMembers) {
  EXPECT_EQ(parsed("struct S { void f() { T * t; g<int>(1); } using T = int; template <typename U> void g(U); };"),
            "struct S { fn f() -> void { t: T*; g<int>(1); }; type T = int; <typename U> fn g(: U) -> void; }");
}

TEST(ParseStructsTest, BasesAndTheirNames) {
  EXPECT_EQ(parsed(R"(struct A { struct T {}; template <typename U> void f(); };
struct B : A {};
struct C : public B, private D<int> { T * t; void g() { f<int>(); } };)"),
            R"(struct A { struct T { }; <typename U> fn f() -> void; }
struct B : A { }
struct C : B, D<int> { t: T*; fn g() -> void { f<int>(); }; })");
}

TEST(ParseStructsTest, UnionsAndStructsWithoutAName) {
  EXPECT_EQ(parsed(R"(union U { float f; uint u; };
struct S { union { int a; float b; }; struct { int c; } d; };)"),
            R"(union U { f: float; u: uint; }
struct S { union struct#1 { a: int; b: float; }; #1: struct#1; struct struct#2 { c: int; }; d: struct#2; })");
}

TEST(ParseStructsTest, FriendFunctionsAreInTheNamespace) {
  EXPECT_EQ(
      parsed(R"(namespace n {
  struct S { int a; friend S operator+(S a, S b) { return S{a.a}; } friend bool f(S); friend struct T; friend U; };
  })"),
      "namespace n { struct S { a: int; }; fn operator+(a: S, b: S) -> S { return S{a.a}; }; fn f(: S) -> bool; }");
}

TEST(ParseStructsTest, FriendsOfATemplateAreTemplates) {
  EXPECT_EQ(parsed(R"(template <typename T, int N> struct S {
  using V = T; static constexpr int k = N; friend V operator+(S a, V b) { return k; }
  friend S<int, 1> g(S); template <typename U> friend U f(S s, U u) { return u; }
  };)"),
            R"(<typename T, int N> struct S { type V = T; static constexpr k: int = N; }
<typename T, int N> fn operator+(a: S<T, (N)>, b: S<T, (N)>::V) -> S<T, (N)>::V { return S<T, (N)>::k; }
<typename T, int N> fn g(: S<T, (N)>) -> S<int, 1>
<typename T, int N, typename U> fn f(s: S<T, (N)>, u: U) -> U { return u; })");
}

TEST(ParseStructsTest, FriendsOfANestedStructSeeTheOuterStruct) {
  EXPECT_EQ(parsed("struct O { struct I { friend bool operator==(I a, I b) { return true; } }; };"),
            R"(struct O { struct I { }; }
fn operator==(a: O::I, b: O::I) -> bool { return true; })");
}

TEST(ParseStructsTest, ForwardDeclarationsAndElaboratedNames) {
  EXPECT_EQ(parsed(R"(struct S;
struct S* p;
struct S { struct S* next; };
void f(struct S s, enum E e);
struct T x;)"),
            R"(struct S
p: S*
struct S { next: S*; }
fn f(s: S, e: E) -> void
x: T)");
}

TEST(ParseStructsTest, LocalStructs) {
  EXPECT_EQ(
      parsed_body("struct S { int a; int f() { return g(); } int g() { return a; } } s; S * t; enum E { x } e = x;"),
      "struct S { a: int; fn f() -> int { return g(); }; fn g() -> int { return a; }; }, s: S; t: S*; enum E { x }, e: "
      "E = x;");
}

TEST(ParseStructsTest, FinalIsAllowed) {
  EXPECT_EQ(parsed("struct S final { int a; }; struct T final : S {};"), R"(struct S { a: int; }
struct T : S { })");
}

}  // namespace
}  // namespace kymo::shader::testing
