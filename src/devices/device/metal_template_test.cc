// Compile-time features: templates, overloads, constants, lambdas, names.
#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

using ::testing::UnorderedElementsAre;

class MetalTemplateTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalTemplateTest);

constexpr int kTemplateCount = 16;

TEST_P(MetalTemplateTest, FunctionTemplates) {
  const ShaderLibrary library = metal(R"(
template <typename T> T twice(T x) { return x + x; }
template <typename To, typename From> To cast_to(From x) { return static_cast<To>(x); }
template <int N, typename T = int> T power(T x) { T r = 1; for (int k = 0; k < N; ++k) r *= x; return r; }
template <typename T> T first_of(thread const T* values, int k) { return values[k]; }
template <typename T, int N> int length_of(thread T (&)[N]) { return N; }
template <typename T> void add_into(device T* to, T v) { *to += v; }
int rank_of(int) { return 1; }
int rank_of(float) { return 2; }
template <typename T> int rank_of(T) { return 3; }
template <> int rank_of<half>(half) { return 4; }
template <typename T> int rank_of(thread T*) { return 5; }
template <typename T, int N> int rank_of(vec<T, N>) { return 5 + N; }
template <typename T> auto halved(T x) -> decltype(x / 2) { return x / 2; }
kernel void deduced(device float* out, uint i [[thread_position_in_grid]]) {
  float values[3] = {1.5f, 2.5f, float(i)};
  out[i] = twice(values[1]) + cast_to<int>(2.9f) + power<3>(int(i)) + power<2>(0.5f) + first_of(values, 2) + length_of(values) * 100 + halved(5) + halved(5.0f);
  add_into(out + i, 1000.0f);
}
kernel void ranked(device int* out) {
  float f = 1;
  out[0] = rank_of(1); out[1] = rank_of(1.0f); out[2] = rank_of(1u); out[3] = rank_of(1.0h); out[4] = rank_of(&f); out[5] = rank_of(short(1));
  out[6] = rank_of(float3(1)); out[7] = rank_of<int>(2); out[8] = rank_of(true);
}
)");
  EXPECT_EQ(run<float>(library["deduced"], kTemplateCount), each(kTemplateCount, [](int i) {
              return static_cast<float>(5 + 2 + i * i * i + i + 300 + 2) + 0.25f + 2.5f + 1000;
            }));
  EXPECT_EQ(run<int32_t>(library["ranked"], 9), (std::vector<int32_t>{1, 2, 3, 4, 5, 3, 8, 3, 3}));
}

TEST_P(MetalTemplateTest, ClassTemplates) {
  const ShaderLibrary library = metal(R"(
template <typename T, int N = 4> struct Stack {
  T items[N];
  int size = 0;
  static constexpr constant int kMost = N;
  bool push(T v) { if (size == N) return false; items[size++] = v; return true; }
  T pop();
  template <typename F> T fold(T start, F f) const { for (int k = 0; k < size; ++k) start = f(start, items[k]); return start; }
};
template <typename T, int N> T Stack<T, N>::pop() { return items[--size]; }
template <typename T> struct Name { static constexpr int value = 0; };
template <> struct Name<float> { static constexpr int value = 1; };
template <typename T> struct Name<T*> { static constexpr int value = 10; };
template <typename T> struct Name<device T*> { static constexpr int value = 20 + Name<T>::value; };
template <typename T, int N> struct Name<vec<T, N>> { static constexpr int value = 100 * N + Name<T>::value; };
template <int N> struct Factorial { static constexpr int value = N * Factorial<N - 1>::value; };
template <> struct Factorial<0> { static constexpr int value = 1; };
template <typename A, typename B> struct Both { A a; B b; };
template <typename B> struct Both<int, B> { B b; int sum() const { return 7 + int(b); } };
template <typename T> Both<T, T> both_of(T a, T b) { return {a, b}; }
template <template <typename, int> class C, typename T> int most() { return C<T, 9>::kMost; }
struct Add { template <typename T> T operator()(T a, T b) const { return a * 2 + b; } };
kernel void stacks(device int* out, uint i [[thread_position_in_grid]]) {
  Stack<int> s;
  for (int k = 0; k < 6; ++k) s.push(int(i) + k);
  Stack<short, 2> t;
  const bool fits = t.push(1) && t.push(2), more = t.push(3);
  const int top = s.pop();
  out[i] = top + s.fold(1, Add()) * 10 + fits * 1000 + more * 2000 + t.kMost * 10000 + Stack<float>::kMost * 100000;
}
kernel void special(device int* out, uint i [[thread_position_in_grid]]) {
  const auto pair = both_of(1.5f, 2.5f);
  Both<int, half> other = {3.0h};
  out[i] = Name<int>::value + Name<float>::value + Name<device float*>::value * 10 + Name<float3>::value * 100 + Factorial<6>::value + int(pair.a + pair.b) + other.sum() + most<Stack, int>() + int(i);
}
)");
  EXPECT_EQ(run<int32_t>(library["stacks"], kTemplateCount), each(kTemplateCount, [](int i) {
              int sum = 1;
              for (int k = 0; k < 3; ++k) sum = sum * 2 + i + k;
              return i + 3 + sum * 10 + 1000 + 20000 + 400000;
            }));
  EXPECT_EQ(run<int32_t>(library["special"], kTemplateCount),
            each(kTemplateCount, [](int i) { return 0 + 1 + 210 + 30100 + 720 + 4 + 10 + 9 + i; }));
}

