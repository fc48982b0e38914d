// Idioms of large collections of kernels: functions as values, unions of different shapes, types for every address
// space, loops over compile-time constants, wide copies.
#include <bit>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalIdiomsTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalIdiomsTest);

constexpr int kIdiomCount = 40;

std::vector<float> idiom_numbers() {
  return each(kIdiomCount, [](int i) { return static_cast<float>(i % 13) * 0.5f - 2; });
}

TEST_P(MetalIdiomsTest, FunctionsAreTemplateArgumentsParametersAndVariables) {
  const ShaderLibrary library = metal(R"(
template <typename T> T larger(T a, T b) { return a < b ? b : a; }
float product(float a, float b) { return a * b; }
int product(int a, int b) { return a * b + 1000; }
template <typename T, T (*Op)(T, T)> METAL_FUNC T reduced(const device T* p, int n) {
  T r = p[0];
  for (int i = 1; i < n; ++i) r = Op(r, p[i]);
  return r;
}
using Change = void (*)(thread float*);
typedef float (*Binary)(float, float);
void negate(thread float* p) { *p = -*p; }
void twice(thread float* p) { *p *= 2; }
template <Change change> void changed(thread float* p) { change(p); }
void apply(Change change, thread float* p) { change(p); }
template <typename F> float folded(F f, float a, float b) { return f(a, b); }
float called(Binary op, int a, float b) { return op(a, b); }
template <int N, Change step> struct Steps { static void run(thread float* p) { for (int i = 0; i < N; ++i) step(p); } };
kernel void all(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  float v = in[i];
  changed<negate>(&v);
  apply(twice, &v);
  apply(&negate, &v);
  Steps<3, twice>::run(&v);
  const Binary op = product;
  v += op(v, 2) + folded(product, v, 3) + folded(larger<float>, v, 4) + called(product, 2, v);
  v += called([](float a, float b) { return a - b; }, 1, v);
  out[i] = v + reduced<float, larger<float>>(in, 10) + reduced<float, &product>(in + 5, 3);
}
)");
  const auto in = idiom_numbers();
  EXPECT_EQ(run<float>(library["all"], kIdiomCount, in), each(kIdiomCount, [&](int i) {
              float v = in[static_cast<size_t>(i)] * 2 * 8;
              v += v * 2 + v * 3 + std::max(v, 4.0f) + 2 * v;
              v += 1 - v;
              float most = in[0];
              for (size_t k = 1; k < 10; ++k) most = std::max(most, in[k]);
              return v + most + in[5] * in[6] * in[7];
            }));
}

TEST_P(MetalIdiomsTest, UnionsMayHaveMembersOfDifferentShapes) {
  const ShaderLibrary library = metal(R"(
union Words { uint2 whole; uchar4 bytes[2]; ushort halves[4]; };
using Four = union { float4 v; float a[4]; };
union Flags { bool4 set; uint bits; };
template <typename T> union Packed { T values[sizeof(uint) / sizeof(T)]; uint bits; };
struct Tagged {
  int kind;
  union { float number; struct { ushort low, high; }; ulong wide; };
  float read() const { return kind == 0 ? number : float(low); }
};
template <typename T> uint added(Packed<T> packed, T by, uint at) {
  packed.values[at] = packed.values[at] + by;
  return packed.bits;
}
void raise(thread uint* bits) { *bits += 1; }
kernel void look(device uint* out, uint i [[thread_position_in_grid]]) {
  Words w;
  w.whole = uint2(0x01020304u + i, 0xa0b0c0d0u);
  w.bytes[1].z = uchar(i);
  w.bytes[i % 2][3] = 7;
  w.halves[1] += 3;
  Four f;
  f.v = float4(1, 2, 3, float(i));
  f.a[i % 4] += 10;
  Flags flags = {};
  flags.set.y = true;
  flags.set[3] = i % 2 == 0;
  Packed<uchar> p = {.bits = 0x01010101u};
  Packed<half> h;
  h.bits = 0;
  h.bits = added(h, half(1.5h), i % 2);
  raise(&p.bits);
  Tagged t = {0, {.number = 1.0f}};
  const float first = t.read();
  t.kind = 1;
  t.low = ushort(i);
  t.high = 9;
  const Words copy = w;
  out[i] = copy.whole.x + copy.whole.y * 3 + uint(f.v.x + f.v.y * 2 + f.v.z * 3 + f.v.w * 4) * 5 + flags.bits * 7 +
           added(p, uchar(4), i % 4) * 11 + h.bits * 13 + uint(first + t.read()) * 17 + uint(t.wide) * 19 +
           uint(sizeof(Words)) * 23 + uint(sizeof(Tagged)) * 29 + (any(flags.set) ? 1u : 0u);
}
)");
  EXPECT_EQ(run<uint32_t>(library["look"], kIdiomCount), each(kIdiomCount, [](int number) {
              const auto i = static_cast<uint32_t>(number);
              uint32_t x = 0x01020304u + i, y = (0xa0b0c0d0u & 0xff00ffffu) | (i & 0xff) << 16;
              uint32_t& changed = i % 2 == 0 ? x : y;
              changed = (changed & 0x00ffffffu) | 7u << 24;
              x = (x & 0xffffu) | ((x >> 16) + 3) << 16;
              float v[4] = {1, 2, 3, static_cast<float>(i)};
              v[i % 4] += 10;
              const uint32_t flags = 0x100u | (i % 2 == 0 ? 0x01000000u : 0u);
              const uint32_t packed = 0x01010102u + (4u << i % 4 * 8);
              const uint32_t halves = 0x3e00u << i % 2 * 16;
              const uint32_t tagged = 1 + i;
              return x + y * 3 + static_cast<uint32_t>(v[0] + v[1] * 2 + v[2] * 3 + v[3] * 4) * 5 + flags * 7 +
                     packed * 11 + halves * 13 + tagged * 17 + (i | 9u << 16) * 19 + 8 * 23 + 16 * 29 + 1;
            }));
}

