#include "shader/sema/test_sema.h"

// Templates: deduction, specialisation, packs, what is discarded.

namespace kymo::shader {

TEST(TemplatesTest, FunctionsAreInstantiatedOncePerType) {
  EXPECT_EQ("\n" + lowered(R"(template <typename T> T square(T v) { return v * v; }
kernel void f(device float* a, device int* b) { a[0] = square(a[1]) + square(2.0f); b[0] = square(b[1]) + square<int>(2.5f); })"),
            R"(
float square(float v) {
  return (v * v)
}
int square(int v) {
  return (v * v)
}
kernel "f" void f([[buffer(0)]] device float* a, [[buffer(1)]] device int* b) {
  (*(a + 0)) = (square((*(a + 1))) + square(2.0f))
  (*(b + 0)) = (square((*(b + 1))) + square(2))
}
)");
}

TEST(TemplatesTest, ArgumentsAreDeducedFromTypes) {
  EXPECT_EQ("\n" + lines(R"(int n[3] = {1, 2, 3};
b[0] = length(n) + first(b) + lanes(float4(1)) + int(sum(Pair<int>{1, 2})) + size(Fixed<float, 7>());)",
                         R"(template <typename T, int N> int length(thread T (&v)[N]) { return N; }
template <typename T> T first(device T* p) { return p[0]; }
template <typename T, int N> int lanes(vec<T, N> v) { return N; }
template <typename T> struct Pair { T x, y; };
template <typename T> T sum(Pair<T> p) { return p.x + p.y; }
template <typename T, int N> struct Fixed { T v[N]; };
template <typename T, int N> int size(Fixed<T, N> v) { return N; })"),
            R"(
int[3] n [[address_taken]] = int[3]{1, 2, 3}
(*(b + 0)) = ((((3 + first(b)) + 4) + sum(Pair<int>{1, 2})) + 7)
)");
}

TEST(TemplatesTest, TheMoreSpecialisedFunctionIsChosen) {
  EXPECT_EQ("\n" + lines(R"(b[0] = kind(1) + kind(b) + kind(float2(1)) + kind(1.5f);)",
                         R"(template <typename T> int kind(T) { return 1; }
template <typename T> int kind(device T*) { return 2; }
template <typename T, int N> int kind(vec<T, N>) { return 3; }
int kind(float) { return 4; })"),
            R"(
(*(b + 0)) = 10
)");
}

TEST(TemplatesTest, ClassesAreSpecialised) {
  EXPECT_EQ(
      "\n" + lines(R"(b[0] = Size<float>::value + Size<device int*>::value + Size<bool>::value + Size<int[4]>::value;)",
                   R"(template <typename T> struct Size { static constexpr int value = sizeof(T); };
template <typename T> struct Size<device T*> { static constexpr int value = -1; };
template <> struct Size<bool> { static constexpr int value = -2; };
template <typename T, int N> struct Size<T[N]> { static constexpr int value = N; };)"),
      R"(
(*(b + 0)) = 5
)");
}

TEST(TemplatesTest, ValuesAreArguments) {
  EXPECT_EQ(
      "\n" + lines(R"(b[0] = Factorial<5>::value + twice<4>() + pick<Op::Mul>(3, 4) + pick<Op::Add>(3, 4);)",
                   R"(template <int N> struct Factorial { static constexpr int value = N * Factorial<N - 1>::value; };
template <> struct Factorial<0> { static constexpr int value = 1; };
template <int N> int twice() { return N * 2; }
enum class Op { Add, Mul };
template <Op O> int pick(int x, int y) { if constexpr (O == Op::Add) return x + y; else return x * y; })"),
      R"(
(*(b + 0)) = ((128 + pick(3, 4)) + pick(3, 4))
)");
}

