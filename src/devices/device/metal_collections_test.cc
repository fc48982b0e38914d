// Kernels in the shape of large collections: templates of operations for many types, tiles of matrices, merge sort,
// steps of a Fourier transform. The results are compared with those of the host.
#include <algorithm>
#include <complex>
#include <numbers>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalCollectionsTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalCollectionsTest);

TEST_P(MetalCollectionsTest, OperationsAreSpecialisedByTypeAndByTrait) {
  const ShaderLibrary library = metal(R"metal(
#include <metal_logging>
constant metal::os_log logger("collections", "operations");
struct pair_t;
template <typename T> constexpr constant bool is_part = !is_same_v<T, pair_t> && is_convertible_v<T, float>;
struct pair_t {
  float re, im;
  constexpr pair_t(float r, float i) : re(r), im(i) {}
  template <typename T, typename = typename enable_if<is_part<T>>::type> constexpr pair_t(T x) thread : re(x), im(0) {}
};
constexpr pair_t operator-(pair_t a, pair_t b) { return {a.re - b.re, a.im - b.im}; }
constexpr bool operator>(pair_t a, pair_t b) { return a.re > b.re || (a.re == b.re && a.im > b.im); }
namespace metal {
METAL_FUNC bfloat sqrt(bfloat x) { return static_cast<bfloat>(__metal_sqrt(static_cast<float>(x), __METAL_MAYBE_FAST_MATH__)); }
namespace precise {
METAL_FUNC bfloat sqrt(bfloat x) { return static_cast<bfloat>(__metal_sqrt(static_cast<float>(x), __METAL_PRECISE_MATH__)); }
}
}
struct Largest {
  template <typename T> metal::enable_if_t<metal::is_integral_v<T>, T> operator()(T x, T y) thread { return metal::max(x, y) + 1; }
  template <typename T> metal::enable_if_t<!metal::is_integral_v<T>, T> operator()(T x, T y) thread {
    if (metal::isnan(x)) { logger.log_debug("not a number: %f", float(x)); return x; }
    return x > y ? x : y;
  }
  template <> pair_t operator()(pair_t x, pair_t y) thread { return x > y ? x - 1.0f : y - 1.0f; }
};
struct Root {
  template <typename T> T operator()(T x) { return metal::precise::sqrt(x); };
  pair_t operator()(pair_t x);
};
pair_t Root::operator()(pair_t x) { return {metal::precise::sqrt(x.re), x.im}; };
template <typename T, typename Op> [[kernel]] void two(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  const T r = Op()(T(in[i]), T(in[i + 1]));
  if constexpr (is_same_v<T, pair_t>) out[i] = r.re * 2; else out[i] = float(r);
}
template <typename T> [[kernel]] void root(device float* out, device const float* in, uint i [[thread_position_in_grid]]) { out[i] = float(Root()(T(in[i]))); }
#define INSTANTIATE(name, func, ...) template [[host_name(name)]] [[kernel]] decltype(func<__VA_ARGS__>) func<__VA_ARGS__>;
INSTANTIATE("int", two, int, Largest)
INSTANTIATE("float", two, float, Largest)
INSTANTIATE("pair", two, pair_t, Largest)
INSTANTIATE("root", root, bfloat)
)metal");
  constexpr int kCount = 33;
  const auto in = each(kCount + 1, [](int i) { return static_cast<float>((i * 7) % 16); });
  const auto largest = [&](int i) { return std::max(in[static_cast<size_t>(i)], in[static_cast<size_t>(i) + 1]); };
  EXPECT_EQ(run<float>(library["int"], kCount, in), each(kCount, [&](int i) { return largest(i) + 1; }));
  EXPECT_EQ(run<float>(library["float"], kCount, in), each(kCount, [&](int i) { return largest(i); }));
  EXPECT_EQ(run<float>(library["pair"], kCount, in), each(kCount, [&](int i) { return (largest(i) - 1) * 2; }));
  const auto roots = run<float>(library["root"], kCount, in);
  for (size_t i = 0; i < kCount; ++i) EXPECT_NEAR(roots[i], std::sqrt(in[i]), 0.01);
}