TEST_P(MetalIdiomsTest, MembersAreOverloadedOnTheAddressSpaceOfTheObject) {
  const ShaderLibrary library = metal(R"(
struct Complex;
template <typename T> static constexpr constant bool converts = !is_same_v<T, Complex> && is_convertible_v<T, float>;
struct Complex {
  float re, im;
  constexpr Complex(float r, float i) : re(r), im(i) {};
  constexpr Complex() : re(0), im(0) {};
  constexpr Complex() threadgroup : re(0), im(0) {};
  template <typename T, typename = enable_if_t<converts<T>>> constexpr Complex(T x) thread : re(x), im(0) {}
  template <typename T, typename = enable_if_t<converts<T>>> constexpr Complex(T x) device : re(x), im(0) {}
  template <typename T, typename = enable_if_t<converts<T>>> constexpr Complex(T x) constant : re(x), im(0) {}
  template <typename T, typename = enable_if_t<is_convertible_v<float, T>>>
  constexpr operator T() const thread { return T(re); }
  template <typename T, typename = enable_if_t<is_convertible_v<float, T>>>
  constexpr operator T() const device { return T(re); }
  float where() const device { return 1; }
  float where() const thread { return 20; }
  float where() const constant { return 300; }
  float where() const threadgroup { return 4000; }
  device Complex& operator+=(Complex other) device { re += other.re; im += other.im; return *this; }
  thread Complex& operator+=(Complex other) thread { re += 2 * other.re; im += other.im; return *this; }
};
constexpr Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
constexpr bool operator<(Complex a, Complex b) { return a.re < b.re; }
kernel void add(device float* out, device Complex* x, constant Complex& c, uint i [[thread_position_in_grid]]) {
  threadgroup Complex shared[1];
  Complex t = x[i];
  t = t + 1.0f;
  t = 2 + t;
  t += Complex(1, 2);
  x[i] += 3;
  const float re = x[i];
  out[i] = re + t.im + static_cast<float>(t) * 10 + (t < 5.0f) + x[i].where() + t.where() + c.where() +
           shared[0].where();
}
)");
  const auto in = each(2 * kIdiomCount, [](int i) { return static_cast<float>(i % 7) - 3; });
  EXPECT_EQ(run<float>(library["add"], kIdiomCount, in, std::vector<float>{1, 2}), each(kIdiomCount, [&](int i) {
              const float re = in[static_cast<size_t>(2 * i)], im = in[static_cast<size_t>(2 * i + 1)];
              const float t = re + 3 + 2;
              return re + 3 + im + 2 + t * 10 + (t < 5 ? 1.0f : 0.0f) + 4321;
            }));
}

