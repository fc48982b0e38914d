#include <gtest/gtest.h>

#include "shader/parse/parser_test_support.h"

namespace kymo::shader::testing {
namespace {

TEST(ParseDeclarationsTest, OneDeclarationMayDeclareSeveral) {
  EXPECT_EQ(parsed("int a, *b, c[3], &d = a;"), R"(a: int
b: int*
c: int[3]
d: int& = a)");
}

TEST(ParseDeclarationsTest, VariablesAreInitializedInThreeWays) {
  EXPECT_EQ(parsed_body("int a = 1; int b{2}; int c(3); float4 d(1, 2, 3, 4); int e = {5}; S f({1}, 2);"),
            "a: int = 1; b: int = {2}; c: int(3); d: float4(1, 2, 3, 4); e: int = {5}; f: S({1}, 2);");
}

TEST(ParseDeclarationsTest, AtNamespaceScopeParenthesesAreParametersIfTheyCanBe) {
  EXPECT_EQ(parsed(R"(constant float a(1.0f);
float b(float);
float c();
constant float d(float(1));
constant int e(a);
float f(Missing g);
float h(int[]);
enum class E { x, y };
constexpr int i(E::x, E::y);
struct S { typedef int type; };
int j(S::type);)"),
            R"(a: constant float(1.0f)
fn b(: float) -> float
fn c() -> float
d: constant float(<float>(1))
e: constant int(a)
fn f(g: Missing) -> float
fn h(: int[]) -> float
enum class E { x, y }
constexpr i: int(E::x, E::y)
struct S { type type = int; }
fn j(: S::type) -> int)");
}

TEST(ParseDeclarationsTest, NamespacesNestAndCanBeReopened) {
  EXPECT_EQ(parsed(R"(namespace a { struct S {}; }
namespace a::b { S s; }
namespace a { b::T t; }
inline namespace c { int d; }
namespace { int e; })"),
            R"(namespace a { struct S { }; }
namespace a { namespace b { s: S; }; }
namespace a { t: b::T; }
inline namespace c { d: int; }
namespace { e: int; })");
}

TEST(ParseDeclarationsTest, NamesOfAReopenedNamespaceStayKnown) {
  EXPECT_EQ(parsed(R"(namespace a { template <typename T> T f(); }
namespace a { int x = f<int>(); }
int y = a::f<int>();)"),
            R"(namespace a { <typename T> fn f() -> T; }
namespace a { x: int = f<int>(); }
y: int = a::f<int>())");
}

TEST(ParseDeclarationsTest, UsingDirectivesMakeNamesKnown) {
  EXPECT_EQ(parsed(R"(namespace a { struct S {}; template <typename T> T f(T); }
using namespace a;
void g() { S * s; f<S>(*s); })"),
            R"(namespace a { struct S { }; <typename T> fn f(: T) -> T; }
using namespace a
fn g() -> void { s: S*; f<S>((*s)); })");
}

TEST(ParseDeclarationsTest, UsingDeclarationsMakeNamesKnown) {
  EXPECT_EQ(parsed(R"(namespace a { template <typename T> struct S; }
using a::S;
using ::b::c, d::e;
void g() { S<int> x; })"),
            R"(namespace a { <typename T> struct S; }
using a::S
using ::b::c
using d::e
fn g() -> void { x: S<int>; })");
}

TEST(ParseDeclarationsTest, NamespaceAliases) {
  EXPECT_EQ(parsed(R"(namespace a { struct S {}; }
namespace b = a;
void g() { b::S * s; namespace c = a; c::S * t; })"),
            R"(namespace a { struct S { }; }
namespace b = a
fn g() -> void { s: b::S*; namespace c = a; t: c::S*; })");
}

TEST(ParseDeclarationsTest, AliasesAndTypedefs) {
  EXPECT_EQ(parsed(R"(using A = device float*;
typedef unsigned char B;
typedef float C[4], *D;
template <typename T> using E = vec<T, 4>;
void f() { A * a; B * b; E<int> c; })"),
            R"(type A = device float*
type B = uchar
type C = float[4]
type D = float*
<typename T> type E = vec<T, 4>
fn f() -> void { a: A*; b: B*; c: E<int>; })");
}

TEST(ParseDeclarationsTest, AnAliasHasTheMembersOfItsType) {
  EXPECT_EQ(parsed(R"(struct S { struct T {}; };
using A = S;
typedef S B;
void f() { A::T * a; B::T * b; })"),
            R"(struct S { struct T { }; }
type A = S
type B = S
fn f() -> void { a: A::T*; b: B::T*; })");
}

TEST(ParseDeclarationsTest, Enums) {
  EXPECT_EQ(parsed(R"(enum A { a, b = 1 << 2, c, };
enum class B : uint { d = 3 };
enum struct C;
enum { e };
enum A f = a;
enum { g } h;)"),
            R"(enum A { a, b = (1 << 2), c }
enum class B: uint { d = 3 }
enum class C
enum { e }
f: A = a
enum enum#1 { g }
h: enum#1)");
}

TEST(ParseDeclarationsTest, EnumeratorsAreValues) {
  EXPECT_EQ(parsed("enum A { a }; enum class B { b }; bool c = a < 1 > (2); bool d = B::b < A::a;"), R"(enum A { a }
enum class B { b }
c: bool = ((a < 1) > 2)
d: bool = (B::b < A::a))");
}

TEST(ParseDeclarationsTest, StaticAsserts) {
  EXPECT_EQ(parsed(R"(static_assert(sizeof(float) == 4, "float");
static_assert(true);
struct S { static_assert(1 < 2, "a" "b"); };)"),
            R"(static_assert((sizeof<float> == 4), "float")
static_assert(true)
struct S { static_assert((1 < 2), "ab"); })");
}

TEST(ParseDeclarationsTest, StructuredBindings) {
  EXPECT_EQ(parsed_body("auto [a, b] = f(); const auto& [c] = g; auto&& [d, e]{h}; thread auto& [i] = j; k = a < b;"),
            "[a, b]: auto = f(); [c]: const auto& = g; [d, e]: auto&& = {h}; [i]: thread auto& = j; (k = (a < b));");
}

TEST(ParseDeclarationsTest, TypedefsOfStructsWithoutANameNameThem) {
  EXPECT_EQ(parsed(R"(typedef struct { int a; } S;
typedef struct T { int b; } T;
typedef enum { x } E;
struct { int c; } d;
S s;
T t;)"),
            R"(struct S { a: int; }
struct T { b: int; }
enum E { x }
struct struct#1 { c: int; }
d: struct#1
s: S
t: T)");
}

TEST(ParseDeclarationsTest, EmptyDeclarationsAreIgnored) { EXPECT_EQ(parsed(";;int a;;"), "a: int"); }

}  // namespace
}  // namespace kymo::shader::testing
