// The gamma function and its derivatives, in single precision: a part of special_math.h, which includes it.
#pragma once
#include <c10/metal/utils.h>

#include <metal_stdlib>

namespace c10 {
namespace metal {

namespace detail {

// log Gamma(2 + x), |x| <= 1/2.
inline float log_gamma_of_two_and(float x) {
  return x * polynomial(x, 0.000116536295f, -0.000253872574f, 0.000504793323f, -0.00118583271f, 0.00289111859f,
                        -0.00738617836f, 0.020580777f, -0.0673522813f, 0.322467034f, 0.422784335f);
}
inline float gamma_positive(float x) {
  if (x > 35.1f) return INFINITY;
  if (x < 0.5f) return ::metal::exp(log_gamma_of_two_and(x)) / (x * (1.0f + x));
  if (x < 1.5f) return ::metal::exp(log_gamma_of_two_and(x - 1.0f)) / x;
  float product = 1.0f;
  while (x > 2.5f) {
    x -= 1.0f;
    product *= x;
  }
  return product * ::metal::exp(log_gamma_of_two_and(x - 2.0f));
}
inline float log_gamma_positive(float x) {
  if (x < 0.5f) return log_gamma_of_two_and(x) - ::metal::log(x) - ::metal::kymo_log1p(x);
  if (x < 1.5f) return log_gamma_of_two_and(x - 1.0f) - ::metal::kymo_log1p(x - 1.0f);
  if (x <= 2.5f) return log_gamma_of_two_and(x - 2.0f);
  float product = 1.0f;
  if (x < 8.0f) {
    while (x > 2.5f) {
      x -= 1.0f;
      product *= x;
    }
    return ::metal::log(product) + log_gamma_of_two_and(x - 2.0f);
  }
  const float inverse = 1.0f / x, z = inverse * inverse;
  return (x - 0.5f) * ::metal::log(x) - x + 0.918938533f +
         inverse * (0.0833333333f - z * (2.77777778e-3f - z * 7.93650794e-4f));
}

}  // namespace detail

template <typename T>
float log_gamma(T a) {
  const float x = float(a);
  if (::metal::isnan(x)) return x;
  if (::metal::isinf(x)) return INFINITY;
  if (x > 0.0f) return detail::log_gamma_positive(x);
  if (x == ::metal::floor(x)) return INFINITY;
  return 1.14472989f - ::metal::log(::metal::fabs(::metal::sinpi(x))) - detail::log_gamma_positive(1.0f - x);
}

template <typename T>
float gamma(T a) {
  const float x = float(a);
  if (::metal::isnan(x) || x == INFINITY) return x;
  if (x == 0.0f) return ::metal::copysign(INFINITY, x);
  if (x > 0.0f) return detail::gamma_positive(x);
  if (x == ::metal::floor(x)) return NAN;
  return M_PI_F / (::metal::sinpi(x) * detail::gamma_positive(1.0f - x));
}

inline float calc_digamma_positive_domain(float x) {
  float result = 0.0f;
  for (; x < 10.0f; x += 1.0f) result -= 1.0f / x;
  const float z = 1.0f / (x * x);
  return result + ::metal::log(x) - 0.5f / x -
         z * (0.0833333333f - z * (8.33333333e-3f - z * (3.96825397e-3f - z * 4.16666667e-3f)));
}
template <typename T>
float digamma(T a) {
  const float x = float(a);
  if (::metal::isnan(x)) return x;
  if (x == 0.0f) return ::metal::copysign(INFINITY, -x);
  if (x > 0.0f) return calc_digamma_positive_domain(x);
  if (x == ::metal::floor(x)) return NAN;
  return calc_digamma_positive_domain(1.0f - x) - M_PI_F / ::metal::tanpi(x);
}

// Hurwitz's: the sum of (q + k)^-x.
template <typename T, typename U>
float zeta(T a, U b) {
  const float x = float(a), q = float(b);
  if (x == 1.0f) return INFINITY;
  if (x < 1.0f || ::metal::isnan(x) || ::metal::isnan(q)) return NAN;
  if (q <= 0.0f) {
    if (q == ::metal::floor(q)) return INFINITY;
    if (x != ::metal::floor(x)) return NAN;
  }
  float sum = 0.0f, at = q;
  for (int i = 0; i < 9 || at <= 9.0f; ++i) {
    const float term = ::metal::pow(at, -x);
    sum += term;
    at += 1.0f;
    if (i >= 9 && ::metal::fabs(term) < 6e-8f * ::metal::fabs(sum)) return sum;
    if (i > 10000) break;
  }
  // The rest by Euler and Maclaurin: with Bernoulli numbers over factorials.
  const float power = ::metal::pow(at, -x);
  sum += power * at / (x - 1.0f) + 0.5f * power;
  float factor = x * power / at, square = 1.0f / (at * at), k = x;
  sum += factor * 0.0833333333f;
  factor *= (k + 1.0f) * (k + 2.0f) * square;
  sum -= factor * 1.38888889e-3f;
  factor *= (k + 3.0f) * (k + 4.0f) * square;
  sum += factor * 3.30687831e-5f;
  factor *= (k + 5.0f) * (k + 6.0f) * square;
  return sum - factor * 8.2671958e-7f;
}

template <typename T>
float trigamma(T a) {
  float x = float(a), sign = 1.0f, result = 0.0f;
  if (x < 0.5f) {
    sign = -1.0f;
    const float s = ::metal::sinpi(x);
    result = -(M_PI_F * M_PI_F) / (s * s);
    x = 1.0f - x;
  }
  for (; x < 8.0f; x += 1.0f) result += 1.0f / (x * x);
  const float z = 1.0f / (x * x);
  result += (1.0f + 0.5f / x + z * (0.166666667f - z * (0.0333333333f - z * 0.0238095238f))) / x;
  return sign * result;
}

template <typename T>
float polygamma(const long order, const T a) {
  const float x = float(a);
  if (order == 0l) return digamma(x);
  if (order == 1l) return trigamma(x);
  float factorial = 1.0f;
  for (long i = 2l; i <= order; ++i) factorial *= float(i);
  return (order % 2l == 0l ? -1.0f : 1.0f) * factorial * zeta(float(order + 1l), x);
}

}  // namespace metal
}  // namespace c10
