// Types that computations are done in, and arithmetic whose corners are those of PyTorch: NaN wins in min and max,
// divisions round down, a division by 0 of integers gives 0.
#pragma once
#include <c10/metal/common.h>

#include <metal_stdlib>

namespace c10 {
namespace metal {

// ---- Types

namespace detail {
template <typename T>
struct vectypes {};
#define KYMO_C10_VECTYPES(T) \
  template <>                \
  struct vectypes<T> {       \
    using type4 = T##4;      \
    using type3 = T##3;      \
    using type2 = T##2;      \
  };
KYMO_C10_VECTYPES(float)
KYMO_C10_VECTYPES(half)
KYMO_C10_VECTYPES(bfloat)
KYMO_C10_VECTYPES(short)
KYMO_C10_VECTYPES(int)
KYMO_C10_VECTYPES(long)
#undef KYMO_C10_VECTYPES

#define KYMO_C10_TYPE_OF(TRAIT, T, TYPE) \
  template <>                            \
  struct TRAIT<T> {                      \
    using type = TYPE;                   \
  };
template <typename T>
struct OpMathType {
  using type = T;
};
KYMO_C10_TYPE_OF(OpMathType, half, float)
KYMO_C10_TYPE_OF(OpMathType, bfloat, float)
KYMO_C10_TYPE_OF(OpMathType, short, int)
KYMO_C10_TYPE_OF(OpMathType, char, int)
KYMO_C10_TYPE_OF(OpMathType, uchar, int)

template <typename T>
struct AccumulationType {
  using type = T;
};
KYMO_C10_TYPE_OF(AccumulationType, half, float)
KYMO_C10_TYPE_OF(AccumulationType, bfloat, float)
KYMO_C10_TYPE_OF(AccumulationType, half2, float2)
#undef KYMO_C10_TYPE_OF
}  // namespace detail

template <typename T>
using vec2type_t = typename detail::vectypes<T>::type2;
template <typename T>
using vec3type_t = typename detail::vectypes<T>::type3;
template <typename T>
using vec4type_t = typename detail::vectypes<T>::type4;
template <typename T>
using opmath_t = typename detail::OpMathType<T>::type;
template <typename T>
using accum_t = typename detail::AccumulationType<T>::type;

template <typename T>
constexpr constant bool is_complex_v = ::metal::is_same_v<T, float2> || ::metal::is_same_v<T, half2>;
template <typename T>
constexpr constant bool is_scalar_floating_point_v = ::metal::is_floating_point_v<T>&& ::metal::is_scalar_v<T>;
template <typename T>
constexpr constant bool is_scalar_integral_v = ::metal::is_integral_v<T>&& ::metal::is_scalar_v<T>;

// What a functor returns for arguments of these types.
template <typename F, typename... Args>
using result_of = decltype(::metal::declval<F>()(::metal::declval<Args>()...));

template <typename T, typename U>
using common_dtype = decltype(T(0) + U(0));
template <typename T>
using floating_dtype = ::metal::conditional_t<::metal::is_integral_v<T>, float, T>;
template <typename T>
using floating_or = ::metal::conditional_t<::metal::is_integral_v<T>, T, float>;

// ---- Conversion

template <typename To, typename From>
To cast_to(const From from) {
  if constexpr (is_complex_v<To> && !is_complex_v<From>)
    return To(from, 0);
  else if constexpr (is_complex_v<From> && ::metal::is_same_v<To, bool>)
    return from.x != 0 || from.y != 0;
  else if constexpr (is_complex_v<From> && !is_complex_v<To>)
    return static_cast<To>(from.x);
  else
    return static_cast<To>(from);
}

// ---- Comparison: what is not a number wins

template <typename T, typename U>
T max(T a, U b) {
  if constexpr (::metal::is_floating_point_v<T>)
    return ::metal::select(::metal::max(a, T(b)), T(NAN), ::metal::isunordered(a, T(b)));
  else
    return ::metal::max(a, static_cast<T>(b));
}
template <typename T, typename U>
T min(T a, U b) {
  if constexpr (::metal::is_floating_point_v<T>)
    return ::metal::select(::metal::min(a, T(b)), T(NAN), ::metal::isunordered(a, T(b)));
  else
    return ::metal::min(a, static_cast<T>(b));
}

template <typename T>
constexpr T lowest() {
  return ::metal::numeric_limits<T>::lowest();
}

// What is not a number comes last.
template <typename T>
bool less(T a, T b) {
  if constexpr (::metal::is_floating_point_v<T>)
    return !::metal::isnan(a) && (::metal::isnan(b) || a < b);
  else
    return a < b;
}
#define KYMO_C10_COMPARISON(NAME, OPERATOR) \
  struct NAME {                             \
    template <typename T>                   \
    bool operator()(T a, T b) const {       \
      return a OPERATOR b;                  \
    }                                       \
  };
KYMO_C10_COMPARISON(less_equal, <=)
KYMO_C10_COMPARISON(greater, >)
KYMO_C10_COMPARISON(greater_equal, >=)
KYMO_C10_COMPARISON(equal_to, ==)
KYMO_C10_COMPARISON(not_equal_to, !=)
#undef KYMO_C10_COMPARISON

// ---- Division

template <typename T, typename U>
common_dtype<T, U> floor_divide(T x, U y) {
  using R = common_dtype<T, U>;
  const R a = R(x), b = R(y);
  if constexpr (::metal::is_integral_v<R>) {
    if (b == 0) return 0;
    const R q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  } else {
    return ::metal::floor(a / b);
  }
}
template <typename T, typename U>
common_dtype<T, U> safe_mod(const T x, const U y) {
  return y == 0 ? common_dtype<T, U>(0) : common_dtype<T, U>(x) % common_dtype<T, U>(y);
}
template <typename T, typename U>
common_dtype<T, U> fmod(const T x, const U y) {
  using R = common_dtype<T, U>;
  if constexpr (::metal::is_integral_v<R>)
    return safe_mod(x, y);
  else
    return ::metal::fmod(R(x), R(y));
}
// With the sign of the divisor: a float if one of the two is a floating-point number.
template <typename T, typename U>
floating_or<common_dtype<T, U>> remainder(const T x, const U y) {
  using R = floating_or<common_dtype<T, U>>;
  const R b = R(y), r = c10::metal::fmod(R(x), b);
  return r != R(0) && (r < R(0)) != (b < R(0)) ? r + b : r;
}
// The quotient rounded down. It agrees with the remainder also where the quotient of two floats is rounded up.
template <typename T, typename U>
common_dtype<T, U> div_floor(const T x, const U y) {
  using R = common_dtype<T, U>;
  if constexpr (::metal::is_integral_v<R>) {
    return floor_divide(x, y);
  } else {
    const float a = float(x), b = float(y), rest = ::metal::fmod(a, b);
    if (b == 0.0f) return R(a / b);
    float quotient = (a - rest) / b;
    if (rest != 0.0f && (rest < 0.0f) != (b < 0.0f)) quotient -= 1.0f;
    return R(quotient == 0.0f ? ::metal::copysign(0.0f, a / b) : ::metal::rint(quotient));
  }
}

// ---- Polynomials: the coefficient of the highest power is the first

namespace detail {
template <typename... Rest>
float polynomial(float x, float highest, Rest... rest) {
  float value = highest;
  ((value = rest + x * value), ...);
  return value;
}
}  // namespace detail

// ---- Powers

template <typename T>
float log1p(T x) {
  return ::metal::kymo_log1p(float(x));
}
inline float2 log1p(float2 z) {
  const float angle = ::metal::atan2(z.y, 1.0f + z.x);
  // The square of |1 + z|, less 1. It keeps the digits of a small z.
  if (::metal::fabs(z.x) < 0.5f && ::metal::fabs(z.y) < 0.5f)
    return float2(0.5f * ::metal::kymo_log1p(z.x * (2.0f + z.x) + z.y * z.y), angle);
  return float2(::metal::log(hypot(1.0f + z.x, z.y)), angle);
}

template <typename T>
T powi_impl(T base, T exponent) {
  T result = 1;
  for (; exponent != 0; exponent /= 2) {
    if (exponent % 2 != 0) result *= base;
    base *= base;
  }
  return result;
}
// Integers give an integer of the type of the base, complex numbers a float2, others a float.
template <typename T, typename U>
auto pow(T base, U exponent) {
  if constexpr (is_complex_v<T> && is_complex_v<U>) {
    const float length = hypot(float(base.x), float(base.y)), angle = ::metal::atan2(float(base.y), float(base.x));
    if (length == 0.0f) return float2(0.0f);
    const float log_length = ::metal::log(length), re = float(exponent.x), im = float(exponent.y);
    const float size = ::metal::exp(re * log_length - im * angle), turn = re * angle + im * log_length;
    return float2(size * ::metal::cos(turn), size * ::metal::sin(turn));
  } else if constexpr (::metal::is_floating_point_v<T> || ::metal::is_floating_point_v<U>) {
    return ::metal::pow(float(base), float(exponent));
  } else {
    if (exponent < 0) return base == T(1) ? T(1) : base == T(-1) ? (exponent % 2 == 0 ? T(1) : T(-1)) : T(0);
    return powi_impl(base, T(exponent));
  }
}
// Without overflow of the squares.
inline float hypot(float x, float y) {
  const float a = ::metal::max(::metal::fabs(x), ::metal::fabs(y)),
              b = ::metal::min(::metal::fabs(x), ::metal::fabs(y));
  if (::metal::isinf(a)) return INFINITY;
  if (::metal::isunordered(x, y)) return NAN;
  if (a == 0.0f) return 0.0f;
  const float ratio = b / a;
  return a * ::metal::sqrt(1.0f + ratio * ratio);
}

// log(exp(a) + exp(b)), without overflow.
template <typename T>
T logaddexp(T a, T b) {
  if constexpr (is_complex_v<T>) {
    if (::metal::any(::metal::isnan(a)) || ::metal::any(::metal::isnan(b))) return T(NAN);
    const float2 most = float2(a.x > b.x ? a : b), least = float2(a.x > b.x ? b : a);
    if (::metal::isinf(most.x) || ::metal::isinf(least.x)) return T(most);
    const float size = ::metal::exp(least.x - most.x), turn = least.y - most.y;
    return T(most + log1p(float2(size * ::metal::cos(turn), size * ::metal::sin(turn))));
  } else {
    const float x = float(a), y = float(b);
    if (::metal::isinf(x) && x == y) return a;
    const float most = ::metal::max(x, y);
    return T(most + ::metal::kymo_log1p(::metal::exp(-::metal::abs(x - y))));
  }
}
template <typename T>
T logaddexp2(T a, T b) {
  const float x = float(a), y = float(b);
  if (::metal::isinf(x) && x == y) return a;
  const float most = ::metal::max(x, y);
  return T(most + ::metal::kymo_log1p(::metal::exp2(-::metal::abs(x - y))) * M_LOG2E_F);
}

// ---- Complex numbers: two components

template <typename T, typename U>
common_dtype<T, U> mul(const T x, const U y) {
  if constexpr (is_complex_v<T> && is_complex_v<U>)
    return common_dtype<T, U>(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
  else
    return x * y;
}
template <typename T, typename U>
common_dtype<T, U> div(const T x, const U y) {
  if constexpr (is_complex_v<T> && is_complex_v<U>) {
    using R = common_dtype<T, U>;
    if (y.y == 0) return R(x.x / y.x, x.y / y.x);  // an infinite x has no NaN
    const auto square = y.x * y.x + y.y * y.y;
    return R((x.x * y.x + x.y * y.y) / square, (x.y * y.x - x.x * y.y) / square);
  } else {
    return x / y;
  }
}
template <typename T>
T conj(T a) {
  if constexpr (is_complex_v<T>)
    return T(a.x, -a.y);
  else
    return a;
}

// ---- Pairs

template <typename T, typename U = T>
struct pair {
  T first;
  U second;
};

// Any address of the two: as wide as both are aligned.
inline void copy_bytes_aligned(device uchar* to, constant uchar* from, uint count) {
  uint i = 0;
  if (((reinterpret_cast<ulong>(to) | reinterpret_cast<ulong>(from)) & 15ul) == 0ul)
    for (; i + 16u <= count; i += 16u)
      *reinterpret_cast<device uint4*>(to + i) = *reinterpret_cast<constant uint4*>(from + i);
  for (; i < count; ++i) to[i] = from[i];
}

}  // namespace metal
}  // namespace c10

// ---- Kernels for many types

#define INSTANTIATE_FOR_FLOAT_TYPES(MACRO) \
  MACRO(float);                            \
  MACRO(half);                             \
  MACRO(bfloat);
#define INSTANTIATE_FOR_ALL_TYPES(MACRO) \
  INSTANTIATE_FOR_FLOAT_TYPES(MACRO)     \
  MACRO(float2);                         \
  MACRO(long);                           \
  MACRO(char);                           \
  MACRO(uchar);                          \
  MACRO(short);                          \
  MACRO(int);
