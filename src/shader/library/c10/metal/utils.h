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
template <>
struct vectypes<float> {
  using type4 = float4;
  using type3 = float3;
  using type2 = float2;
};
template <>
struct vectypes<half> {
  using type4 = half4;
  using type3 = half3;
  using type2 = half2;
};
template <>
struct vectypes<bfloat> {
  using type4 = bfloat4;
  using type3 = bfloat3;
  using type2 = bfloat2;
};
template <>
struct vectypes<short> {
  using type4 = short4;
  using type3 = short3;
  using type2 = short2;
};
template <>
struct vectypes<int> {
  using type4 = int4;
  using type3 = int3;
  using type2 = int2;
};
template <>
struct vectypes<long> {
  using type4 = long4;
  using type3 = long3;
  using type2 = long2;
};

template <typename T>
struct OpMathType {
  using type = T;
};
template <>
struct OpMathType<half> {
  using type = float;
};
template <>
struct OpMathType<bfloat> {
  using type = float;
};
template <>
struct OpMathType<half2> {
  using type = float2;
};
template <>
struct OpMathType<short> {
  using type = int;
};
template <>
struct OpMathType<char> {
  using type = int;
};
template <>
struct OpMathType<uchar> {
  using type = int;
};

template <typename T>
struct AccumulationType {
  using type = T;
};
template <>
struct AccumulationType<half> {
  using type = float;
};
template <>
struct AccumulationType<bfloat> {
  using type = float;
};
template <>
struct AccumulationType<half2> {
  using type = float2;
};
template <>
struct AccumulationType<bool> {
  using type = long;
};
template <>
struct AccumulationType<char> {
  using type = long;
};
template <>
struct AccumulationType<uchar> {
  using type = long;
};
template <>
struct AccumulationType<short> {
  using type = long;
};
template <>
struct AccumulationType<int> {
  using type = long;
};
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

// ---- Conversion

template <typename To, typename From>
To cast_to(const From from) {
  if constexpr (is_complex_v<To> && !is_complex_v<From>)
    return To(from, 0);
  else if constexpr (is_complex_v<From> && !is_complex_v<To>)
    return static_cast<To>(from.x);
  else
    return static_cast<To>(from);
}

// ---- Comparison: what is not a number wins

template <typename T>
T max(T a, T b) {
  if constexpr (::metal::is_floating_point_v<T>)
    return ::metal::isnan(a) || ::metal::isnan(b) ? T(NAN) : ::metal::max(a, b);
  else
    return ::metal::max(a, b);
}
template <typename T>
T min(T a, T b) {
  if constexpr (::metal::is_floating_point_v<T>)
    return ::metal::isnan(a) || ::metal::isnan(b) ? T(NAN) : ::metal::min(a, b);
  else
    return ::metal::min(a, b);
}

template <typename T>
constexpr T lowest() {
  return ::metal::numeric_limits<T>::lowest();
}

struct less {
  template <typename T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct less_equal {
  template <typename T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct greater {
  template <typename T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct greater_equal {
  template <typename T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct equal_to {
  template <typename T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct not_equal_to {
  template <typename T>
  bool operator()(T a, T b) const {
    return a != b;
  }
};

// ---- Division

// Rounded up. Both are positive.
template <typename T, typename U>
constexpr common_dtype<T, U> ceil_div(T x, U y) {
  return (x + y - 1) / y;
}

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
// With the sign of the divisor.
template <typename T, typename U>
common_dtype<T, U> remainder(const T x, const U y) {
  using R = common_dtype<T, U>;
  const R b = R(y), r = fmod(R(x), b);
  return r != R(0) && (r < R(0)) != (b < R(0)) ? r + b : r;
}

// ---- Powers

template <typename T>
float log1p(T x) {
  return ::metal::kymo_log1p(float(x));
}
template <typename T, typename U>
common_dtype<T, U> pow(T base, U exponent) {
  using R = common_dtype<T, U>;
  if constexpr (::metal::is_integral_v<R>) {
    if (exponent < 0) return base == 1 ? R(1) : base == -1 ? (exponent % 2 == 0 ? R(1) : R(-1)) : R(0);
    R result = 1, square = R(base);
    for (auto e = exponent; e != 0; e /= 2) {
      if (e % 2 != 0) result *= square;
      square *= square;
    }
    return result;
  } else {
    return ::metal::pow(R(base), R(exponent));
  }
}

// log(exp(a) + exp(b)), without overflow.
template <typename T>
T logaddexp(T a, T b) {
  const float x = float(a), y = float(b);
  if (::metal::isinf(x) && x == y) return a;
  const float most = ::metal::max(x, y);
  return T(most + ::metal::kymo_log1p(::metal::exp(-::metal::abs(x - y))));
}
template <typename T>
T logaddexp2(T a, T b) {
  const float x = float(a), y = float(b);
  if (::metal::isinf(x) && x == y) return a;
  const float most = ::metal::max(x, y);
  return T(most + ::metal::kymo_log1p(::metal::exp2(-::metal::abs(x - y))) * M_LOG2E_F);
}

// ---- Complex numbers: two components

template <typename T>
T mul(const T x, const T y) {
  if constexpr (is_complex_v<T>)
    return T(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
  else
    return x * y;
}
template <typename T>
T div(const T x, const T y) {
  if constexpr (is_complex_v<T>) {
    const auto square = y.x * y.x + y.y * y.y;
    return T((x.x * y.x + x.y * y.y) / square, (x.y * y.x - x.x * y.y) / square);
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

}  // namespace metal
}  // namespace c10
