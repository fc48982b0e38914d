// What CUDA C++ lacks, without any header. Pieces, of which a text gets those that it uses: behind "//#" stand a
// piece's name, the words in it that are replaced for each use, and, behind a colon, the pieces that it needs itself.

//# types
typedef signed char schar;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
static_assert(sizeof(long) == 8, "long has 64 bits");

//# vector: types
// A vector of 2 to 4 numbers, as Metal lays it out. CUDA's own have other alignments, and no arithmetic.
template <class T, int N>
struct kymo_vec;
template <class T>
struct alignas(2 * sizeof(T)) kymo_vec<T, 2> {
  T x, y;
  kymo_vec() = default;
  __device__ constexpr kymo_vec(T a, T b) : x(a), y(b) {}
  __device__ constexpr explicit kymo_vec(T a) : x(a), y(a) {}
  __device__ constexpr T at(uint i) const { return i == 0 ? x : y; }
  __device__ T& operator[](uint i) { return (&x)[i]; }
  __device__ constexpr T operator[](uint i) const { return at(i); }
};
template <class T>
struct alignas(4 * sizeof(T)) kymo_vec<T, 3> {
  T x, y, z;
  kymo_vec() = default;
  __device__ constexpr kymo_vec(T a, T b, T c) : x(a), y(b), z(c) {}
  __device__ constexpr explicit kymo_vec(T a) : x(a), y(a), z(a) {}
  __device__ constexpr T at(uint i) const { return i == 0 ? x : i == 1 ? y : z; }
  __device__ T& operator[](uint i) { return (&x)[i]; }
  __device__ constexpr T operator[](uint i) const { return at(i); }
};
template <class T>
struct alignas(4 * sizeof(T)) kymo_vec<T, 4> {
  T x, y, z, w;
  kymo_vec() = default;
  __device__ constexpr kymo_vec(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
  __device__ constexpr explicit kymo_vec(T a) : x(a), y(a), z(a), w(a) {}
  __device__ constexpr T at(uint i) const { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
  __device__ T& operator[](uint i) { return (&x)[i]; }
  __device__ constexpr T operator[](uint i) const { return at(i); }
};

//# alias NAME TYPE COUNT: vector
typedef kymo_vec<TYPE, COUNT> kymo_NAMECOUNT;

//# map: vector
// A function of each component, or of each two.
template <class R, class T, class F>
__device__ constexpr kymo_vec<R, 2> kymo_map(kymo_vec<T, 2> a, F f) {
  return {f(a.x), f(a.y)};
}
template <class R, class T, class F>
__device__ constexpr kymo_vec<R, 3> kymo_map(kymo_vec<T, 3> a, F f) {
  return {f(a.x), f(a.y), f(a.z)};
}
template <class R, class T, class F>
__device__ constexpr kymo_vec<R, 4> kymo_map(kymo_vec<T, 4> a, F f) {
  return {f(a.x), f(a.y), f(a.z), f(a.w)};
}
template <class R, class T, class U, class F>
__device__ constexpr kymo_vec<R, 2> kymo_map(kymo_vec<T, 2> a, kymo_vec<U, 2> b, F f) {
  return {f(a.x, b.x), f(a.y, b.y)};
}
template <class R, class T, class U, class F>
__device__ constexpr kymo_vec<R, 3> kymo_map(kymo_vec<T, 3> a, kymo_vec<U, 3> b, F f) {
  return {f(a.x, b.x), f(a.y, b.y), f(a.z, b.z)};
}
template <class R, class T, class U, class F>
__device__ constexpr kymo_vec<R, 4> kymo_map(kymo_vec<T, 4> a, kymo_vec<U, 4> b, F f) {
  return {f(a.x, b.x), f(a.y, b.y), f(a.z, b.z), f(a.w, b.w)};
}

//# arithmetic OPERATOR: map
template <class T, class U, int N>
__device__ constexpr kymo_vec<T, N> operator OPERATOR(kymo_vec<T, N> a, kymo_vec<U, N> b) {
  return kymo_map<T>(a, b, [](T x, U y) { return (T)(x OPERATOR y); });
}

//# comparison OPERATOR: map
template <class T, int N>
__device__ constexpr kymo_vec<bool, N> operator OPERATOR(kymo_vec<T, N> a, kymo_vec<T, N> b) {
  return kymo_map<bool>(a, b, [](T x, T y) { return x OPERATOR y; });
}

//# unary OPERATOR: map
template <class T, int N>
__device__ constexpr kymo_vec<T, N> operator OPERATOR(kymo_vec<T, N> a) {
  return kymo_map<T>(a, [](T x) { return (T)(OPERATOR x); });
}

//# convert: map
template <class R, class T, int N>
__device__ constexpr kymo_vec<R, N> kymo_convert(kymo_vec<T, N> a) {
  return kymo_map<R>(a, [](T x) { return (R)x; });
}

//# swizzle: vector
template <int I, int J, class T, int N>
__device__ kymo_vec<T, 2> kymo_swizzle(kymo_vec<T, N> v) {
  return {v.at(I), v.at(J)};
}
template <int I, int J, int K, class T, int N>
__device__ kymo_vec<T, 3> kymo_swizzle(kymo_vec<T, N> v) {
  return {v.at(I), v.at(J), v.at(K)};
}
template <int I, int J, int K, int L, class T, int N>
__device__ kymo_vec<T, 4> kymo_swizzle(kymo_vec<T, N> v) {
  return {v.at(I), v.at(J), v.at(K), v.at(L)};
}

//# join: vector
// A vector of the components of scalars and vectors.
template <class T>
__device__ int kymo_put(T* to, int at, T value) {
  to[at] = value;
  return at + 1;
}
template <class T, int N>
__device__ int kymo_put(T* to, int at, kymo_vec<T, N> value) {
  for (int i = 0; i < N; ++i) to[at + i] = value.at(i);
  return at + N;
}
template <class V, class T, class... P>
__device__ V kymo_join(P... parts) {
  T all[sizeof(V) / sizeof(T)];
  int at = 0;
  ((at = kymo_put<T>(all, at, parts)), ...);
  V v;
  for (int i = 0; i < at; ++i) v[i] = all[i];
  return v;
}

//# any: vector
template <int N>
__device__ bool kymo_any(kymo_vec<bool, N> v) {
  bool any = false;
  for (int i = 0; i < N; ++i) any |= v.at(i);
  return any;
}

//# all: vector
template <int N>
__device__ bool kymo_all(kymo_vec<bool, N> v) {
  bool all = true;
  for (int i = 0; i < N; ++i) all &= v.at(i);
  return all;
}

//# select: vector
template <class T, int N>
__device__ kymo_vec<T, N> kymo_select(kymo_vec<T, N> if_false, kymo_vec<T, N> if_true, kymo_vec<bool, N> which) {
  kymo_vec<T, N> v;
  for (int i = 0; i < N; ++i) v[i] = which.at(i) ? if_true.at(i) : if_false.at(i);
  return v;
}

//# select_scalar
template <class T>
__device__ T kymo_select(T if_false, T if_true, bool which) {
  return which ? if_true : if_false;
}

//# bitcast
template <class R, class T>
__device__ R kymo_bitcast(T value) {
  static_assert(sizeof(R) == sizeof(T), "as many bytes");
  R result;
  memcpy(&result, &value, sizeof(R));
  return result;
}

//# each1 NAME RESULT: map
template <class T, int N>
__device__ kymo_vec<RESULT, N> NAME(kymo_vec<T, N> a) {
  return kymo_map<RESULT>(a, [](T x) { return (RESULT)NAME(x); });
}

//# each2 NAME: map
template <class T, int N>
__device__ kymo_vec<T, N> NAME(kymo_vec<T, N> a, kymo_vec<T, N> b) {
  return kymo_map<T>(a, b, [](T x, T y) { return (T)NAME(x, y); });
}

//# fma_vector: vector
template <int N>
__device__ kymo_vec<float, N> fmaf(kymo_vec<float, N> a, kymo_vec<float, N> b, kymo_vec<float, N> c) {
  kymo_vec<float, N> v;
  for (int i = 0; i < N; ++i) v[i] = fmaf(a.at(i), b.at(i), c.at(i));
  return v;
}

//# rsqrt
__device__ float kymo_rsqrt(float x) { return 1.0f / sqrtf(x); }

//# isnan
__device__ bool kymo_isnan(float x) { return x != x; }

//# isinf
__device__ bool kymo_isinf(float x) { return fabsf(x) == __int_as_float(0x7f800000); }

//# min
template <class T>
__device__ T kymo_min(T a, T b) {
  return b < a ? b : a;
}

//# max
template <class T>
__device__ T kymo_max(T a, T b) {
  return a < b ? b : a;
}

//# popcount: types
__device__ schar kymo_popcount(schar x) { return __popc((uchar)x); }
__device__ uchar kymo_popcount(uchar x) { return __popc(x); }
__device__ short kymo_popcount(short x) { return __popc((ushort)x); }
__device__ ushort kymo_popcount(ushort x) { return __popc(x); }
__device__ int kymo_popcount(int x) { return __popc(x); }
__device__ uint kymo_popcount(uint x) { return __popc(x); }
__device__ long kymo_popcount(long x) { return __popcll(x); }
__device__ ulong kymo_popcount(ulong x) { return __popcll(x); }

//# clz: types
__device__ schar kymo_clz(schar x) { return __clz((uchar)x) - 24; }
__device__ uchar kymo_clz(uchar x) { return __clz(x) - 24; }
__device__ short kymo_clz(short x) { return __clz((ushort)x) - 16; }
__device__ ushort kymo_clz(ushort x) { return __clz(x) - 16; }
__device__ int kymo_clz(int x) { return __clz(x); }
__device__ uint kymo_clz(uint x) { return __clz(x); }
__device__ long kymo_clz(long x) { return __clzll(x); }
__device__ ulong kymo_clz(ulong x) { return __clzll(x); }

//# reverse_bits: types
__device__ schar kymo_reverse_bits(schar x) { return (schar)(__brev((uchar)x) >> 24); }
__device__ uchar kymo_reverse_bits(uchar x) { return (uchar)(__brev(x) >> 24); }
__device__ short kymo_reverse_bits(short x) { return (short)(__brev((ushort)x) >> 16); }
__device__ ushort kymo_reverse_bits(ushort x) { return (ushort)(__brev(x) >> 16); }
__device__ int kymo_reverse_bits(int x) { return (int)__brev((uint)x); }
__device__ uint kymo_reverse_bits(uint x) { return __brev(x); }
__device__ long kymo_reverse_bits(long x) { return (long)__brevll((ulong)x); }
__device__ ulong kymo_reverse_bits(ulong x) { return __brevll(x); }

//# mul_hi: types
__device__ int kymo_mul_hi(int a, int b) { return __mulhi(a, b); }
__device__ uint kymo_mul_hi(uint a, uint b) { return __umulhi(a, b); }

//# half_to_float: types
__device__ float kymo_half_to_float(ushort bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

//# float_to_half: types
__device__ ushort kymo_float_to_half(float value) {
  ushort bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

//# round_to_half: half_to_float, float_to_half
__device__ float kymo_round_to_half(float value) { return kymo_half_to_float(kymo_float_to_half(value)); }

//# bfloat_to_float: types
__device__ float kymo_bfloat_to_float(ushort bits) { return __uint_as_float((uint)bits << 16); }

//# float_to_bfloat: types
__device__ ushort kymo_float_to_bfloat(float value) { return (ushort)(__float_as_uint(value) >> 16); }

//# round_to_bfloat: types
__device__ float kymo_round_to_bfloat(float value) {
  const uint bits = __float_as_uint(value);
  const uint rounded = value != value ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u);
  return __uint_as_float(rounded & 0xffff0000u);
}

//# atomic_compare_exchange: types
__device__ int kymo_atomic_compare_exchange(int* p, int expected, int value) { return atomicCAS(p, expected, value); }
__device__ uint kymo_atomic_compare_exchange(uint* p, uint expected, uint value) {
  return atomicCAS(p, expected, value);
}
__device__ ulong kymo_atomic_compare_exchange(ulong* p, ulong expected, ulong value) {
  return atomicCAS((unsigned long long*)p, (unsigned long long)expected, (unsigned long long)value);
}
__device__ float kymo_atomic_compare_exchange(float* p, float expected, float value) {
  return __uint_as_float(atomicCAS((uint*)p, __float_as_uint(expected), __float_as_uint(value)));
}

//# atomic_exchange: types
template <class T>
__device__ T kymo_atomic_exchange(T* p, T value) {
  return atomicExch(p, value);
}
__device__ ulong kymo_atomic_exchange(ulong* p, ulong value) {
  return atomicExch((unsigned long long*)p, (unsigned long long)value);
}

//# atomic_add: types
template <class T>
__device__ T kymo_atomic_add(T* p, T value) {
  return atomicAdd(p, value);
}
__device__ ulong kymo_atomic_add(ulong* p, ulong value) {
  return atomicAdd((unsigned long long*)p, (unsigned long long)value);
}

//# atomic_subtract: types
__device__ int kymo_atomic_subtract(int* p, int value) { return atomicSub(p, value); }
__device__ uint kymo_atomic_subtract(uint* p, uint value) { return atomicSub(p, value); }
__device__ ulong kymo_atomic_subtract(ulong* p, ulong value) { return atomicAdd((unsigned long long*)p, 0ull - value); }
__device__ float kymo_atomic_subtract(float* p, float value) { return atomicAdd(p, -value); }

//# atomic_integer NAME FUNCTION: types
template <class T>
__device__ T kymo_atomic_NAME(T* p, T value) {
  return FUNCTION(p, value);
}
__device__ ulong kymo_atomic_NAME(ulong* p, ulong value) {
  return FUNCTION((unsigned long long*)p, (unsigned long long)value);
}

//# atomic_float NAME COMBINED: atomic_compare_exchange
__device__ float kymo_atomic_NAME(float* p, float value) {
  uint seen = *(volatile uint*)p, expected;
  do {
    expected = seen;
    const float old = __uint_as_float(expected);
    seen = kymo_atomic_compare_exchange((uint*)p, expected, __float_as_uint(COMBINED));
  } while (seen != expected);
  return __uint_as_float(seen);
}

//# group_memory
extern __shared__ __align__(16) unsigned char kymo_group_memory[];

//# grid: types
// What the runtime says of a launch: its threads, the threads of a whole group, and where this piece of it begins.
struct kymo_grid_type {
  uint threads[3], group[3], offset[3];
};

//# grid_position: vector
__device__ kymo_vec<uint, 3> kymo_grid_position() {
  return {blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
          blockIdx.z * blockDim.z + threadIdx.z};
}

//# grid_position_in_piece: vector, grid
__device__ kymo_vec<uint, 3> kymo_grid_position(const kymo_grid_type& grid) {
  return {grid.offset[0] + blockIdx.x * blockDim.x + threadIdx.x,
          grid.offset[1] + blockIdx.y * blockDim.y + threadIdx.y,
          grid.offset[2] + blockIdx.z * blockDim.z + threadIdx.z};
}

//# group_position: vector
__device__ kymo_vec<uint, 3> kymo_group_position() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }

//# group_index: vector
__device__ kymo_vec<uint, 3> kymo_group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }

//# group_index_in_piece: vector, grid
__device__ kymo_vec<uint, 3> kymo_group_index(const kymo_grid_type& grid) {
  return {grid.offset[0] / grid.group[0] + blockIdx.x, grid.offset[1] / grid.group[1] + blockIdx.y,
          grid.offset[2] / grid.group[2] + blockIdx.z};
}

//# group_size_in_piece: vector, grid
// The last group of a dimension may lack threads.
__device__ uint kymo_group_size(const kymo_grid_type& grid, int d, uint group, uint block) {
  const uint left = grid.threads[d] - grid.offset[d] - block * group;
  return left < group ? left : group;
}
__device__ kymo_vec<uint, 3> kymo_group_size(const kymo_grid_type& grid) {
  return {kymo_group_size(grid, 0, blockDim.x, blockIdx.x), kymo_group_size(grid, 1, blockDim.y, blockIdx.y),
          kymo_group_size(grid, 2, blockDim.z, blockIdx.z)};
}

//# grid_size_in_piece: vector, grid
__device__ kymo_vec<uint, 3> kymo_grid_size(const kymo_grid_type& grid) {
  return {grid.threads[0], grid.threads[1], grid.threads[2]};
}

//# full_group_size: vector
__device__ kymo_vec<uint, 3> kymo_full_group_size() { return {blockDim.x, blockDim.y, blockDim.z}; }

//# full_group_size_in_piece: vector, grid
__device__ kymo_vec<uint, 3> kymo_full_group_size(const kymo_grid_type& grid) {
  return {grid.group[0], grid.group[1], grid.group[2]};
}

//# group_count: vector
__device__ kymo_vec<uint, 3> kymo_group_count() { return {gridDim.x, gridDim.y, gridDim.z}; }

//# group_count_in_piece: vector, grid
__device__ uint kymo_group_count(uint threads, uint group) { return threads / group + (threads % group != 0); }
__device__ kymo_vec<uint, 3> kymo_group_count(const kymo_grid_type& grid) {
  return {kymo_group_count(grid.threads[0], grid.group[0]), kymo_group_count(grid.threads[1], grid.group[1]),
          kymo_group_count(grid.threads[2], grid.group[2])};
}

//# thread_in_group: types
__device__ uint kymo_thread_in_group() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

//# simd: thread_in_group
// Simdgroups are warps. All threads of a warp that have not exited come to every operation, so it may name all of them;
// those with `active` take part.
constexpr uint kymo_all_lanes = 0xffffffffu;
__device__ uint kymo_simd_lanes(bool active) { return __ballot_sync(kymo_all_lanes, active); }

//# simd_tree: simd
// Each thread holds the sum of those whose lane is like its own in the bits that were not yet combined. Where lanes are
// missing it takes the other sum from one that is there.
template <class T, class F>
__device__ T kymo_simd_tree(T value, bool active, F combine) {
  const uint lanes = kymo_simd_lanes(active);
  if (lanes == kymo_all_lanes) {
    for (int step = 16; step > 0; step /= 2) value = combine(value, __shfl_xor_sync(kymo_all_lanes, value, step));
    return value;
  }
  const uint me = kymo_thread_in_group() & 31u;
  for (uint step = 16; step > 0; step /= 2) {
    uint others = 0;
    for (uint lane = (me ^ step) & (2 * step - 1); lane < 32; lane += 2 * step) others |= 1u << lane;
    others &= lanes;
    const T other = __shfl_sync(kymo_all_lanes, value, others != 0 ? __ffs(others) - 1 : me);
    if (others != 0) value = combine(value, other);
  }
  return value;
}

//# simd_reduce NAME COMBINED: simd_tree
template <class T>
__device__ T kymo_simd_NAME(T value, bool active) {
  return kymo_simd_tree(value, active, [](T a, T b) { return COMBINED; });
}

//# simd_scan: simd
// In the order of lanes, so that sums of floats are the same everywhere.
template <class T, class F>
__device__ T kymo_simd_scan(T value, bool active, bool inclusive, T start, F combine) {
  const uint lanes = kymo_simd_lanes(active), me = kymo_thread_in_group() & 31u;
  T all = start;
  bool is_first = true;
  for (uint lane = 0; lane < 32; ++lane) {
    const T one = __shfl_sync(kymo_all_lanes, value, lane);
    if ((lanes >> lane & 1u) == 0 || lane > me || (lane == me && !inclusive)) continue;
    all = is_first ? one : combine(all, one);
    is_first = false;
  }
  return all;
}

//# simd_inclusive NAME OPERATOR START: simd_scan
template <class T>
__device__ T kymo_simd_inclusive_NAME(T value, bool active) {
  return kymo_simd_scan(value, active, true, (T)START, [](T a, T b) { return (T)(a OPERATOR b); });
}

//# simd_exclusive NAME OPERATOR START: simd_scan
template <class T>
__device__ T kymo_simd_exclusive_NAME(T value, bool active) {
  return kymo_simd_scan(value, active, false, (T)START, [](T a, T b) { return (T)(a OPERATOR b); });
}

//# simd_shuffle: simd
template <class T>
__device__ T kymo_simd_shuffle(T value, uint lane, bool active) {
  const uint lanes = kymo_simd_lanes(active);
  const T given = __shfl_sync(kymo_all_lanes, value, lane & 31u);
  return lane < 32 && (lanes >> lane & 1u) != 0 ? given : value;
}

//# simd_ballot: simd
__device__ uint kymo_simd_ballot(bool value, bool active) { return kymo_simd_lanes(active && value); }

//# group_any: simd
// Of the warp: no operation needs more threads than that to come along.
__device__ bool kymo_group_any(bool value) { return __any_sync(kymo_all_lanes, value); }