TEST_P(MetalTemplateTest, BaseClassTemplateTakesItsDerivedClass) {
  const ShaderLibrary library = metal(R"(
template <typename Self> struct Doubles { int doubled() const { return static_cast<thread const Self*>(this)->value() * 2; } };
struct Five : Doubles<Five> { int v; int value() const { return v + 5; } };
kernel void doubled(device int* out, uint i [[thread_position_in_grid]]) {
  Five five;
  five.v = int(i);
  out[i] = five.doubled();
}
)");
  EXPECT_EQ(run<int32_t>(library["doubled"], kTemplateCount), each(kTemplateCount, [](int i) { return (i + 5) * 2; }));
}

TEST_P(MetalTemplateTest, PacksAndFolds) {
  const ShaderLibrary library = metal(R"(
template <typename... T> auto sum(T... v) { return (v + ...); }
template <typename... T> int minus_left(T... v) { return (100 - ... - v); }
template <typename... T> bool all_of(T... v) { return (... && (v > 0)); }
template <typename T> T last(T v) { return v; }
template <typename T, typename... Rest> auto last(T, Rest... rest) { return last(rest...); }
template <int... N> struct Numbers { static constexpr int count = sizeof...(N); static int total() { return (N + ... + 0); } };
template <typename... T> int sizes(T...) { return (int(sizeof(T)) + ... + 0); }
template <typename F, typename... A> auto apply(F f, A... a) { return f(a * 2 ...); }
template <typename... T> void store(device int* to, T... v) { int k = 0; ((to[k++] = int(v)), ...); }
template <typename T, typename... Rest> constexpr bool is_one_of = (is_same_v<T, Rest> || ...);
template <typename... T> int in_array(int k, T... v) { int values[] = {v...}; return values[k % sizeof...(v)]; }
struct Weigh { int operator()(int a, int b, int c) const { return a + b * 10 + c * 100; } };
kernel void packs(device int* out, uint i [[thread_position_in_grid]]) {
  device int* o = out + 12 * i;
  o[0] = sum(int(i), 2, 3); o[1] = minus_left(1, 2, int(i)); o[2] = all_of(1, i, 3.5f); o[3] = int(last(1.0f, 2u, int(i) * 3));
  o[4] = Numbers<1, 2, 3, 4>::total() * 10 + Numbers<>::count; o[5] = sizes(1.0f, short(1), 1l, uchar(1)); o[6] = apply(Weigh{}, 1, int(i), 3);
  store(o + 7, 1.9f, i, true);
  o[10] = is_one_of<int, float, int> * 2 + is_one_of<half, float, int>; o[11] = in_array(int(i), 5, 6, 7);
}
)");
  const Tensor out = zeros({12 * kTemplateCount}, DType::I32);
  library["packs"].threads(kTemplateCount)(out);
  std::vector<int32_t> wanted;
  for (int i = 0; i < kTemplateCount; ++i)
    wanted.insert(wanted.end(), {i + 5, 97 - i, i > 0, i * 3, 100, 15, 2 + i * 20 + 600, 1, i, 1, 2, 5 + i % 3});
  EXPECT_EQ(out.to_host<int32_t>(), wanted);
}