TEST_P(MetalCollectionsTest, TilesOfMatricesAreMultipliedFragmentByFragment) {
  const ShaderLibrary library = metal(R"metal(
#define UNROLL _Pragma("clang loop unroll(full)")
#define CONST static constant constexpr const
namespace metal {
template <typename T> struct pointer_element {};
template <typename T> struct pointer_element<device T*> { using type = remove_cv_t<T>; };
template <typename T> struct pointer_element<threadgroup T*> { using type = remove_cv_t<T>; };
}
template <typename T, int v> struct Fixed { CONST T value = v; METAL_FUNC constexpr operator T() const { return value; } };
template <int v> using Int = Fixed<int, v>;
template <typename T, int Rows, int Columns> struct Fragment { static_assert(Rows == 8 && Columns == 8, "8 x 8 only"); };
template <typename T> struct Fragment<T, 8, 8> {
  CONST int kValues = 2;
  typedef metal::simdgroup_matrix<T, 8, 8> matrix_t;
  typedef metal::vec<T, kValues> values_t;
  METAL_FUNC static constexpr short2 place(ushort lane [[thread_index_in_simdgroup]]) {
    const short quad = lane / 4;
    return short2{short((quad & 2) * 2 + (lane % 2) * 2), short((quad & 4) + (lane / 2) % 4)};
  }
  template <typename From, typename X, typename Y> METAL_FUNC static constexpr void load(thread values_t& to, From from, X x, Y y) {
    UNROLL for (short j = 0; j < kValues; j++) to[j] = static_cast<T>(from[0 * x + j * y]);
  }
  template <typename To, typename X, typename Y> METAL_FUNC static constexpr void store(const thread values_t& from, To to, X x, Y y) {
    using U = typename metal::pointer_element<metal::remove_cv_t<To>>::type;
    UNROLL for (short j = 0; j < kValues; j++) to[0 * x + j * y] = static_cast<U>(from[j]);
  }
  METAL_FUNC static constexpr void multiply(thread values_t& d, thread values_t& a, thread values_t& b, thread values_t& c) {
    matrix_t dm, am, bm, cm;
    reinterpret_cast<thread values_t&>(am.thread_elements()) = a;
    reinterpret_cast<thread values_t&>(bm.thread_elements()) = b;
    reinterpret_cast<thread values_t&>(cm.thread_elements()) = c;
    simdgroup_multiply_accumulate(dm, am, bm, cm);
    d = reinterpret_cast<thread values_t&>(dm.thread_elements());
  }
};
template <typename T, int Rows, int Columns, class Fragment_ = Fragment<T, 8, 8>> struct Tile {
  using fragment_t = Fragment_;
  CONST int kFragments = Rows * Columns;
  CONST int kAll = kFragments * fragment_t::kValues;
  typedef typename fragment_t::values_t values_t;
  values_t parts[kFragments] = {values_t(0)};
  METAL_FUNC Tile() thread {}
  METAL_FUNC constexpr void clear() { UNROLL for (short i = 0; i < kFragments; ++i) parts[i] = values_t(0); }
  METAL_FUNC constexpr thread values_t& at(const short i, const short j) { return parts[i * Columns + j]; }
  METAL_FUNC thread T* all() { return reinterpret_cast<thread T*>(parts); }
  template <typename U, int ld, int step> METAL_FUNC void load(const threadgroup U* from) {
    UNROLL for (short i = 0; i < Rows; ++i)
      for (short j = 0; j < Columns; ++j) fragment_t::load(at(i, j), &(from[i * 8 * ld + j * 8 * step]), Int<ld>{}, Int<step>{});
  }
  template <typename U> METAL_FUNC void store(device U* to, const int ld) {
    for (short i = 0; i < Rows; ++i)
      for (short j = 0; j < Columns; ++j) fragment_t::store(at(i, j), &(to[i * 8 * ld + j * 8]), ld, Int<1>{});
  }
};
template <typename T, int M, int N, int K> METAL_FUNC void multiply(thread Tile<T, M, N>& d, thread Tile<T, M, K>& a, thread Tile<T, K, N>& b) {
  UNROLL for (short m = 0; m < M; ++m)
    for (short n = 0; n < N; ++n)
      for (short k = 0; k < K; ++k) Tile<T, M, N>::fragment_t::multiply(d.at(m, n), a.at(m, k), b.at(k, n), d.at(m, n));
}
struct Scale { const float by; METAL_FUNC Scale(float b) : by(b) {} METAL_FUNC float apply(float x) const { return x * by; } };
template <typename T, int BM, int BN, int BK> struct Block {
  Tile<float, BM / 8, 1> left; Tile<float, 1, BN / 8> right; Tile<float, BM / 8, BN / 8> sum;
  short row, column;
  METAL_FUNC Block(ushort lane [[thread_index_in_simdgroup]]) { const short2 p = Fragment<T, 8, 8>::place(lane); row = p.y; column = p.x; sum.clear(); }
  METAL_FUNC void add(const threadgroup T* a, const threadgroup T* b) {
    a += row * BK + column; b += row * BN + column;
    for (short k = 0; k < BK; k += 8) {
      left.template load<T, BK, 1>(a); right.template load<T, BN, 1>(b);
      multiply(sum, left, right); a += 8; b += 8 * BN;
    }
  }
  template <typename Epilogue> METAL_FUNC void finish(device T* c, const int ld, thread const Epilogue& epilogue) {
    for (short i = 0; i < decltype(sum)::kAll; i++) sum.all()[i] = epilogue.apply(sum.all()[i]);
    sum.template store<T>(c + row * ld + column, ld);
  }
};
template <typename T, int BM, int BN, int BK> [[kernel, max_total_threads_per_threadgroup(32)]] void product(
    device T* c [[buffer(0)]], const device T* a [[buffer(1)]], const device T* b [[buffer(2)]], const constant int& n,
    uint lane [[thread_index_in_simdgroup]], uint2 group [[threadgroup_position_in_grid]]) {
  threadgroup T as[BM * BK]; threadgroup T bs[BK * BN];
  thread Block<T, BM, BN, BK> block(lane);
  for (int k = 0; k < n; k += BK) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int i = lane; i < BM * BK; i += 32) as[i] = a[(group.y * BM + i / BK) * n + k + i % BK];
    for (int i = lane; i < BK * BN; i += 32) bs[i] = b[(k + i / BN) * n + group.x * BN + i % BN];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    block.add(as, bs);
  }
  const Scale scale(0.5f);
  block.finish(c + group.y * BM * n + group.x * BN, n, scale);
}
template [[host_name("product")]] [[kernel]] decltype(product<float, 16, 16, 16>) product<float, 16, 16, 16>;
)metal");
  constexpr int kSize = 32;
  const auto number = [](int i) { return static_cast<float>((i * 5) % 11) - 4; };
  const auto a = each(kSize * kSize, number), b = each(kSize * kSize, [&](int i) { return number(i + 3); });
  const Tensor out = zeros({kSize, kSize});
  library["product"].threads(kSize / 16 * 32, kSize / 16).group(32, 1)(out, from_host(a), from_host(b), kSize);
  EXPECT_EQ(out.to_host<float>(), each(kSize * kSize, [&](int i) {
              float sum = 0;
              for (int k = 0; k < kSize; ++k)
                sum += a[static_cast<size_t>(i / kSize * kSize + k)] * b[static_cast<size_t>(k * kSize + i % kSize)];
              return sum / 2;
            }));
}