TEST(TemplatesTest, PacksAreExpanded) {
  EXPECT_EQ("\n" + lowered(R"(template <typename... T> int count(T... t) { return sizeof...(T); }
template <typename T> T sum(T v) { return v; }
template <typename T, typename... R> T sum(T v, R... rest) { return v + sum(rest...); }
template <typename... T> bool all_positive(T... t) { return (... && (t > 0)); }
template <typename... T> float folded(T... t) { return (t + ... + 1); }
template <typename... T> void put(device float* p, T... t) { int k = 0; ((p[k++] = t), ...); }
template <typename... T> float listed(T... t) { float v[] = {float(t)...}; return v[0]; }
kernel void f(device float* a) { a[0] = count(1, 2.5f) + count() + sum(1, 2, 3) + all_positive(1, 2) + folded(1, 2.5f) + listed(1, 2); put(a, 1, 2.5f); })"),
            R"(
int count(int t, float t) {
  return 2
}
int count() {
  return 0
}
int sum(int v) {
  return v
}
int sum(int v, int rest) {
  return (v + sum(rest))
}
int sum(int v, int rest, int rest) {
  return (v + sum(rest, rest))
}
bool all_positive(int t, int t) {
  return ((t > 0) && (t > 0))
}
float folded(int t, float t) {
  return (float(t) + (t + 1.0f))
}
float listed(int t, int t) {
  float[2] v = float[2]{float(t), float(t)}
  return v[0]
}
void put(device float* p, int t, float t) {
  int k = 0
  int t = k
  k = (t + 1)
  (*(p + t)) = float(t)
  int t = k
  k = (t + 1)
  (*(p + t)) = t
}
kernel "f" void f([[buffer(0)]] device float* a) {
  (*(a + 0)) = ((float(((2 + sum(1, 2, 3)) + int(all_positive(1, 2)))) + folded(1, 2.5f)) + listed(1, 2))
  put(a, 1, 2.5f)
}
)");
}

TEST(TemplatesTest, ACandidateThatDoesNotMatchIsNotAnError) {
  EXPECT_EQ("\n" + lines(R"(a[0] = twice(2.5f) + twice(3) + has(H{4}) + only(1.5h);)",
                         R"(template <bool B, typename T = void> struct enable_if {};
template <typename T> struct enable_if<true, T> { using type = T; };
template <bool B, typename T = void> using enable_if_t = typename enable_if<B, T>::type;
template <typename T> constexpr bool is_float = false;
template <> constexpr bool is_float<float> = true;
template <> constexpr bool is_float<half> = true;
template <typename T, enable_if_t<is_float<T>, bool> = true> T twice(T v) { return v + v; }
template <typename T> enable_if_t<!is_float<T>, T> twice(T v) { return v << 1; }
template <typename T> auto has(T v) -> decltype(v.x) { return v.x; }
struct H { int x; };
template <typename T, typename = enable_if_t<is_float<T>>> int only(T) { return 3; })"),
            R"(
(*(a + 0)) = (((twice(2.5f) + float(twice(3))) + float(has(H{4}))) + 3.0f)
)");
}

TEST(TemplatesTest, DefaultsOfParametersAreUsed) {
  EXPECT_EQ("\n" + lines(R"(a[0] = make() + make<4>() + make<5, int>() + Box<>{}.v;)",
                         R"(template <int N = 3, typename T = float> T make() { return T(N); }
template <typename T = float> struct Box { T v = 2; };)"),
            R"(
(*(a + 0)) = (12.0f + Box<float>{2.0f}.v)
)");
}

TEST(TemplatesTest, ArgumentsWithDefaultsAreOmittedInPatterns) {
  const char* const kBox = R"(template <typename T, int N = 2> struct Box { T v; };
template <typename T> T get(Box<T> box) { return box.v; })";
  EXPECT_EQ("\n" + lines("a[0] = get(Box<float>{1.5f});", kBox), R"(
(*(a + 0)) = get(Box<float, 2>{1.5f})
)");
  EXPECT_NE(faults_of("a[0] = get(Box<float, 3>{1.5f});", kBox), "");
}

TEST(TemplatesTest, TemplatesAreArguments) {
  EXPECT_EQ("\n" + lines(R"(a[0] = apply<Negate>(3.0f) + apply<Double>(2);)",
                         R"(template <typename T> struct Negate { static T op(T v) { return -v; } };
template <typename T> struct Double { static T op(T v) { return v * 2; } };
template <template <typename> class F, typename T> T apply(T v) { return F<T>::op(v); })"),
            R"(
(*(a + 0)) = (apply(3.0f) + float(apply(2)))
)");
}