TEST_P(MetalTemplateTest, Lambdas) {
  const ShaderLibrary library = metal(R"(
template <typename F> int twice(F f, int x) { return f(f(x)); }
template <typename F> void for_each(int count, F f) { for (int k = 0; k < count; ++k) f(k); }
kernel void lambdas(device int* out, uint i [[thread_position_in_grid]]) {
  int n = int(i), calls = 0;
  const auto by_copy = [n](int x) { return x + n; };
  auto by_reference = [&calls, &n](int x) { ++calls; n += x; return n; };
  const auto all = [=](int x) { return x * n; };
  const auto every = [&] { calls += 10; };
  n += 100;
  const int a = by_copy(1), b = by_reference(5), c = all(2);
  every();
  every();
  const auto generic = [](auto x, auto y) { return x * y; };
  const auto typed = [](float x) -> int { return int(x) + 1; };
  const int at_once = [&](int x) { return x > 3 ? x : -x; }(int(i));
  int sum = 0;
  for_each(4, [&sum, i](int k) { if (k == 2) return; sum += k * int(i); });
  auto counting = [k = 0]() mutable { return ++k; };
  counting();
  const int fact = [](int x) { int r = 1; while (x > 1) r *= x--; return r; }(5);
  device int* o = out + 12 * i;
  o[0] = a; o[1] = b; o[2] = c; o[3] = calls; o[4] = n; o[5] = generic(3, n) + int(generic(0.5f, 4)); o[6] = typed(2.75f); o[7] = at_once;
  o[8] = sum; o[9] = counting(); o[10] = twice([n](int x) { return x * 2 + n; }, 3) + twice(by_copy, 1); o[11] = fact;
}
)");
  const Tensor out = zeros({12 * kTemplateCount}, DType::I32);
  library["lambdas"].threads(kTemplateCount)(out);
  std::vector<int32_t> wanted;
  for (int i = 0; i < kTemplateCount; ++i) {
    const int n = i + 105;
    wanted.insert(wanted.end(), {1 + i, n, 2 * i, 21, n, 3 * n + 2, 3, i > 3 ? i : -i, 4 * i, 2,
                                 (3 * 2 + n) * 2 + n + 1 + 2 * i, 120});
  }
  EXPECT_EQ(out.to_host<int32_t>(), wanted);
}

