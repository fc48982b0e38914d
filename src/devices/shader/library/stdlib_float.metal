// The bits of floating-point numbers, and rounding.

namespace metal {

template <typename T> auto isfinite(T x) { return !isnan(x) && !isinf(x); }

inline bool kymo_isnormal(float x) {
  const uint exponent = (as_type<uint>(x) >> 23) & 0xffu;
  return exponent != 0u && exponent != 0xffu;
}
inline bool isnormal(float x) { return kymo_isnormal(x); }
inline bool isnormal(half x) {
  const uint exponent = (uint(as_type<ushort>(x)) >> 10) & 0x1fu;
  return exponent != 0u && exponent != 0x1fu;
}
inline bool isnormal(bfloat x) { return kymo_isnormal(float(x)); }
template <typename T, int N> vec<bool, N> isnormal(vec<T, N> x) {
  vec<bool, N> r;
  for (int i = 0; i < N; ++i) r[i] = isnormal(x[i]);
  return r;
}

inline bool signbit(float x) { return (as_type<uint>(x) >> 31) != 0u; }
inline bool signbit(half x) { return (as_type<ushort>(x) >> 15) != 0; }
inline bool signbit(bfloat x) { return (as_type<uint>(float(x)) >> 31) != 0u; }
template <typename T, int N> vec<bool, N> signbit(vec<T, N> x) {
  vec<bool, N> r;
  for (int i = 0; i < N; ++i) r[i] = signbit(x[i]);
  return r;
}

template <typename T> auto isordered(T x, T y) { return !isnan(x) && !isnan(y); }
template <typename T> auto isunordered(T x, T y) { return isnan(x) || isnan(y); }

// Halves away from 0.
inline float kymo_round(float x) {
  const float a = fabs(x);
  if (!(a < 0x1p23f)) return x;
  float r = floor(a);
  if (a - r >= 0.5f) r += 1.0f;
  return copysign(r, x);
}

inline int kymo_ilogb(float x) {
  const uint bits = as_type<uint>(x) & 0x7fffffffu;
  if (bits == 0u) return INT_MIN;
  if (bits >= 0x7f800000u) return INT_MAX;
  if (bits < 0x00800000u) return -118 - int(clz(bits));
  return int(bits >> 23) - 127;
}

inline float kymo_nextafter(float x, float y) {
  if (isnan(x) || isnan(y)) return NAN;
  if (x == y) return y;
  if (x == 0.0f) return as_type<float>((as_type<uint>(y) & 0x80000000u) | 1u);
  const uint bits = as_type<uint>(x);
  return as_type<float>((x < y) == (x > 0.0f) ? bits + 1u : bits - 1u);
}

inline float frexp(float x, thread int& exponent) {
  const uint bits = as_type<uint>(x) & 0x7fffffffu;
  exponent = 0;
  if (bits == 0u || bits >= 0x7f800000u) return x;
  if (bits < 0x00800000u) {
    const uint scaled = as_type<uint>(x * 0x1p24f);
    exponent = int((scaled >> 23) & 0xffu) - 126 - 24;
    return as_type<float>((scaled & 0x807fffffu) | 0x3f000000u);
  }
  exponent = int(bits >> 23) - 126;
  return as_type<float>((as_type<uint>(x) & 0x807fffffu) | 0x3f000000u);
}
inline half frexp(half x, thread int& exponent) { return half(frexp(float(x), exponent)); }
inline bfloat frexp(bfloat x, thread int& exponent) { return bfloat(frexp(float(x), exponent)); }
template <typename T, int N> vec<T, N> frexp(vec<T, N> x, thread vec<int, N>& exponent) {
  vec<T, N> r;
  for (int i = 0; i < N; ++i) {
    int e;
    r[i] = frexp(x[i], e);
    exponent[i] = e;
  }
  return r;
}

inline float modf(float x, thread float& whole) {
  whole = trunc(x);
  return copysign(isinf(x) ? 0.0f : x - whole, x);
}
inline half modf(half x, thread half& whole) {
  whole = trunc(x);
  return copysign(isinf(x) ? half(0.0f) : x - whole, x);
}
template <typename T, int N> vec<T, N> modf(vec<T, N> x, thread vec<T, N>& whole) {
  vec<T, N> r;
  for (int i = 0; i < N; ++i) {
    T w;
    r[i] = modf(x[i], w);
    whole[i] = w;
  }
  return r;
}

template <typename T> T sincos(T x, thread T& cosine) {
  cosine = cos(x);
  return sin(x);
}

}  // namespace metal
