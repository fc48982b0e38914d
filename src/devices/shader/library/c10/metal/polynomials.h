// Orthogonal polynomials by their recurrences, in single precision: a part of special_math.h, which includes it.
#pragma once
#include <c10/metal/utils.h>

#include <metal_stdlib>

namespace c10 {
namespace metal {

namespace detail {
// The recurrence of all kinds of Chebyshev polynomials: p(n + 1) = 2 x p(n) - p(n - 1). It ends when p overflows.
inline float three_terms(float x, long n, float first, float second) {
  if (n < 0) return 0.0f;
  if (n == 0) return first;
  float q = first, p = second;
  for (long k = 2; k <= n && !::metal::isnan(p); ++k) {
    const float r = 2.0f * x * p - q;
    q = p;
    p = r;
  }
  return p;
}
// A recurrence that begins with 1 and `second`: p(k + 1) = next(k, p(k), p(k - 1)).
template <typename F>
float recurrence(long n, float second, F next) {
  if (n < 0) return 0.0f;
  if (n == 0) return 1.0f;
  float q = 1.0f, p = second;
  for (long k = 1; k < n; ++k) {
    const float r = next(k, p, q);
    q = p;
    p = r;
  }
  return p;
}
// The polynomial is bounded there, so that the recurrence would take n steps: use its angle instead.
inline bool has_angle(float x, long n) { return n > 8 && ::metal::fabs(x) < 1.0f; }
inline float even_or(long n, float even, float odd) { return n % 2 == 0 ? even : odd; }
}  // namespace detail

template <typename T>
float chebyshev_polynomial_t_forward(T a, long n) {
  const float x = float(a);
  if (n >= 0 && ::metal::fabs(x) == 1.0f) return x > 0.0f ? 1.0f : detail::even_or(n, 1.0f, -1.0f);
  if (detail::has_angle(x, n)) return ::metal::cos(float(n) * ::metal::acos(x));
  return detail::three_terms(x, n, 1.0f, x);
}
template <typename T>
float chebyshev_polynomial_u_forward(T a, long n) {
  const float x = float(a), count = float(n + 1);
  if (n >= 0 && ::metal::fabs(x) == 1.0f) return x > 0.0f ? count : detail::even_or(n, count, -count);
  const float angle = ::metal::acos(x);
  if (detail::has_angle(x, n) && ::metal::sin(angle) != 0.0f) return ::metal::sin(count * angle) / ::metal::sin(angle);
  return detail::three_terms(x, n, 1.0f, 2.0f * x);
}
template <typename T>
float chebyshev_polynomial_v_forward(T a, long n) {
  const float x = float(a), twice = float(2 * n + 1);
  if (n >= 0 && ::metal::fabs(x) == 1.0f) return x > 0.0f ? 1.0f : detail::even_or(n, twice, -twice);
  const float half_angle = 0.5f * ::metal::acos(x);
  if (detail::has_angle(x, n)) return ::metal::cos(twice * half_angle) / ::metal::cos(half_angle);
  return detail::three_terms(x, n, 1.0f, 2.0f * x - 1.0f);
}
template <typename T>
float chebyshev_polynomial_w_forward(T a, long n) {
  const float x = float(a), twice = float(2 * n + 1);
  if (n >= 0 && ::metal::fabs(x) == 1.0f) return x > 0.0f ? twice : detail::even_or(n, 1.0f, -1.0f);
  const float half_angle = 0.5f * ::metal::acos(x);
  if (detail::has_angle(x, n)) return ::metal::sin(twice * half_angle) / ::metal::sin(half_angle);
  return detail::three_terms(x, n, 1.0f, 2.0f * x + 1.0f);
}
template <typename T>
float shifted_chebyshev_polynomial_t_forward(T a, long n) {
  return chebyshev_polynomial_t_forward(2.0f * float(a) - 1.0f, n);
}
template <typename T>
float shifted_chebyshev_polynomial_u_forward(T a, long n) {
  return chebyshev_polynomial_u_forward(2.0f * float(a) - 1.0f, n);
}
template <typename T>
float shifted_chebyshev_polynomial_v_forward(T a, long n) {
  return chebyshev_polynomial_v_forward(2.0f * float(a) - 1.0f, n);
}
template <typename T>
float shifted_chebyshev_polynomial_w_forward(T a, long n) {
  return chebyshev_polynomial_w_forward(2.0f * float(a) - 1.0f, n);
}

// The highest order of Hermite's polynomials: beyond it, the result is NaN.
template <typename T>
constexpr int getHermitianLimit() {
  return 128;
}
template <typename T>
float hermite_polynomial_h_forward(T a, long n) {
  const float x = float(a);
  if (n > getHermitianLimit<T>()) return NAN;
  return detail::recurrence(n, 2.0f * x, [x](long k, float p, float q) { return 2.0f * x * p - 2.0f * float(k) * q; });
}
template <typename T>
float hermite_polynomial_he_forward(T a, long n) {
  const float x = float(a);
  if (n > getHermitianLimit<T>()) return NAN;
  return detail::recurrence(n, x, [x](long k, float p, float q) { return x * p - float(k) * q; });
}
template <typename T>
float legendre_polynomial_p_forward(T a, long n) {
  const float x = float(a);
  return detail::recurrence(
      n, x, [x](long k, float p, float q) { return (float(2 * k + 1) * x * p - float(k) * q) / float(k + 1); });
}
template <typename T>
float laguerre_polynomial_l_forward(T a, long n) {
  const float x = float(a);
  return detail::recurrence(n, 1.0f - x, [x](long k, float p, float q) {
    return ((float(2 * k + 1) - x) * p - float(k) * q) / float(k + 1);
  });
}

}  // namespace metal
}  // namespace c10