TEST_P(MetalTemplateTest, CompileTimeDecisions) {
  const ShaderLibrary library = metal(R"(
constexpr int fib(int n) { int a = 0, b = 1; for (int k = 0; k < n; ++k) { const int t = a + b; a = b; b = t; } return a; }
constexpr int greatest(int a, int b) { while (b != 0) { const int t = a % b; a = b; b = t; } return a; }
template <typename T> int kind() {
  if constexpr (is_same_v<T, float>) return 1;
  else if constexpr (is_integral_v<T>) return is_signed_v<T> ? 2 : 3;
  else return T::no_such_kind();
}
template <typename T, enable_if_t<is_integral_v<T>, bool> = true> int choose(T) { return 1; }
template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true> int choose(T) { return 2; }
template <typename T, typename = void> struct HasSize { static constexpr bool value = false; };
template <typename T> struct HasSize<T, void_t<decltype(T().size)>> { static constexpr bool value = true; };
struct Sized { int size; };
template <typename T> using wider = conditional_t<sizeof(T) == 4, long, int>;
template <typename T> constexpr constant T kTwo = T(2);
template <typename T> constexpr constant float kWeight = 1;
template <> constexpr constant float kWeight<half> = 0.5f;
constant constexpr int kTable[] = {fib(5), fib(10), fib(20)};
constexpr int kSide = 3;
static_assert(fib(10) == 55, "fib");
static_assert(is_floating_point_v<half2> && is_integral_v<uchar3> && is_integral<bool2>::value, "of the components");
static_assert(!is_integral_v<float4> && is_unsigned_v<uint2> && is_signed_v<int2> && is_arithmetic_v<float3>, "as well");
static_assert(!is_scalar_v<float2> && is_scalar_v<float> && is_scalar_v<device int*> && !is_floating_point_v<Sized>, "no");
static_assert(sizeof(wider<float>) == 8 && is_same_v<remove_const_t<const int>, int>, "types");
enum Color { kRed, kGreen = 5, kBlue };
enum class Mode : uchar { Off, On = 200, Last };
kernel void decided(device int* out, uint i [[thread_position_in_grid]]) {
  int grid[kSide * kSide] = {};
  int flat[fib(7)];
  for (int k = 0; k < fib(7); ++k) flat[k] = k;
  const Mode mode = i % 2 ? Mode::On : Mode::Last;
  Color color = kBlue;
  int by_mode = 0;
  switch (mode) { case Mode::Off: by_mode = 1; break; case Mode::On: by_mode = 2; break; case Mode::Last: by_mode = 3; break; }
  device int* o = out + 12 * i;
  o[0] = fib(12); o[1] = greatest(91, 35); o[2] = kind<float>() + kind<int>() * 10 + kind<ushort>() * 100; o[3] = choose(1u) + choose(1.0h) * 10;
  o[4] = HasSize<Sized>::value * 2 + HasSize<int>::value; o[5] = kTable[i % 3]; o[6] = kTwo<int> + int(kTwo<float> * 10) + int(kWeight<half> * 100) + int(kWeight<int> * 1000);
  o[7] = int(sizeof(grid)) + grid[i % 9] + flat[i % 13]; o[8] = color + int(mode); o[9] = by_mode; o[10] = is_same_v<wider<float>, long> + is_same_v<decltype(1 + 1u), uint> * 2;
  o[11] = int(sizeof(Mode)) + (color == kGreen) + (kRed < color) * 2;
}
)");
  const Tensor out = zeros({12 * kTemplateCount}, DType::I32);
  library["decided"].threads(kTemplateCount)(out);
  std::vector<int32_t> wanted;
  for (int i = 0; i < kTemplateCount; ++i) {
    const int table[] = {5, 55, 6765};
    wanted.insert(wanted.end(), {144, 7, 321, 21, 2, table[i % 3], 2 + 20 + 50 + 1000, 36 + i % 13,
                                 6 + (i % 2 ? 200 : 201), i % 2 ? 2 : 3, 3, 3});
  }
  EXPECT_EQ(out.to_host<int32_t>(), wanted);
}

