// Objects of the source's own types: operators of enums, copies, captures, layout, iterators.
#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalObjectsTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalObjectsTest);

TEST_P(MetalObjectsTest, OperatorsOfEnumsAreThoseOfTheSource) {
  const ShaderLibrary library = metal(R"(
enum class F : uint { A = 1, B = 2, C = 4 };
constexpr bool operator&(F a, F b) { return (uint(a) & uint(b)) != 0; }
F operator|(F a, F b) { return F((uint(a) | uint(b)) + 100); }
F operator~(F a) { return F(50); }
bool operator!(F a) { return true; }
bool operator==(F a, F b) { return false; }
bool operator<(F a, F b) { return uint(a) > uint(b); }
F operator+(F a, F b) { return F(7); }
thread F& operator|=(thread F& a, F b) { a = F(33); return a; }
enum P { X = 1, Y = 2 };
P operator|(P a, P b) { return P((uint(a) | uint(b)) + 100); }
P operator++(thread P& p) { p = P(int(p) + 5); return p; }
struct S { F f; uchar tail; };
kernel void operators(device int* o, device F* stored, constant F& given, device S* s) {
  F f = F(5);
  o[0] = 10 * (f & F::C); o[1] = int(F::A | F::B); o[2] = int(~F::A); o[3] = !F::A; o[4] = F::A == F::A;
  o[5] = F::A < F::B; o[6] = int(F::A + F::B); F y = F::A; y |= F::B; o[7] = int(y);
  P x = X | Y; ++x; o[8] = x; o[9] = given & F::B; stored[0] = f; o[10] = int(stored[1]); o[11] = int(s->f) + s->tail;
}
)");
  const Tensor out = zeros({12}, DType::I32), stored = from_host(std::vector<uint32_t>{9, 8}),
               structure = from_host(std::vector<uint32_t>{40, 2});
  library["operators"].threads(1)(out, stored, uint32_t{6}, structure);
  EXPECT_EQ(out.to_host<int32_t>(), (std::vector<int32_t>{10, 103, 50, 1, 0, 0, 7, 33, 108, 1, 8, 42}));
  EXPECT_EQ(stored.to_host<uint32_t>(), (std::vector<uint32_t>{5, 8}));
}

TEST_P(MetalObjectsTest, CopyConstructorsOfTheSourceAreCalled) {
  const ShaderLibrary library = metal(R"(
struct A { int x; A(int v) : x(v) {} A(thread const A& q) : x(q.x + 1) {} };
struct Outer { int n; A a; A two[2]; };
int by_value(A a) { return a.x; }
A same(A a) { return a; }
A made(int v) { A a(v); return a; }
kernel void copies(device int* o) {
  A c(5); A d = c; A e(d);
  o[0] = d.x; o[1] = e.x; o[2] = by_value(c); o[3] = by_value(A(5)); o[4] = same(c).x; o[5] = made(5).x;
  Outer first{1, c, {c, A(20)}}; Outer second = first;
  o[6] = second.a.x; o[7] = second.two[0].x; o[8] = second.two[1].x;
  A assigned(1); assigned = c; o[9] = assigned.x;
}
)");
  EXPECT_EQ(run<int32_t>(library["copies"], 10), (std::vector<int32_t>{6, 7, 6, 5, 7, 5, 7, 7, 21, 5}));
}

