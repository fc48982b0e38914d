// Functions on numbers and vectors alike. The translator brings arguments to one type and calls these for the names
// without kymo_.

namespace metal {

// ---- Common

template <typename T> T kymo_clamp(T x, T low, T high) { return min(max(x, low), high); }
template <typename T> T kymo_mix(T x, T y, T a) { return x + (y - x) * a; }
template <typename T> T kymo_saturate(T x) { return min(max(x, T(0)), T(1)); }
template <typename T> T kymo_step(T edge, T x) { return select(T(1), T(0), x < edge); }
template <typename T> T kymo_smoothstep(T low, T high, T x) {
  const T t = kymo_saturate((x - low) / (high - low));
  return t * t * (T(3) - T(2) * t);
}
template <typename T>
T kymo_sign(T x) {
  return select(select(T(0), T(-1), x < T(0)), T(1), x > T(0)) + select(T(0), x, x == T(0));
}
template <typename T> constexpr float kymo_below_one() {  // the largest number less than 1
  return is_same_v<T, half> ? 0x1.ffcp-1f : is_same_v<T, bfloat> ? 0x1.fep-1f : 0x1.fffffep-1f;
}
template <typename T> T kymo_fract(T x) {
  const T rest = x - floor(x);
  return select(min(rest, T(kymo_below_one<kymo_scalar_of<T>>())), rest, isnan(rest));
}
template <typename T> T kymo_fdim(T x, T y) { return select(select(T(0), x - y, x > y), x + y, isnan(x) || isnan(y)); }
template <typename T> T kymo_fmin3(T x, T y, T z) { return fmin(x, fmin(y, z)); }
template <typename T> T kymo_fmax3(T x, T y, T z) { return fmax(x, fmax(y, z)); }
template <typename T> T kymo_fmedian3(T x, T y, T z) { return fmax(fmin(x, y), fmin(fmax(x, y), z)); }
template <typename T> T kymo_min3(T x, T y, T z) { return min(x, min(y, z)); }
template <typename T> T kymo_max3(T x, T y, T z) { return max(x, max(y, z)); }
template <typename T> T kymo_median3(T x, T y, T z) { return max(min(x, y), min(max(x, y), z)); }
template <typename T> T kymo_divide(T x, T y) { return x / y; }

// ---- Geometry

template <typename T, int N> T kymo_dot(vec<T, N> a, vec<T, N> b) {
  T sum = a[0] * b[0];
  for (int i = 1; i < N; ++i) sum = sum + a[i] * b[i];
  return sum;
}
template <typename T> T kymo_dot(T a, T b) { return a * b; }
template <typename T> T kymo_cross(T a, T b) {
  return T(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
template <typename T> auto kymo_length_squared(T x) { return dot(x, x); }
template <typename T> auto kymo_length(T x) { return sqrt(dot(x, x)); }
template <typename T> auto kymo_distance(T x, T y) { return length(x - y); }
template <typename T> auto kymo_distance_squared(T x, T y) { return length_squared(x - y); }
template <typename T> T kymo_normalize(T x) { return x * rsqrt(dot(x, x)); }
template <typename T> T kymo_faceforward(T n, T i, T reference) { return dot(reference, i) < 0 ? n : -n; }
template <typename T> T kymo_reflect(T i, T n) { return i - n * (dot(n, i) * 2); }
template <typename T, int N> vec<T, N> refract(vec<T, N> i, vec<T, N> n, T eta) {
  const T d = dot(n, i);
  const T k = T(1) - eta * eta * (T(1) - d * d);
  return k < T(0) ? vec<T, N>(0) : i * eta - n * (eta * d + sqrt(k));
}

// ---- Integers

template <typename T> T kymo_abs(T x) { return select(x, -x, x < T(0)); }
template <typename T> kymo_make_unsigned<T> kymo_absdiff(T x, T y) {
  using U = kymo_make_unsigned<T>;
  return select(U(y) - U(x), U(x) - U(y), x > y);
}
template <typename T> constexpr uint kymo_bits() { return uint(sizeof(kymo_scalar_of<T>) * 8); }
// The number of zeros behind the last one: those before it, once the others are gone.
template <typename T> T kymo_ctz(T x) {
  const T last = x & (T(0) - x);
  return select(T(kymo_bits<T>() - 1u) - clz(last), T(kymo_bits<T>()), x == T(0));
}
template <typename T> T kymo_rotate(T x, T by) {
  using U = kymo_make_unsigned<T>;
  const U n = U(by) & U(kymo_bits<T>() - 1u);
  const U m = (U(kymo_bits<T>()) - n) & U(kymo_bits<T>() - 1u);
  return T((U(x) << n) | (U(x) >> m));
}
template <typename T> T kymo_addsat(T x, T y) {
  using L = numeric_limits<kymo_scalar_of<T>>;
  if constexpr (is_signed_v<kymo_scalar_of<T>>) {
    using U = kymo_make_unsigned<T>;
    const T sum = T(U(x) + U(y));
    const auto over = ((x ^ sum) & (y ^ sum)) < T(0);
    return select(sum, select(T(L::max()), T(L::min()), x < T(0)), over);
  } else {
    const T sum = x + y;
    return select(sum, T(L::max()), sum < x);
  }
}
template <typename T> T kymo_subsat(T x, T y) {
  using L = numeric_limits<kymo_scalar_of<T>>;
  if constexpr (is_signed_v<kymo_scalar_of<T>>) {
    using U = kymo_make_unsigned<T>;
    const T difference = T(U(x) - U(y));
    const auto over = ((x ^ y) & (x ^ difference)) < T(0);
    return select(difference, select(T(L::max()), T(L::min()), x < T(0)), over);
  } else {
    return select(T(x - y), T(0), x < y);
  }
}
template <typename T> T kymo_hadd(T x, T y) { return (x & y) + ((x ^ y) >> T(1)); }
template <typename T> T kymo_rhadd(T x, T y) { return (x | y) - ((x ^ y) >> T(1)); }
template <typename T> T kymo_mul24(T x, T y) { return x * y; }
template <typename T> T kymo_mad24(T x, T y, T z) { return x * y + z; }
template <typename T> T kymo_madhi(T x, T y, T z) { return mulhi(x, y) + z; }

inline ulong kymo_mulhi64(ulong x, ulong y) {
  const ulong low = 0xffffffffu;
  const ulong a = (x & low) * (y & low), b = (x >> 32) * (y & low), c = (x & low) * (y >> 32),
              d = (x >> 32) * (y >> 32);
  const ulong middle = (a >> 32) + (b & low) + (c & low);
  return d + (b >> 32) + (c >> 32) + (middle >> 32);
}
inline ulong mulhi(ulong x, ulong y) { return kymo_mulhi64(x, y); }
inline long mulhi(long x, long y) {
  const ulong high = kymo_mulhi64(ulong(x), ulong(y));
  return long(high - (x < 0 ? ulong(y) : 0ul) - (y < 0 ? ulong(x) : 0ul));
}
inline short mulhi(short x, short y) { return short((int(x) * int(y)) >> 16); }
inline ushort mulhi(ushort x, ushort y) { return ushort((uint(x) * uint(y)) >> 16); }
inline char mulhi(char x, char y) { return char((int(x) * int(y)) >> 8); }
inline uchar mulhi(uchar x, uchar y) { return uchar((uint(x) * uint(y)) >> 8); }

template <typename T> T kymo_madsat(T x, T y, T z) {
  using S = kymo_scalar_of<T>;
  using L = numeric_limits<S>;
  const T high = mulhi(x, y), low = x * y;
  if constexpr (is_signed_v<S>) {
    const auto fits = high == select(T(0), T(-1), low < T(0));
    const T limit = select(T(L::max()), T(L::min()), (x ^ y) < T(0));
    return select(limit, kymo_addsat(low, z), fits);
  } else {
    return select(T(L::max()), kymo_addsat(low, z), high == T(0));
  }
}

template <typename T> T extract_bits(T x, uint offset, uint bits) {
  using U = kymo_make_unsigned<T>;
  const uint width = kymo_bits<T>();
  if (bits == 0u) return T(0);
  if (bits >= width) return x;
  const U up = U(x) << U(width - bits - offset);
  if constexpr (is_signed_v<kymo_scalar_of<T>>)
    return T(up) >> T(width - bits);
  else
    return T(up >> U(width - bits));
}
template <typename T> T insert_bits(T base, T insert, uint offset, uint bits) {
  using U = kymo_make_unsigned<T>;
  const uint width = kymo_bits<T>();
  if (bits == 0u) return base;
  const U mask = bits >= width ? ~U(0) : ((U(1) << U(bits)) - U(1)) << U(offset);
  return T((U(base) & ~mask) | ((U(insert) << U(offset)) & mask));
}

// ---- Matrices: columns

template <typename T, int C, int R>
struct matrix {
  vec<T, R> columns[C];

  matrix() = default;
  explicit matrix(T diagonal) {
    for (int c = 0; c < C; ++c)
      for (int r = 0; r < R; ++r) columns[c][r] = c == r ? diagonal : T(0);
  }
  matrix(vec<T, R> a, vec<T, R> b) {
    static_assert(C == 2, "a matrix takes as many columns as it has");
    columns[0] = a;
    columns[1] = b;
  }
  matrix(vec<T, R> a, vec<T, R> b, vec<T, R> c) {
    static_assert(C == 3, "a matrix takes as many columns as it has");
    columns[0] = a;
    columns[1] = b;
    columns[2] = c;
  }
  matrix(vec<T, R> a, vec<T, R> b, vec<T, R> c, vec<T, R> d) {
    static_assert(C == 4, "a matrix takes as many columns as it has");
    columns[0] = a;
    columns[1] = b;
    columns[2] = c;
    columns[3] = d;
  }
  // Its numbers, column by column.
  template <typename... Rest, enable_if_t<sizeof...(Rest) + 2 == C * R, bool> = true>
  matrix(T a, T b, Rest... rest) {
    const T all[C * R] = {a, b, T(rest)...};
    for (int c = 0; c < C; ++c)
      for (int r = 0; r < R; ++r) columns[c][r] = all[c * R + r];
  }
  template <typename U> explicit matrix(matrix<U, C, R> other) {
    for (int c = 0; c < C; ++c) columns[c] = vec<T, R>(other.columns[c]);
  }
  thread vec<T, R>& operator[](int c) thread { return columns[c]; }
  const thread vec<T, R>& operator[](int c) const thread { return columns[c]; }
  device vec<T, R>& operator[](int c) device { return columns[c]; }
  const device vec<T, R>& operator[](int c) const device { return columns[c]; }
  threadgroup vec<T, R>& operator[](int c) threadgroup { return columns[c]; }
  const threadgroup vec<T, R>& operator[](int c) const threadgroup { return columns[c]; }
  const constant vec<T, R>& operator[](int c) const constant { return columns[c]; }
};

template <typename T, int C, int R> matrix<T, C, R> operator+(matrix<T, C, R> a, matrix<T, C, R> b) {
  for (int c = 0; c < C; ++c) a.columns[c] += b.columns[c];
  return a;
}
template <typename T, int C, int R> matrix<T, C, R> operator-(matrix<T, C, R> a, matrix<T, C, R> b) {
  for (int c = 0; c < C; ++c) a.columns[c] -= b.columns[c];
  return a;
}
template <typename T, int C, int R> matrix<T, C, R> operator*(matrix<T, C, R> a, T s) {
  for (int c = 0; c < C; ++c) a.columns[c] *= s;
  return a;
}
template <typename T, int C, int R> matrix<T, C, R> operator*(T s, matrix<T, C, R> a) { return a * s; }
template <typename T, int C, int R> matrix<T, C, R> operator/(matrix<T, C, R> a, T s) {
  for (int c = 0; c < C; ++c) a.columns[c] /= s;
  return a;
}
template <typename T, int C, int R> matrix<T, C, R> operator-(matrix<T, C, R> a) {
  for (int c = 0; c < C; ++c) a.columns[c] = -a.columns[c];
  return a;
}
template <typename T, int C, int R> bool operator==(matrix<T, C, R> a, matrix<T, C, R> b) {
  bool same = true;
  for (int c = 0; c < C; ++c) same = same && all(a.columns[c] == b.columns[c]);
  return same;
}
template <typename T, int C, int R> bool operator!=(matrix<T, C, R> a, matrix<T, C, R> b) { return !(a == b); }
template <typename T, int C, int R> vec<T, R> operator*(matrix<T, C, R> a, vec<T, C> v) {
  vec<T, R> sum = a.columns[0] * v[0];
  for (int c = 1; c < C; ++c) sum += a.columns[c] * v[c];
  return sum;
}
template <typename T, int C, int R> vec<T, C> operator*(vec<T, R> v, matrix<T, C, R> a) {
  vec<T, C> r;
  for (int c = 0; c < C; ++c) r[c] = dot(v, a.columns[c]);
  return r;
}
template <typename T, int C, int R, int K> matrix<T, K, R> operator*(matrix<T, C, R> a, matrix<T, K, C> b) {
  matrix<T, K, R> r;
  for (int k = 0; k < K; ++k) r.columns[k] = a * b.columns[k];
  return r;
}
template <typename T, int C, int R> matrix<T, R, C> transpose(matrix<T, C, R> a) {
  matrix<T, R, C> t;
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r) t.columns[r][c] = a.columns[c][r];
  return t;
}
template <typename T> T determinant(matrix<T, 2, 2> m) {
  return m.columns[0].x * m.columns[1].y - m.columns[1].x * m.columns[0].y;
}
template <typename T> T determinant(matrix<T, 3, 3> m) { return dot(m.columns[0], cross(m.columns[1], m.columns[2])); }
template <typename T> T determinant(matrix<T, 4, 4> m) {
  T sum = T(0);
  for (int c = 0; c < 4; ++c) {
    matrix<T, 3, 3> rest;
    for (int k = 0; k < 3; ++k) rest.columns[k] = m.columns[k < c ? k : k + 1].yzw;
    sum += (c % 2 == 0 ? m.columns[c].x : -m.columns[c].x) * determinant(rest);
  }
  return sum;
}

using float2x2 = matrix<float, 2, 2>;
using float2x3 = matrix<float, 2, 3>;
using float2x4 = matrix<float, 2, 4>;
using float3x2 = matrix<float, 3, 2>;
using float3x3 = matrix<float, 3, 3>;
using float3x4 = matrix<float, 3, 4>;
using float4x2 = matrix<float, 4, 2>;
using float4x3 = matrix<float, 4, 3>;
using float4x4 = matrix<float, 4, 4>;
using half2x2 = matrix<half, 2, 2>;
using half2x3 = matrix<half, 2, 3>;
using half2x4 = matrix<half, 2, 4>;
using half3x2 = matrix<half, 3, 2>;
using half3x3 = matrix<half, 3, 3>;
using half3x4 = matrix<half, 3, 4>;
using half4x2 = matrix<half, 4, 2>;
using half4x3 = matrix<half, 4, 3>;
using half4x4 = matrix<half, 4, 4>;

}  // namespace metal

using metal::float2x2;
using metal::float2x3;
using metal::float2x4;
using metal::float3x2;
using metal::float3x3;
using metal::float3x4;
using metal::float4x2;
using metal::float4x3;
using metal::float4x4;
using metal::half2x2;
using metal::half2x3;
using metal::half2x4;
using metal::half3x2;
using metal::half3x3;
using metal::half3x4;
using metal::half4x2;
using metal::half4x3;
using metal::half4x4;