TEST_P(MetalTemplateTest, NamesAreLookedUpInTheRightScope) {
  const ShaderLibrary library = metal(R"(
int value() { return 1; }
namespace outer {
int value() { return 2; }
namespace inner {
int value() { return 3; }
int all() { return value() + outer::value() * 10 + ::value() * 100; }
struct Point { int x; };
int x_of(Point p) { return p.x + 1000; }
Point operator+(Point a, Point b) { return {a.x + b.x}; }
}
inline namespace now { int current() { return 9; } }
}
namespace outer { int later() { return value() + inner::value(); } }
namespace short_name = outer::inner;
namespace { int hidden() { return 8; } }
namespace a::b::c { constant int deep = 6; template <typename T> T id(T x) { return x; } }
using outer::later;
using Row = float4;
typedef int Triple[3];
template <typename T> using Two = array<T, 2>;
constant float half_pi = M_PI_F / 2;
float max(float a, float b, float c) { return metal::max(a, metal::max(b, c)); }
int defaults(int a, int b = 10, int c = value()) { return a + b * 2 + c * 100; }
kernel void names(device int* out, uint i [[thread_position_in_grid]]) {
  using namespace a::b::c;
  int value = 7;
  { int value = 8; ++value; out[0] = value; }
  Triple t = {1, 2, 3};
  Two<int> two = {4, 5};
  const Row row = Row(1, 2, 3, 4);
  short_name::Point p{5}, q = p + p;
  struct Local { int v; int get() const { return v * 3; } } local{2};
  struct Ends { int low; float high; } ends = {4, 5.5f};
  const auto [first, second] = ends;
  out[1] = value + ::value(); out[2] = outer::inner::all(); out[3] = later(); out[4] = x_of(q); out[5] = hidden() + outer::current(); out[6] = deep + id(3);
  out[7] = t[2] + two[1] + int(row.w) + first + int(second * 10); out[8] = int(max(1.0f, 5.0f, 3.0f) + max(2.0f, 1.0f)); out[9] = defaults(1) + defaults(1, 2) + defaults(1, 2, 3);
  out[10] = local.get(); out[11] = int(half_pi * 1000) + int(two.size());
}
)");
  EXPECT_EQ(run<int32_t>(library["names"], 12),
            (std::vector<int32_t>{9, 8, 123, 5, 1010, 17, 9, 3 + 5 + 4 + 4 + 55, 7, 121 + 105 + 305, 6, 1570 + 2}));
}