TEST_P(MetalObjectsTest, AssignmentsOfTheSourceAreCalledForMembersAndBases) {
  const ShaderLibrary library = metal(R"(
struct A {
  int x;
  thread A& operator=(thread const A& q) { x = q.x * 2; return *this; }
  thread A& operator=(int v) { x = v + 100; return *this; }
};
struct Outer { int n; A a; A two[2]; };
struct Derived : A { int y; };
kernel void assign(device int* o, device const int* in) {
  A a{1}, b{in[0]};
  a = b; o[0] = a.x; a = 7; o[1] = a.x;
  Outer p{1, {2}, {{3}, {4}}}, q{5, {6}, {{7}, {8}}};
  p = q; o[2] = p.n; o[3] = p.a.x; o[4] = p.two[0].x; o[5] = p.two[1].x;
  Derived d{{1}, 2}, e{{3}, 4};
  d = e; o[6] = d.x; o[7] = d.y;
}
)");
  EXPECT_EQ(run<int32_t>(library["assign"], 8, std::vector<int32_t>{5}),
            (std::vector<int32_t>{10, 107, 5, 12, 14, 16, 6, 4}));
}

TEST_P(MetalObjectsTest, LambdasCopyArraysAndThis) {
  const ShaderLibrary library = metal(R"(
struct S {
  int x[2];
  int later() { auto f = [*this] { return x[1]; }; auto g = [this] { return x[1]; }; x[1] = 9; return f() * 10 + g(); }
};
kernel void captures(device int* o, device const int* in) {
  int a[2] = {1, in[1]}; int m[2][2] = {{1, 2}, {3, in[0]}};
  auto g = [=] { return a[1] + 10 * m[1][1]; };
  auto h = [a] { return a[1]; };
  auto k = [&] { return a[1]; };
  auto n = [a]() mutable { a[1] += 10; return a[1]; };
  a[1] = 5; m[1][1] = 7;
  o[0] = g(); o[1] = h(); o[2] = k(); o[3] = n(); o[4] = n(); o[5] = a[1];
  S s{{1, 2}}; o[6] = s.later();
}
)");
  EXPECT_EQ(run<int32_t>(library["captures"], 7, std::vector<int32_t>{4, 2}),
            (std::vector<int32_t>{42, 2, 5, 12, 22, 5, 29}));
}

// The same structs for the device and for the host's compiler.
#define OBJECTS_STRUCTS       \
  struct Empty {};            \
  struct Other {};            \
  struct One : Empty {        \
    float f;                  \
  };                          \
  struct Two : Empty, Other { \
    short s;                  \
  };                          \
  struct Again : Empty {      \
    Empty e;                  \
    int i;                    \
  };                          \
  struct Deep : One {         \
    char c;                   \
  };                          \
  struct Both : One, Other {  \
    long l;                   \
  };                          \
  struct Only : Empty {};     \
  struct Last {               \
    char c;                   \
    One o;                    \
  };                          \
  struct Array : Empty {      \
    char c[3];                \
    Only o;                   \
  };
namespace host {
OBJECTS_STRUCTS
}
#define OBJECTS_TEXT_OF(...) #__VA_ARGS__
#define OBJECTS_TEXT(...) OBJECTS_TEXT_OF(__VA_ARGS__)

TEST_P(MetalObjectsTest, EmptyBasesTakeNoSpace) {
  const ShaderLibrary library = metal(std::string(OBJECTS_TEXT(OBJECTS_STRUCTS)) + R"(
template <typename D> struct Base { int call() const { return static_cast<thread const D*>(this)->own() + 1; } };
struct Curious : Base<Curious> { int v; int own() const { return v * 2; } };
struct Tool { int twice(int x) const { return 2 * x; } };
struct User : Tool { int x; User(int v) : Tool(), x(v) {} int all() const { return twice(x); } };
kernel void sizes(device int* o) {
  o[0] = sizeof(Empty); o[1] = sizeof(One); o[2] = sizeof(Two); o[3] = sizeof(Again); o[4] = sizeof(Both);
  o[5] = sizeof(Only); o[6] = sizeof(Last); o[7] = sizeof(Array); o[8] = alignof(Both);
}
kernel void values(device float* o, device const One* x, uint i [[thread_position_in_grid]]) {
  Curious c; c.v = int(x[i].f); User u(int(x[i].f)); One copy = x[i]; One made{{}, 3};
  o[i] = x[i].f + 100 * c.call() + 10000 * u.all() + copy.f + made.f;
}
)");
  EXPECT_EQ(run<int32_t>(library["sizes"], 9),
            (std::vector<int32_t>{sizeof(host::Empty), sizeof(host::One), sizeof(host::Two), sizeof(host::Again),
                                  sizeof(host::Both), sizeof(host::Only), sizeof(host::Last), sizeof(host::Array),
                                  alignof(host::Both)}));
  EXPECT_EQ(run<float>(library["values"], 3, std::vector<float>{1, 2, 3}),
            (std::vector<float>{1 + 300 + 20000 + 1 + 3, 2 + 500 + 40000 + 2 + 3, 3 + 700 + 60000 + 3 + 3}));
}

