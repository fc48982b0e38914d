// Special functions, in single precision: each takes any number and gives a float.
#pragma once
#include <c10/metal/bessel.h>
#include <c10/metal/expm1f.h>
#include <c10/metal/utils.h>

#include <metal_stdlib>

namespace c10 {
namespace metal {

// ---- Small ones

template <typename T>
float sinc(T a) {
  const float x = float(a);
  return x == 0.0f ? 1.0f : ::metal::sinpi(x) / (M_PI_F * x);
}
template <typename T>
float spherical_bessel_j0(T a) {
  const float x = float(a);
  if (::metal::isinf(x)) return 0.0f;
  if (::metal::fabs(x) < 0.5f) {
    const float z = x * x;
    return 1.0f - z * (0.166666667f - z * (8.33333333e-3f - z * (1.98412698e-4f - z * 2.75573192e-6f)));
  }
  return ::metal::sin(x) / x;
}
template <typename T>
float entr(T a) {
  const float x = float(a);
  if (::metal::isnan(x)) return x;
  return x > 0.0f ? -x * ::metal::log(x) : x == 0.0f ? 0.0f : -INFINITY;
}
template <typename T, typename U>
float xlogy(T a, U b) {
  const float x = float(a), y = float(b);
  return ::metal::isnan(y) ? NAN : x == 0.0f ? 0.0f : x * ::metal::log(y);
}
template <typename T, typename U>
float xlog1py(T a, U b) {
  const float x = float(a), y = float(b);
  return ::metal::isnan(y) ? NAN : x == 0.0f ? 0.0f : x * ::metal::kymo_log1p(y);
}
template <typename T>
float expm1(T x) {
  return expm1f(float(x));
}

// ---- The error function

namespace detail {

// e^(x*x) erfc(x), for x >= 1.
inline float erfcx_far(float x) {
  const float t = 1.0f / (1.0f + x);
  return 5.44324942e-6f +
         t * (0.563934852f +
              t * (0.569235026f +
                   t * (0.226770933f +
                        t * (0.0854257237f +
                             t * (-2.21165605f + t * (3.46574517f + t * (-2.23643507f + t * 0.524953232f)))))));
}
// e^(-x*x), the square in two parts.
inline float exp_of_minus_square(float x) {
  float low;
  const float square = ::metal::kymo_product(x, x, low);
  return ::metal::exp(-square) * (1.0f - low);
}
inline float erf_near(float x) {  // |x| <= 1
  const float z = x * x;
  return x * (1.12837917f +
              z * (-0.376126272f +
                   z * (0.112836003f +
                        z * (-0.0268544503f + z * (0.00518954539f + z * (-0.00080209251f + z * 7.88938626e-5f))))));
}

}  // namespace detail

template <typename T>
float erf(T a) {
  const float x = float(a), size = ::metal::fabs(x);
  if (::metal::isnan(x)) return x;
  if (size <= 1.0f) return detail::erf_near(x);
  if (size > 4.0f) return ::metal::copysign(1.0f, x);
  return ::metal::copysign(1.0f - detail::exp_of_minus_square(size) * detail::erfcx_far(size), x);
}
template <typename T>
float erfc(T a) {
  const float x = float(a), size = ::metal::fabs(x);
  if (::metal::isnan(x)) return x;
  if (size <= 1.0f) return 1.0f - detail::erf_near(x);
  const float far = size > 10.2f ? 0.0f : detail::exp_of_minus_square(size) * detail::erfcx_far(size);
  return x > 0.0f ? far : 2.0f - far;
}
template <typename T>
float erfinv(T a) {
  const float x = float(a);
  if (!(::metal::fabs(x) <= 1.0f)) return NAN;
  if (::metal::fabs(x) == 1.0f) return ::metal::copysign(INFINITY, x);
  const float w = -::metal::kymo_log1p(-x * x);
  if (w < 5.0f) {
    const float t = w - 2.5f;
    return x * (1.50140936f +
                t * (0.246640286f +
                     t * (-0.00417738678f +
                          t * (-0.00125274188f +
                               t * (0.000218344441f +
                                    t * (-4.96334992e-6f +
                                         t * (-3.46270518e-6f +
                                              t * (4.66171136e-7f + t * (2.32326787e-8f + t * -8.79109179e-9f)))))))));
  }
  const float t = ::metal::sqrt(w) - 3.0f;
  return x * (2.83297682f +
              t * (1.0016748f +
                   t * (0.00944417683f +
                        t * (-0.00763470718f +
                             t * (0.00569617173f +
                                  t * (-0.00360946885f +
                                       t * (0.00146159739f +
                                            t * (-3.30040809e-5f + t * (-0.000291021793f + t * 9.85013822e-5f)))))))));
}

// ---- The gamma function and what comes of it

namespace detail {

// log Gamma(2 + x), |x| <= 1/2.
inline float log_gamma_of_two_and(float x) {
  return x * (0.422784335f +
              x * (0.322467034f +
                   x * (-0.0673522813f +
                        x * (0.020580777f +
                             x * (-0.00738617836f +
                                  x * (0.00289111859f +
                                       x * (-0.00118583271f +
                                            x * (0.000504793323f + x * (-0.000253872574f + x * 0.000116536295f)))))))));
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
float digamma(T a) {
  float x = float(a);
  if (::metal::isnan(x)) return x;
  if (x == 0.0f) return ::metal::copysign(INFINITY, -x);
  float result = 0.0f;
  if (x < 0.0f) {
    if (x == ::metal::floor(x)) return NAN;
    result = -M_PI_F / ::metal::tanpi(x);
    x = 1.0f - x;
  }
  for (; x < 10.0f; x += 1.0f) result -= 1.0f / x;
  const float z = 1.0f / (x * x);
  return result + ::metal::log(x) - 0.5f / x -
         z * (0.0833333333f - z * (8.33333333e-3f - z * (3.96825397e-3f - z * 4.16666667e-3f)));
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
float polygamma(T a, long order) {
  const float x = float(a);
  if (order == 0l) return digamma(x);
  if (order == 1l) return trigamma(x);
  float factorial = 1.0f;
  for (long i = 2l; i <= order; ++i) factorial *= float(i);
  return (order % 2l == 0l ? -1.0f : 1.0f) * factorial * zeta(float(order + 1l), x);
}

// ---- Polynomials by their recurrences: p(n + 1) = (a x + b) p(n) - c p(n - 1)

namespace detail {
inline float three_terms(float x, int n, float first, float second) {  // of the Chebyshev kinds: 2 x p - q
  if (n < 0) return 0.0f;
  if (n == 0) return first;
  float q = first, p = second;
  for (int k = 2; k <= n && !::metal::isnan(p); ++k) {
    const float r = 2.0f * x * p - q;
    q = p;
    p = r;
  }
  return p;
}
}  // namespace detail

template <typename T>
float chebyshev_polynomial_t_forward(T a, int n) {
  return detail::three_terms(float(a), n, 1.0f, float(a));
}
template <typename T>
float chebyshev_polynomial_u_forward(T a, int n) {
  return detail::three_terms(float(a), n, 1.0f, 2.0f * float(a));
}
template <typename T>
float chebyshev_polynomial_v_forward(T a, int n) {
  return detail::three_terms(float(a), n, 1.0f, 2.0f * float(a) - 1.0f);
}
template <typename T>
float chebyshev_polynomial_w_forward(T a, int n) {
  return detail::three_terms(float(a), n, 1.0f, 2.0f * float(a) + 1.0f);
}
template <typename T>
float shifted_chebyshev_polynomial_t_forward(T a, int n) {
  return chebyshev_polynomial_t_forward(2.0f * float(a) - 1.0f, n);
}
template <typename T>
float shifted_chebyshev_polynomial_u_forward(T a, int n) {
  return chebyshev_polynomial_u_forward(2.0f * float(a) - 1.0f, n);
}
template <typename T>
float shifted_chebyshev_polynomial_v_forward(T a, int n) {
  return chebyshev_polynomial_v_forward(2.0f * float(a) - 1.0f, n);
}
template <typename T>
float shifted_chebyshev_polynomial_w_forward(T a, int n) {
  return chebyshev_polynomial_w_forward(2.0f * float(a) - 1.0f, n);
}

template <typename T>
float hermite_polynomial_h_forward(T a, int n) {
  const float x = float(a);
  if (n < 0) return 0.0f;
  if (n == 0) return 1.0f;
  float q = 1.0f, p = 2.0f * x;
  for (int k = 1; k < n; ++k) {
    const float r = 2.0f * x * p - 2.0f * float(k) * q;
    q = p;
    p = r;
  }
  return p;
}
template <typename T>
float hermite_polynomial_he_forward(T a, int n) {
  const float x = float(a);
  if (n < 0) return 0.0f;
  if (n == 0) return 1.0f;
  float q = 1.0f, p = x;
  for (int k = 1; k < n; ++k) {
    const float r = x * p - float(k) * q;
    q = p;
    p = r;
  }
  return p;
}
template <typename T>
float legendre_polynomial_p_forward(T a, int n) {
  const float x = float(a);
  if (n < 0) return 0.0f;
  if (n == 0) return 1.0f;
  float q = 1.0f, p = x;
  for (int k = 1; k < n; ++k) {
    const float r = (float(2 * k + 1) * x * p - float(k) * q) / float(k + 1);
    q = p;
    p = r;
  }
  return p;
}
template <typename T>
float laguerre_polynomial_l_forward(T a, int n) {
  const float x = float(a);
  if (n < 0) return 0.0f;
  if (n == 0) return 1.0f;
  float q = 1.0f, p = 1.0f - x;
  for (int k = 1; k < n; ++k) {
    const float r = ((float(2 * k + 1) - x) * p - float(k) * q) / float(k + 1);
    q = p;
    p = r;
  }
  return p;
}

}  // namespace metal
}  // namespace c10