TEST(TemplatesTest, VariablesAndAliasesAreTemplates) {
  EXPECT_EQ("\n" + lines(R"(a[0] = pi<float> + pi<int>;
Table<3> t = {1, 2, 3};
a[1] = t[2];)",
                         R"(template <typename T> constexpr T pi = T(3.25);
template <int N> using Table = float[N];)"),
            R"(
(*(a + 0)) = 6.25f
float[3] t = float[3]{1.0f, 2.0f, 3.0f}
(*(a + 1)) = t[2]
)");
}

TEST(TemplatesTest, MembersAreTemplates) {
  EXPECT_EQ(
      "\n" +
          lines(
              R"(Box<float> box{2.5f};
b[0] = box.as<int>() + box.template as<int>() + Box<int>::make(3).v;)",
              R"(template <typename T> struct Box { T v; template <typename U> U as() const { return U(v); } static Box make(T v) { return Box{v}; } };)"),
      R"(
Box<float> box [[address_taken]] = Box<float>{2.5f}
(*(b + 0)) = ((Box_as(pointer_cast<thread const Box<float>*>((&box))) + Box_as(pointer_cast<thread const Box<float>*>((&box)))) + Box_make(3).v)
)");
}

TEST(TemplatesTest, MembersMayBeDefinedOutside) {
  EXPECT_EQ("\n" + lowered(R"(template <typename T> struct Box { T v; T twice() const; static T one(); };
template <typename T> T Box<T>::twice() const { return v + v; }
template <typename T> T Box<T>::one() { return T(1); }
struct P { int x; int get() const; };
int P::get() const { return x; }
kernel void f(device int* a) { Box<int> box{2}; P p{3}; a[0] = box.twice() + Box<int>::one() + p.get(); })"),
            R"(
int Box_twice(thread const Box<int>* self) {
  return ((*self).v + (*self).v)
}
int Box_one() {
  return 1
}
int P_get(thread const P* self) {
  return (*self).x
}
kernel "f" void f([[buffer(0)]] device int* a) {
  Box<int> box [[address_taken]] = Box<int>{2}
  P p [[address_taken]] = P{3}
  (*(a + 0)) = ((Box_twice(pointer_cast<thread const Box<int>*>((&box))) + 1) + P_get(pointer_cast<thread const P*>((&p))))
}
)");
}

TEST(TemplatesTest, KernelsAreInstantiatedByName) {
  EXPECT_EQ(
      "\n" +
          lowered(
              R"(template <typename T> [[kernel]] void copy(device T* to, constant T* from, uint i [[thread_position_in_grid]]) { to[i] = from[i]; }
template [[host_name("copy_float")]] [[kernel]] void copy<float>(device float*, constant float*, uint);
template [[host_name("copy_half")]] kernel void copy<half>(device half*, constant half*, uint);
template <typename T, int N> kernel void fill(device T* to, uint i [[thread_position_in_grid]]) { to[i] = N; }
template [[host_name("fill_int_3")]] [[kernel]] decltype(fill<int, 3>) fill<int, 3>;)"),
      R"(
kernel "copy_float" void copy([[buffer(0)]] device float* to, [[buffer(1) const]] constant const float* from) {
  uint i = grid_position()[0]
  (*(to + long(i))) = (*(from + long(i)))
}
kernel "copy_half" void copy([[buffer(0)]] device half* to, [[buffer(1) const]] constant const half* from) {
  uint i = grid_position()[0]
  (*(to + long(i))) = (*(from + long(i)))
}
kernel "fill_int_3" void fill([[buffer(0)]] device int* to) {
  uint i = grid_position()[0]
  (*(to + long(i))) = 3
}
)");
}