TEST_P(MetalIdiomsTest, ArrayParametersTakeTheirSizeFromTemplateArguments) {
  const ShaderLibrary library = metal(R"(
template <typename T, int N, typename A> void load(A values[N], const device T* p) {
  for (int i = 0; i < N; ++i) values[i] = A(p[i]);
}
template <typename T, int N> T total(const thread T (&values)[N]) {
  T sum = 0;
  for (int i = 0; i < N; ++i) sum += values[i];
  return sum;
}
template <typename T, int R, int C> T corner(const thread T (&m)[R][C]) { return m[R - 1][C - 1] * 100; }
template <int N> float last(const float values[N]) { return values[N - 1]; }
void fill(float m[2][3], float by) { for (int i = 0; i < 6; ++i) m[i / 3][i % 3] = i * by; }
kernel void sum(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  float values[4];
  half small[2];
  load<float, 4>(values, in);
  load<float, 2>(small, in + 1);
  float m[2][3];
  fill(m, float(i));
  out[i] = total(values) + float(total(small)) + corner(m) + last<4>(values);
}
)");
  const auto in = idiom_numbers();
  EXPECT_EQ(run<float>(library["sum"], kIdiomCount, in), each(kIdiomCount, [&](int i) {
              return in[0] + in[1] + in[2] + in[3] + in[1] + in[2] + static_cast<float>(i) * 500 + in[3];
            }));
}

TEST_P(MetalIdiomsTest, GroupMemoryMayHaveInitialValues) {
  const ShaderLibrary library = metal(R"(
kernel void count(device int* out, uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
  threadgroup int sums[40] = {0};
  threadgroup int first[3] = {5, 6};
  threadgroup int one = 7;
  sums[l] += int(i);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = sums[(l + 1) % 40] * 1000 + first[0] * 100 + first[1] * 10 + first[2] + one;
}
)");
  EXPECT_EQ(run<int>(library["count"], kIdiomCount),
            each(kIdiomCount, [](int i) { return (i + 1) % kIdiomCount * 1000 + 567; }));
}

TEST_P(MetalIdiomsTest, ParametersMayDependOnFunctionConstants) {
  constexpr std::string_view kSource = R"(
constant bool has_bias [[function_constant(3)]];
constant int times [[function_constant(4)]];
constant bool is_set = is_function_constant_defined(times);
constant int count = is_set ? times : 1;
struct Limits { float low; float2 values[2]; };
kernel void add(device float* out, device const float* in, device const float* bias [[function_constant(has_bias)]],
                constant float& scale, const constant Limits* limits [[function_constant(has_bias)]],
                uint i [[thread_position_in_grid]]) {
  const float low = limits->low, high = limits->values[1].x;
  float v = in[i] * count;
  if (has_bias) {
    bias += 1;
    v += bias[int(i) - 1];
  }
  out[i] = v * scale + low + high;
}
)";
  const auto in = idiom_numbers();
  const auto bias = each(kIdiomCount, [](int i) { return static_cast<float>(i); });
  CompileOptions with;
  with.constants = {{"has_bias", 1}, {"times", 3}};
  const std::vector<float> limits{100, 0, 0, 0, 20, 0};
  EXPECT_EQ(run<float>(metal(kSource, with)["add"], kIdiomCount, in, bias, 2.0f, limits), each(kIdiomCount, [&](int i) {
              return (in[static_cast<size_t>(i)] * 3 + static_cast<float>(i)) * 2 + 120;
            }));
  EXPECT_EQ(run<float>(metal(kSource)["add"], kIdiomCount, in, 2.0f),
            each(kIdiomCount, [&](int i) { return in[static_cast<size_t>(i)] * 2; }));
}

