#include <gtest/gtest.h>

#include "shader/parse/parser_test_support.h"

namespace kymo::shader::testing {
namespace {

TEST(ParseTypesTest, NumbersMayBeSpelledOut) {
  EXPECT_EQ(parsed(R"(unsigned int a;
unsigned b;
long long c;
unsigned long long int d;
signed char e;
short int f;
unsigned short g;
long unsigned h;
long double i;
int j;
char k;)"),
            R"(a: uint
b: uint
c: long
d: ulong
e: char
f: short
g: ushort
h: ulong
i: double
j: int
k: char)");
}

TEST(ParseTypesTest, BuiltinNamesAreTypesFromTheStart) {
  EXPECT_EQ(parsed_body("half4 a; packed_float3 b; bool2 c; bfloat d; float4x4 e; atomic_uint f; size_t g; uint8_t h; "
                        "ulong3 i; ptrdiff_t j; atomic<int> k; vec<float, 2> l;"),
            "a: half4; b: packed_float3; c: bool2; d: bfloat; e: float4x4; f: atomic_uint; g: size_t; h: uint8_t; i: "
            "ulong3; j: ptrdiff_t; k: atomic<int>; l: vec<float, 2>;");
}

TEST(ParseTypesTest, AddressSpacesMayBeAnywhereInTheSpecifiers) {
  EXPECT_EQ(parsed(R"(device const float* a;
const device float* b;
float device const* c;
constant float& d;
threadgroup float e[4];
thread int* device* f;
device float* const constant* g;)"),
            R"(a: device const float*
b: device const float*
c: device const float*
d: constant float&
e: threadgroup float[4]
f: thread int* device*
g: device float* constant const*)");
}

TEST(ParseTypesTest, PointersReferencesAndArraysNest) {
  EXPECT_EQ(parsed(R"(int** a;
int* const* b;
int& c;
int&& d;
int e[2][3];
int* f[4];
int (*g)[4];
int (&h)[2][3];
int i[];
int (*j[2])[3];)"),
            R"(a: int**
b: int* const*
c: int&
d: int&&
e: int[2][3]
f: int*[4]
g: (int[4])*
h: (int[2][3])&
i: int[]
j: (int[3])*[2])");
}

TEST(ParseTypesTest, UnusedQualifiersAreDropped) {
  EXPECT_EQ(parsed(R"(volatile device atomic_int* a;
extern constant int b;
device float* __restrict c;
__attribute__((always_inline)) inline void f() noexcept;
register int d;)"),
            R"(a: device atomic_int*
b: constant int
c: device float*
inline fn f() -> void
d: int)");
}

TEST(ParseTypesTest, AutoDecltypeAndTypename) {
  EXPECT_EQ(
      parsed_body("auto a = 1; const auto& b = a; decltype(a + 1) c; typename T::type d; typename T::template "
                  "rebind<int>::other e; auto* f = &a;"),
      "a: auto = 1; b: const auto& = a; c: decltype((a + 1)); d: T::type; e: T::rebind<int>::other; f: auto* = (&a);");
}

TEST(ParseTypesTest, ConstexprStaticAndInline) {
  EXPECT_EQ(parsed(R"(constant constexpr auto a = 64;
static constexpr constant float b = 1;
inline constexpr int c = 2;
constexpr constant int d[] = {1, 2};)"),
            R"(constexpr a: constant auto = 64
static constexpr b: constant float = 1
inline constexpr c: int = 2
constexpr d: constant int[] = {1, 2})");
}

TEST(ParseTypesTest, AttributesAreAllowedInAllPlacesOfMetal) {
  EXPECT_EQ(parsed(R"([[a]] int b [[c(1)]] [[d, e("f", 2)]];
[[kymo::op(add, 1)]] int g;
struct [[h]] S { int i [[j(0)]]; [[k]] int l; };
alignas(16) float m;
alignas(float4) float n;)"),
            R"(b: int [[a]] [[c(1)]] [[d]] [[e("f", 2)]]
g: int [[kymo::op(add, 1)]]
struct [[h]] S { i: int [[j(0)]]; l: int [[k]]; }
m: float [[alignas(16)]]
n: float [[alignas(alignof<float4>)]])");
}

TEST(ParseTypesTest, OnlyAttributesOfTheLayoutCountAmongThoseOfOtherCompilers) {
  EXPECT_EQ(parsed(R"(struct __attribute__((aligned(16), unused)) S { int i; };
__extension__ __attribute__((always_inline, vec_type_hint(float4))) int f();)"),
            R"(struct [[alignas(16)]] S { i: int; }
fn f() -> int)");
  EXPECT_EQ(parse_errors("struct __attribute__((packed)) S { char c; int i; };"),
            "1:23: packed structs (\"__attribute__((packed))\") are not supported: use packed_float3 and its "
            "relatives, or bytes");
}

TEST(ParseTypesTest, FunctionTypesAreKept) {
  EXPECT_EQ(parsed(R"(using F = float(int, thread float&);
typedef void (G)(int, float x);
typedef void H(int);
template <typename R, typename... A> struct S<R(A...)>;)"),
            R"(type F = float(int, thread float&)
type G = void(int, float)
type H = void(int)
<typename R, typename... A> struct S<R(A...)>)");
}

}  // namespace
}  // namespace kymo::shader::testing