TEST(TemplatesTest, NamesAreFoundByTheirArguments) {
  EXPECT_EQ(
      "\n" +
          lines(
              R"(n::P p = {3};
b[0] = get(p) + (p + 2);)",
              R"(namespace n { struct P { int x; }; int get(P p) { return p.x; } int operator+(P p, int k) { return p.x + k; } })"),
      R"(
n::P p = n::P{3}
(*(b + 0)) = (get(p) + operator+(p, 2))
)");
}

TEST(TemplatesTest, NamespacesAreUsedAndRenamed) {
  EXPECT_EQ(
      "\n" +
          lines(
              R"(b[0] = one() + n::two() + alias::three() + four() + kFive + outer::inner::six();)",
              R"(namespace n { int one() { return 1; } inline namespace v2 { int two() { return 2; } } namespace m { int three() { return 3; } int four() { return 4; } constant int kFive = 5; } }
using n::one;
namespace alias = n::m;
using namespace n::m;
namespace outer::inner { int six() { return 6; } })"),
      R"(
(*(b + 0)) = 21
)");
}

TEST(TemplatesTest, OverloadsAreRanked) {
  EXPECT_EQ("\n" + lines(R"(float2 v;
b[0] = f(1) + f(1u) + f(1.5) + f(1.5h) + f(v) + f(short(1)) + f(true) + g(1) + h(2);)",
                         R"(int f(int) { return 1; }
int f(uint) { return 2; }
int f(float) { return 3; }
int f(half) { return 4; }
int f(float2) { return 5; }
int g(float4) { return 6; }
int h(int, int = 3, float = 2.5) { return 7; })"),
            R"(
float2 v
(*(b + 0)) = 30
)");
}

TEST(TemplatesTest, ErrorsListTheCandidates) {
  EXPECT_EQ(faults(R"(int f(int, float) { return 1; }
int f(float, int) { return 2; }
template <typename T> int g(device T*) { return 3; }
kernel void k(device int* a) { a[0] = f(1, 1); a[1] = f(a, 2); a[2] = g(3); a[3] = f(1); })"),
            "4: error: several functions \"f\" fit (int, int) equally well: convert an argument to choose one\n"
            "1: note: this one\n"
            "2: note: and this one\n"
            "4: error: no function \"f\" takes (device int*, int)\n"
            "1: note: not this one: argument 1 cannot be converted from \"device int*\" to \"int\"\n"
            "2: note: not this one: argument 1 cannot be converted from \"device int*\" to \"float\"\n"
            "4: error: no function \"g\" takes (int)\n"
            "3: note: not this one: its parameters do not fit the arguments' types\n"
            "4: error: no function \"f\" takes (int)\n"
            "1: note: not this one: it takes 2 arguments, not 1\n"
            "2: note: not this one: it takes 2 arguments, not 1\n");
}

TEST(TemplatesTest, ErrorsInInstancesNameTheirUse) {
  EXPECT_EQ(faults(R"(template <typename T> int get(T v) { return v.x; }
template <typename T> int outer(T v) { return get(v); }
struct P { int y; };
kernel void f(device int* a) {
  a[0] = outer(P{1});
})"),
            "1: error: there is no member \"x\" in \"P\"\n"
            "2: note: in the instantiation of \"get\" that is needed here\n"
            "5: note: in the instantiation of \"outer\" that is needed here\n");
}

TEST(TemplatesTest, EndlessInstantiationIsRefused) {
  EXPECT_EQ(faults(R"(template <int N> int f() { return f<N + 1>(); }
template <int N> struct S { static constexpr int v = S<N + 1>::v; };
kernel void k(device int* a) { a[0] = f<0>(); }
kernel void m(device int* a) { a[0] = S<0>::v; })"),
            "1: error: the chain of calls nests deeper than 200 levels: split it\n"
            "1: note: in the instantiation of \"f\" that is needed here\n"
            "1: note: in the instantiation of \"f\" that is needed here\n"
            "1: note: in the instantiation of \"f\" that is needed here\n"
            "1: note: in the instantiation of \"f\" that is needed here\n"
            "1: note: in the instantiation of \"f\" that is needed here\n"
            "1: note: in the instantiation of \"f\" that is needed here\n"
            "2: error: the value of the constant nests deeper than 200 levels: split it\n");
}

}  // namespace kymo::shader