TEST_P(MetalIdiomsTest, LoopsOverConstantsAreUnrolledByTemplates) {
  const ShaderLibrary library = metal(R"metal(
#define UNROLL _Pragma("clang loop unroll(full)")
namespace tile {
template <typename T, T v> struct constant_of {
  typedef T value_type;
  static constant constexpr T value = v;
  METAL_FUNC constexpr operator value_type() const { return value; }
};
template <int n> using Int = constant_of<int, n>;
template <typename T, T a, typename U, U b>
METAL_FUNC constexpr auto operator+(constant_of<T, a>, constant_of<U, b>) {
  constexpr auto sum = a + b;
  return constant_of<decltype(sum), sum>{};
}
template <typename T> METAL_FUNC constexpr T sum(T x) { return x; }
template <typename T, typename... Us> METAL_FUNC constexpr auto sum(T x, Us... us) { return x + sum(us...); }
template <int start, int stop, typename F> METAL_FUNC constexpr void repeat(F f) {
  if constexpr (start < stop) {
    f(Int<start>{});
    repeat<start + 1, stop>(f);
  }
}
}  // namespace tile
template <typename T> struct Pair {
  T a, b;
  Pair(T x, T y) : a(x), b(y) {}
};
template <typename T, typename U> struct Both {
  T first;
  U second;
};
struct Square {
  template <typename T> T operator()(T x) { return x * x; }
  template <> bool operator()(bool x) { return !x; }
};
template <typename T, typename Op> [[kernel]] void run(device float* out, uint i [[thread_position_in_grid]]) {
  float v = 0;
  UNROLL for (int k = 0; k < 2; ++k) v += k;
  tile::repeat<0, 4>([&](auto n) {
    constexpr int c = decltype(n)::value;
    float part[c + 1];
    part[c] = c * 10;
    if constexpr (n % 2 == 0) v += part[c]; else v -= n;
  });
  auto seven = tile::sum(tile::Int<1>{}, tile::Int<2>{}, tile::Int<4>{});
  static_assert(decltype(seven)::value == 7 && __is_empty(decltype(seven)), "");
  Pair p(1.5f, float(i));
  Both both{2, 0.25f};
  out[i] = v + seven + p.b + p.a + both.first + both.second + float(Op()(T(3))) + Op()(true);
}
template [[host_name("squares")]] [[kernel]] decltype(run<int, Square>) run<int, Square>;
)metal");
  EXPECT_EQ(run<float>(library["squares"], kIdiomCount),
            each(kIdiomCount, [](int i) { return 1 + 20 - 4 + 7 + 3.75f + 9 + static_cast<float>(i); }));
}

TEST_P(MetalIdiomsTest, WideCopiesGoThroughStructuresOfBytes) {
  const ShaderLibrary library = metal(R"(
template <typename T, short N> struct Loader {
  static constant constexpr const short width = N;
  threadgroup T* to;
  const device T* from;
  struct alignas(sizeof(T)) Wide { uchar bytes[sizeof(T) * N]; };
  METAL_FUNC Loader(const device T* from_, threadgroup T* to_, ushort at) : to(to_ + at * N), from(from_ + at * N) {}
  METAL_FUNC void load() const { *((threadgroup Wide*)(&to[0])) = *((const device Wide*)(&from[0])); }
};
kernel void copy(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  threadgroup float shared[40];
  if (i < 10) {
    Loader<float, 4> loader(in, shared, i);
    loader.load();
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = shared[39 - i];
}
)");
  const auto in = idiom_numbers();
  EXPECT_EQ(run<float>(library["copy"], kIdiomCount, in),
            each(kIdiomCount, [&](int i) { return in[static_cast<size_t>(kIdiomCount - 1 - i)]; }));
}

TEST_P(MetalIdiomsTest, MacrosMayPasteTheWordsOfOperators) {
  const ShaderLibrary library = metal(R"(
#define DEFINE(op, T) METAL_FUNC T fn_##op##_##T(T a, T b) { return a op b; }
DEFINE(and, bool)
DEFINE(or, bool)
DEFINE(xor, int)
DEFINE(bitand, int)
struct Table { static const constant int values[2]; static const constant int size; };
constant int Table::values[2] = {3, 5};
constant int Table::size = 2;
kernel void mix(device int* out, volatile coherent(device) device int* in, uint i [[thread_position_in_grid]]) {
  out[i] = fn_and_bool(i % 2, i % 3) + 10 * fn_or_bool(i % 2, i % 3) + 100 * fn_xor_int(in[i], 5) +
           fn_bitand_int(in[i], 1) * 7 + Table::values[i % Table::size] * 100000;
}
)");
  const auto in = each(kIdiomCount, [](int i) { return i * 3; });
  EXPECT_EQ(run<int>(library["mix"], kIdiomCount, in), each(kIdiomCount, [](int i) {
              const bool two = i % 2 != 0, three = i % 3 != 0;
              return (two && three) + 10 * (two || three) + 100 * ((i * 3) ^ 5) + (i * 3 & 1) * 7 +
                     (i % 2 == 0 ? 3 : 5) * 100000;
            }));
}

}  // namespace
}  // namespace kymo::device::tests