TEST_P(MetalTemplateTest, KernelsAreInstantiatedByMacros) {
  const ShaderLibrary library = metal(R"(
struct Square { template <typename T> static T of(T x) { return x * x; } };
struct Negate { template <typename T> static T of(T x) { return -x; } };
template <typename T, typename Op, int Scale = 1>
kernel void unary(device T* out [[buffer(0)]], device const T* in [[buffer(1)]], uint i [[thread_position_in_grid]]) { out[i] = Op::of(in[i]) * T(Scale); }
#define INSTANTIATE(NAME, T, ...) \
  template [[host_name(#NAME "_" #T)]] [[kernel]] void unary<T, __VA_ARGS__>(device T*, device const T*, uint);
#define FOR_EACH_TYPE(NAME, ...) INSTANTIATE(NAME, float, __VA_ARGS__) INSTANTIATE(NAME, int, __VA_ARGS__) INSTANTIATE(NAME, half, __VA_ARGS__)
FOR_EACH_TYPE(square, Square)
FOR_EACH_TYPE(negate_thrice, Negate, 3)
)");
  EXPECT_THAT(library.kernel_names(),
              UnorderedElementsAre("square_float", "square_int", "square_half", "negate_thrice_float",
                                   "negate_thrice_int", "negate_thrice_half"));
  const auto ints = each(kTemplateCount, [](int i) { return i - 5; });
  const auto floats = each(kTemplateCount, [](int i) { return static_cast<float>(i) * 0.5f; });
  EXPECT_EQ(run<int32_t>(library["square_int"], kTemplateCount, ints),
            each(kTemplateCount, [](int i) { return (i - 5) * (i - 5); }));
  EXPECT_EQ(run<int32_t>(library["negate_thrice_int"], kTemplateCount, ints),
            each(kTemplateCount, [](int i) { return (i - 5) * -3; }));
  EXPECT_EQ(run<float>(library["square_float"], kTemplateCount, floats),
            each(kTemplateCount, [](int i) { return static_cast<float>(i) * 0.5f * static_cast<float>(i) * 0.5f; }));
  const Tensor halves = full({kTemplateCount}, 1.5, DType::F16), out = zeros({kTemplateCount}, DType::F16);
  library["negate_thrice_half"](out, halves);
  EXPECT_EQ(out.to_host<float>(), std::vector<float>(kTemplateCount, -4.5f));
}

TEST_P(MetalTemplateTest, ArraysOfTheStandardLibrary) {
  const ShaderLibrary library = metal(R"(
template <typename T, size_t N> T total(thread const array<T, N>& values) { T sum = 0; for (size_t k = 0; k < N; ++k) sum += values[k]; return sum; }
constant array<float, 3> kWeights = {1.0f, 10.0f, 100.0f};
array<int, 3> made(int v) { array<int, 3> a; for (int k = 0; k < 3; ++k) a[k] = v * k; return a; }
struct Holder { array<array<short, 2>, 2> grid; };
kernel void arrays(device int* out, uint i [[thread_position_in_grid]]) {
  array<int, 4> a = {1, 2, 3}, b = a;
  b[i % 4] += 100;
  Holder h = {{{{{1, 2}}, {{3, 4}}}}};
  h.grid[i % 2][1] = short(50);
  float sum = 0;
  for (int k = 0; k < 3; ++k) sum += kWeights[k] * float(made(int(i))[k]);
  out[i] = total(a) + total(b) * 2 + int(sum) + h.grid[0][1] + h.grid[1][1] * 3 + int(a.size()) * 100000;
}
)");
  EXPECT_EQ(run<int32_t>(library["arrays"], kTemplateCount), each(kTemplateCount, [](int i) {
              return 6 + 212 + i * 10 + 2 * i * 100 + (i % 2 == 0 ? 50 : 2) + (i % 2 == 1 ? 50 : 4) * 3 + 400000;
            }));
}

// Which instance a specialisation replaces may follow from its result only.
TEST_P(MetalTemplateTest, SpecialisationsForTheTypeOfTheResult) {
  const ShaderLibrary library = metal(R"(
template <typename T> T as(bool b) { return b ? T(1) : T(0); }
template <> half as(bool b) { return b ? 7.0h : 9.0h; }
template <> float as(bool b) { return b ? 5.0f : 3.0f; }
kernel void run(device int* out, uint i [[thread_position_in_grid]]) {
  const bool b = i % 2 == 0;
  out[i] = int(as<float>(b)) + int(as<half>(b)) * 10 + as<int>(b) * 100 + int(as<short>(!b)) * 1000;
}
)");
  EXPECT_EQ(run<int32_t>(library["run"], kTemplateCount),
            each(kTemplateCount, [](int i) { return i % 2 == 0 ? 5 + 70 + 100 : 3 + 90 + 1000; }));
}

TEST_P(MetalTemplateTest, TablesAndArraysInOtherPlaces) {
  const ShaderLibrary library = metal(R"(
float poly(float x, const float c[], int n) { float r = 0; for (int i = 0; i < n; ++i) r = r * x + c[i]; return r; }
struct value { float re, im; constexpr value(float r, float i) : re(r), im(i) {} };
struct first { static constexpr constant value v = value(numeric_limits<float>::quiet_NaN(), -INFINITY); };
template <typename T, int N> struct indices { array<T, N> of; int count; };
template <int N> int sum(thread const indices<int, N>& x) { int s = x.count; for (int i = 0; i < N; ++i) s += x.of[i]; return s; }
uint two(constant array<uint, 2>& s) { return s[1]; }
kernel void run(device float* out, constant array<uint, 4>& s, uint i [[thread_position_in_grid]]) {
  constexpr float c[] = {1.0f, 2.0f, 3.0f};
  const value v = first::v;
  indices<int, 0> none{{}, 40};
  indices<int, 2> some{{{5, 6}}, 0};
  out[i] = poly(float(i), c, 3) + (isnan(v.re) && v.im < 0 ? 1000.0f : 0.0f) + float(sum<0>(none) + sum<2>(some)) +
           float(two(reinterpret_cast<constant array<uint, 2>&>(s)));
}
)");
  const Tensor out = zeros({kTemplateCount}, DType::F32);
  library["run"].threads(kTemplateCount)(out, std::vector<uint32_t>{1, 10000, 3, 4});
  EXPECT_EQ(out.to_host<float>(),
            each(kTemplateCount, [](int i) { return static_cast<float>(i * i + 2 * i + 3 + 1000 + 51 + 10000); }));
}

}  // namespace
}  // namespace kymo::device::tests
