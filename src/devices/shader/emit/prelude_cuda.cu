// What CUDA C++ lacks, without any header. A program gets only the pieces that it uses. A piece begins with a line
// "//# NAME WORDS: NEEDS": its name, the words in it that are replaced for each use, and the pieces that it needs.

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

//# loose: vector
// Vectors at addresses that are aligned for their components only. Most are aligned as vectors.
template <class T, int N>
__device__ kymo_vec<T, N> kymo_loose_load(const kymo_vec<T, N>* from) {
  if ((ulong)from % sizeof(*from) == 0) return *from;
  kymo_vec<T, N> value;
  for (uint i = 0; i < N; ++i) value[i] = ((const T*)from)[i];
  return value;
}
template <class T, int N>
__device__ void kymo_loose_store(kymo_vec<T, N>* to, kymo_vec<T, N> value) {
  if ((ulong)to % sizeof(*to) == 0)
    *to = value;
  else
    for (uint i = 0; i < N; ++i) ((T*)to)[i] = value[i];
}

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
