// The regularised incomplete gamma functions: igamma(a, x) from 0 to x, igammac(a, x) from x on.
#pragma once
#include <c10/metal/special_math.h>

#include <metal_stdlib>

// PyTorch's header has these too, and its kernels use the names.
using namespace c10::metal;
using namespace metal;

namespace c10 {
namespace metal {
namespace detail {

// x^a e^-x / Gamma(a)
inline float igamma_factor(float a, float x) { return ::metal::exp(a * ::metal::log(x) - x - log_gamma(a)); }

// The lower one by its series: good where x < a + 1.
inline float igamma_series(float a, float x) {
  float term = 1.0f / a, sum = term, n = a;
  for (int i = 0; i < 2000; ++i) {
    n += 1.0f;
    term *= x / n;
    sum += term;
    if (term < 3e-8f * sum) break;
  }
  return sum * igamma_factor(a, x);
}

// The upper one by its continued fraction: good where x > a + 1.
inline float igammac_fraction(float a, float x) {
  const float tiny = 1e-30f;
  float b = x + 1.0f - a, c = 1.0f / tiny, d = 1.0f / b, h = d;
  for (int i = 1; i < 2000; ++i) {
    const float n = -float(i) * (float(i) - a);
    b += 2.0f;
    d = n * d + b;
    d = 1.0f / (::metal::fabs(d) < tiny ? tiny : d);
    c = b + n / c;
    c = ::metal::fabs(c) < tiny ? tiny : c;
    const float change = c * d;
    h *= change;
    if (::metal::fabs(change - 1.0f) < 1e-7f) break;
  }
  return h * igamma_factor(a, x);
}

}  // namespace detail

template <typename T>
T igamma(T first, T second) {
  const float a = float(first), x = float(second);
  if (!(x >= 0.0f) || !(a >= 0.0f) || (a == 0.0f && x == 0.0f)) return NAN;
  if (::metal::isinf(a) && ::metal::isinf(x)) return NAN;
  if (a == 0.0f || ::metal::isinf(x)) return 1.0f;
  if (x == 0.0f || ::metal::isinf(a)) return 0.0f;
  return T(x < a + 1.0f ? detail::igamma_series(a, x) : 1.0f - detail::igammac_fraction(a, x));
}
template <typename T>
T igammac(T first, T second) {
  const float a = float(first), x = float(second);
  if (!(x >= 0.0f) || !(a >= 0.0f) || (a == 0.0f && x == 0.0f)) return NAN;
  if (::metal::isinf(a) && ::metal::isinf(x)) return NAN;
  if (a == 0.0f || ::metal::isinf(x)) return 0.0f;
  if (x == 0.0f || ::metal::isinf(a)) return 1.0f;
  return T(x < a + 1.0f ? 1.0f - detail::igamma_series(a, x) : detail::igammac_fraction(a, x));
}

}  // namespace metal
}  // namespace c10