TEST_P(MetalCollectionsTest, ElementsAreSetByTheirIndex) {
  const ShaderLibrary library = metal(R"(
constant constexpr uint kWeights[] = {[3] = 7, 8, [1] = 5};
struct Pair { int a; float b = 2; };
template <short Q> void fill(thread float* into) {
  float m[Q] = {[0 ... Q - 1] = -FLT_MAX / 2};
  for (short i = 0; i < Q; ++i) into[i] = m[i];
}
kernel void k(device float* out, uint i [[thread_position_in_grid]]) {
  float m[8];
  fill<8>(m);
  Pair pairs[4] = {[1] = {3, 4.5f}, [2 ... 3] = {int(i)}};
  int grid[2][3] = {[1] = {1, 2, 3}};
  float at[3] = {1, [0] = 2.5f, [2] = [](float x) { return x + 1; }(9)};
  out[0] = m[0] == -FLT_MAX / 2 && m[7] == m[0];
  out[1] = sizeof(kWeights) / 4;
  for (int k = 0; k < 5; ++k) out[2 + k] = kWeights[k];
  for (int k = 0; k < 4; ++k) out[7 + k] = pairs[k].a + pairs[k].b;
  out[11] = grid[0][2] * 10 + grid[1][2];
  out[12] = at[0] + 100 * at[1] + at[2];
})");
  const Tensor out = zeros({13});
  library["k"].threads(1)(out);
  EXPECT_EQ(out.to_host<float>(), (std::vector<float>{1, 5, 0, 5, 0, 7, 8, 2, 7.5f, 2, 2, 3, 12.5f}));
  EXPECT_THAT(errors_of("kernel void k(device int* o) { int a[2] = {[2] = 1}; }"),
              ::testing::HasSubstr("the index 2 is out of range"));
  EXPECT_THAT(errors_of("kernel void k(device int* o) { int a[3] = {[2 ... 1] = 1}; }"),
              ::testing::HasSubstr("2 ... 1 are no range"));
  EXPECT_THAT(errors_of("struct S { int a; };\nkernel void k(device int* o) { S a = {[0] = 1}; }"),
              ::testing::HasSubstr("only elements of an array"));
}