TEST_P(MetalObjectsTest, RangeForWorksWithIteratorsOfTheSource) {
  const ShaderLibrary library = metal(R"(
struct P {
  thread int* p;
  thread int& operator*() const { return *p; }
  P operator++() { p++; return *this; }
  bool operator!=(P q) const { return p != q.p; }
};
struct R { thread int* b; int n; P begin() const { return P{b}; } P end() const { return P{b + n}; } };
struct Number { int v; int operator*() const { return v; } thread Number& operator++() { v += 2; return *this; } };
bool operator!=(Number a, Number b) { return a.v < b.v; }
struct Odd { int last; Number begin() { return {1}; } Number end() { return {last}; } };
kernel void sums(device int* o, device const int* in) {
  int a[4] = {1, 2, 3, in[0]};
  int s = 0;
  for (int v : R{a, 4}) { if (v == 2) continue; s += v; }
  for (thread int& v : R{a, 2}) v *= 10;
  int odd = 0;
  for (auto v : Odd{in[0] + 6}) odd = odd * 10 + v;
  o[0] = s; o[1] = a[0] + a[1] + a[2]; o[2] = odd;
}
)");
  EXPECT_EQ(run<int32_t>(library["sums"], 3, std::vector<int32_t>{4}), (std::vector<int32_t>{8, 33, 13579}));
}

TEST_P(MetalObjectsTest, MutableMembersOfConstObjectsAreWritten) {
  const ShaderLibrary library = metal(R"(
struct S { mutable int calls = 0; int x; int get() const { calls++; return x * calls; } };
struct Holder { S s; int get() const { return s.get(); } };
int twice(const S s) { return s.get() + s.get(); }
int twice_by(thread const S& s) { return s.get() + s.get(); }
kernel void count(device int* o, device const int* in, device S* stored) {
  const S s{0, in[0]};
  o[0] = s.get(); o[1] = s.get(); o[2] = s.calls; o[3] = twice(s); o[4] = s.calls;
  o[5] = twice_by(s); o[6] = s.calls;
  const Holder h{{10, 1}}; h.get(); o[7] = h.get();
  o[8] = stored->get(); o[9] = stored->calls;
}
)");
  const Tensor out = zeros({10}, DType::I32), stored = from_host(std::vector<int32_t>{1, 5});
  library["count"].threads(1)(out, from_host(std::vector<int32_t>{3}), stored);
  EXPECT_EQ(out.to_host<int32_t>(), (std::vector<int32_t>{3, 6, 2, 21, 2, 21, 4, 12, 10, 2}));
  EXPECT_EQ(stored.to_host<int32_t>(), (std::vector<int32_t>{2, 5}));
}

TEST_P(MetalObjectsTest, TablesInFunctionsMayBeStaticConstant) {
  const ShaderLibrary library = metal(R"(
kernel void look_up(device float* o, uint i [[thread_position_in_grid]]) {
  static constant float u[] = {4, 5, 6};
  o[i] = u[i % 3];
}
)");
  EXPECT_EQ(run<float>(library["look_up"], 4), (std::vector<float>{4, 5, 6, 4}));
}

}  // namespace
}  // namespace kymo::device::tests