TEST_P(MetalCollectionsTest, BlocksAreSortedByMergingInGroupMemory) {
  const ShaderLibrary library = metal(R"metal(
#define CONST static constant constexpr const
template <typename T> METAL_FUNC void exchange(thread T& a, thread T& b) { T kept = a; a = b; b = kept; }
template <typename T> struct Less { static constexpr constant T last = metal::numeric_limits<T>::max(); METAL_FUNC bool operator()(T a, T b) const { return a < b; } };
template <typename V, typename I, bool WithIndex, short Each, typename Op> struct InThread {
  static METAL_FUNC void sort(thread V (&values)[Each], thread I (&indices)[Each]) {
    Op op;
    for (short i = 0; i < Each; ++i)
      for (short j = i & 1; j < Each - 1; j += 2)
        if (op(values[j + 1], values[j])) { exchange(values[j + 1], values[j]); if (WithIndex) exchange(indices[j + 1], indices[j]); }
  }
};
template <typename V, typename I, bool WithIndex, short Threads, short Each, typename Op = Less<V>> struct InGroup {
  using thread_t = InThread<V, I, WithIndex, Each, Op>;
  CONST short kAll = Threads * Each;
  static METAL_FUNC int split(const threadgroup V* a, const threadgroup V* b, short na, short nb, short middle) {
    Op op; short low = max(0, middle - nb); short high = min(middle, na);
    while (low < high) { short at = low + (high - low) / 2; if (op(b[middle - 1 - at], a[at])) high = at; else low = at + 1; }
    return high;
  }
  static METAL_FUNC void sort(threadgroup V* values [[threadgroup(0)]], threadgroup I* indices [[threadgroup(1)]], uint t) {
    Op op; thread V mine[Each]; thread I which[Each];
    for (int i = 0; i < Each; ++i) { mine[i] = values[t * Each + i]; if (WithIndex) which[i] = indices[t * Each + i]; }
    thread_t::sort(mine, which);
    for (int together = 2; together <= Threads; together *= 2) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (int i = 0; i < Each; ++i) { values[t * Each + i] = mine[i]; if (WithIndex) indices[t * Each + i] = which[i]; }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      int half_size = Each * together / 2, first = Each * together * (int(t) / together), middle = Each * (int(t) % together);
      const threadgroup V* a = values + first; const threadgroup V* b = values + first + half_size;
      int from_a = split(a, b, half_size, half_size, middle);
      const threadgroup I* ai = WithIndex ? indices + first + from_a : nullptr;
      const threadgroup I* bi = WithIndex ? indices + first + half_size + middle - from_a : nullptr;
      a += from_a; b += middle - from_a;
      short na = half_size - from_a, nb = half_size - middle + from_a, ia = 0, ib = 0;
      for (int i = 0; i < Each; ++i) {
        auto x = ia < na ? a[ia] : V(Op::last); auto y = ib < nb ? b[ib] : V(Op::last);
        bool second = ib < nb && (ia >= na || op(y, x));
        mine[i] = second ? y : x;
        if (WithIndex) { if (second) which[i] = bi[ib]; else which[i] = ia < na ? ai[ia] : I(0); }
        ib += short(second); ia += short(!second);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int i = 0; i < Each; ++i) { values[t * Each + i] = mine[i]; if (WithIndex) indices[t * Each + i] = which[i]; }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
};
constant constexpr const int no_offset = 0;
template <typename T> METAL_FUNC T shifted(T x, const constant int& offset) { return x + T(offset); }
template <typename T, typename U, bool WithIndex, short Threads, short Each> [[kernel, max_total_threads_per_threadgroup(Threads)]] void sort(
    device U* out, const device T* in, uint t [[thread_index_in_threadgroup]]) {
  using sort_t = InGroup<T, uint, WithIndex, Threads, Each>;
  if (WithIndex) {
    threadgroup T values[sort_t::kAll]; threadgroup uint indices[sort_t::kAll];
    for (int i = t; i < sort_t::kAll; i += Threads) { values[i] = shifted(in[i], no_offset); indices[i] = i; }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sort_t::sort(values, indices, t);
    for (int i = t; i < sort_t::kAll; i += Threads) out[i] = U(indices[i]);
  } else {
    threadgroup T values[sort_t::kAll];
    for (int i = t; i < sort_t::kAll; i += Threads) values[i] = in[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sort_t::sort(values, nullptr, t);
    for (int i = t; i < sort_t::kAll; i += Threads) out[i] = U(values[i]);
  }
}
template [[host_name("values")]] [[kernel]] decltype(sort<float, float, false, 32, 4>) sort<float, float, false, 32, 4>;
template [[host_name("places")]] [[kernel]] decltype(sort<float, float, true, 32, 4>) sort<float, float, true, 32, 4>;
)metal");
  constexpr int kCount = 128;
  const auto in = each(kCount, [](int i) { return static_cast<float>((i * 37) % kCount); });
  for (const char* const name : {"values", "places"}) {
    const Tensor out = zeros({kCount});
    library[name].threads(32).group(32)(out, from_host(in));
    const auto found = out.to_host<float>();
    for (size_t i = 0; i < kCount; ++i)
      EXPECT_EQ(name[0] == 'v' ? found[i] : in[static_cast<size_t>(found[i])], static_cast<float>(i)) << name;
  }
}

TEST_P(MetalCollectionsTest, StepsOfAFourierTransformAreFunctionsAndSpecialisedMembers) {
  const ShaderLibrary library = metal(R"metal(
constant bool is_power [[function_constant(1)]];
METAL_FUNC float2 product(float2 a, float2 b) { return float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
METAL_FUNC float2 turn(int k, int p) { float angle = -2.0f * k * M_PI_F / p; float2 r = {metal::precise::cos(angle), metal::precise::sin(angle)}; return r; }
METAL_FUNC void by_two(thread float2* x, thread float2* y) { y[0] = x[0] + x[1]; y[1] = x[0] - x[1]; }
METAL_FUNC void by_four(thread float2* x, thread float2* y) {
  float2 a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = x[1] - x[3];
  float2 e = float2(d.y, -d.x);
  y[0] = a + c; y[1] = b + e; y[2] = a - c; y[3] = b - e;
}
typedef void (*Radix)(thread float2*, thread float2*);
template <int radix, Radix function> METAL_FUNC void step(int i, thread int* p, int n, threadgroup float2* data) {
  float2 x[radix]; float2 y[radix];
  for (int r = 0; r < radix; r++) x[r] = data[i + r * (n / radix)];
  int k, j;
  if (is_power) { constexpr short power = __builtin_ctz(radix); k = i & (*p - 1); j = ((i - k) << power) + k; }
  else { k = i % *p; j = i / *p * radix * *p + k; }
  for (int r = 1; r < radix; r++) x[r] = product(x[r], turn(k * r, radix * *p));
  function(x, y);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (int r = 0; r < radix; r++) data[j + r * *p] = y[r];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  *p *= radix;
}
template <typename In, typename Out, int way = 0> struct Files {
  const device In* in; threadgroup float2* data; device Out* out; int n; uint t; float factor = 1;
  METAL_FUNC Files(const device In* in_, threadgroup float2* data_, device Out* out_, const short n_, uint t_) : in(in_), data(data_), out(out_), n(n_), t(t_) {}
  METAL_FUNC float2 given(float2 x) const { return x; }
  METAL_FUNC float2 given(float x) const { return float2(x, 0); }
  METAL_FUNC void load() const { for (int i = t; i < n; i += n / 4) data[i] = given(in[i]) * factor; }
  METAL_FUNC void write() const { for (int i = t; i < n; i += n / 4) out[i] = data[i]; }
};
template <> METAL_FUNC void Files<float, float2, /*way=*/1>::load() const { for (int i = t; i < n; i += n / 4) data[i] = given(in[i] * 3); }
template <> METAL_FUNC void Files<float2, float>::write() const { for (int i = t; i < n; i += n / 4) out[i] = data[i].x; }
template <int size, typename In, typename Out, int way = 0> [[kernel]] void transform(device Out* out, const device In* in, constant const int& n, uint t [[thread_position_in_grid]]) {
  threadgroup float2 data[size];
  thread Files<In, Out, way> files = Files<In, Out, way>(in, &data[0], out, n, t);
  files.load();
  threadgroup_barrier(mem_flags::mem_threadgroup);
  int p = 1;
  step<4, by_four>(t, &p, n, data);
  step<4, by_four>(t, &p, n, data);
  files.write();
}
template [[host_name("complex")]] [[kernel]] decltype(transform<16, float2, float2>) transform<16, float2, float2>;
template [[host_name("three")]] [[kernel]] decltype(transform<16, float, float2, 1>) transform<16, float, float2, 1>;
template [[host_name("real")]] [[kernel]] decltype(transform<16, float2, float>) transform<16, float2, float>;
)metal",
                                      [] {
                                        CompileOptions options;
                                        options.constants = {{"is_power", 1}};
                                        return options;
                                      }());
  constexpr int kCount = 16;
  const auto in = each(2 * kCount, [](int i) { return static_cast<float>(i % 5) - 1.5f; });
  const auto expected = [&](bool is_real, float factor) {
    std::vector<std::complex<double>> made(kCount);
    for (size_t k = 0; k < kCount; ++k)
      for (size_t i = 0; i < kCount; ++i)
        made[k] += (is_real ? std::complex<double>(in[i] * factor) : std::complex<double>(in[2 * i], in[2 * i + 1])) *
                   std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k * i) / kCount);
    return made;
  };
  const auto transformed = [&](const char* name, int64_t floats) {
    const Tensor out = zeros({floats});
    library[name].threads(kCount / 4).group(kCount / 4)(out, from_host(in), kCount);
    return out.to_host<float>();
  };
  const auto complex = transformed("complex", 2 * kCount), three = transformed("three", 2 * kCount),
             real = transformed("real", kCount);
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_NEAR(complex[2 * i], expected(false, 1)[i].real(), 1e-4);
    EXPECT_NEAR(complex[2 * i + 1], expected(false, 1)[i].imag(), 1e-4);
    EXPECT_NEAR(three[2 * i + 1], expected(true, 3)[i].imag(), 1e-4);
    EXPECT_NEAR(real[i], expected(false, 1)[i].real(), 1e-4);
  }
}

}  // namespace
}  // namespace kymo::device::tests
