// Bessel functions, in single precision: a part of special_math.h, which includes it.
#pragma once
#include <c10/metal/utils.h>

#include <metal_stdlib>

namespace c10 {
namespace metal {

namespace detail {

// e^-x I_n(x) for x >= 12: the series in 1/x, with m = 4 n^2.
inline float bessel_i_far(float x, float m) {
  float term = 1.0f, sum = 1.0f;
  for (int k = 1; k < 12; ++k) {
    const float odd = float(2 * k - 1);
    term *= -(m - odd * odd) / (8.0f * float(k) * x);
    sum += term;
  }
  return sum / ::metal::sqrt(2.0f * M_PI_F * x);
}
// I_n(x) for small x: the power series, all of one sign. `first` is its first term.
inline float bessel_i_near(float x, float first, float n) {
  const float z = 0.25f * x * x;
  float term = first, sum = first;
  for (float k = 1.0f; k < 40.0f; k += 1.0f) {
    term *= z / (k * (k + n));
    sum += term;
  }
  return sum;
}

// The amplitudes of the far Bessel functions, in z = (5/x)^2.
inline float bessel_p0(float z) {
  return polynomial(z, -1.84342074e-6f, 9.66323289e-6f, -3.4363828e-5f, 0.000178995943f, -0.00281246624f, 1.0f);
}
inline float bessel_q0(float z) {
  return polynomial(z, 7.06595736e-6f, -3.39771667e-5f, 0.000100040067f, -0.000361352661f, 0.00292953764f,
                    -0.124999998f);
}
inline float bessel_p1(float z) {
  return polynomial(z, 2.09211418e-6f, -1.11052904e-5f, 4.07718999e-5f, -0.000230214457f, 0.00468746233f, 1.0f);
}
inline float bessel_q1(float z) {
  return polynomial(z, -7.93562279e-6f, 3.85128608e-5f, -0.000115967718f, 0.000441889321f, -0.00410139659f,
                    0.374999998f);
}
// cos(x - pi/4) and sin(x - pi/4), without the difference.
inline float cos_less_eighth(float x) { return (::metal::cos(x) + ::metal::sin(x)) * M_SQRT1_2_F; }
inline float sin_less_eighth(float x) { return (::metal::sin(x) - ::metal::cos(x)) * M_SQRT1_2_F; }

}  // namespace detail

template <typename T>
floating_dtype<T> i0e(T a) {
  const float x = ::metal::fabs(float(a));
  return x < 12.0f ? detail::bessel_i_near(x, 1.0f, 0.0f) * ::metal::exp(-x) : detail::bessel_i_far(x, 0.0f);
}
template <typename T>
floating_dtype<T> i0(T a) {
  const float x = ::metal::fabs(float(a));
  if (x < 12.0f) return detail::bessel_i_near(x, 1.0f, 0.0f);
  const float half_way = ::metal::exp(0.5f * x);
  return half_way * detail::bessel_i_far(x, 0.0f) * half_way;
}
template <typename T>
floating_dtype<T> i1e(T a) {
  const float x = ::metal::fabs(float(a));
  const float r =
      x < 12.0f ? detail::bessel_i_near(x, 0.5f * x, 1.0f) * ::metal::exp(-x) : detail::bessel_i_far(x, 4.0f);
  return float(a) < 0.0f ? -r : r;
}
template <typename T>
floating_dtype<T> i1(T a) {
  const float x = ::metal::fabs(float(a));
  float r;
  if (x < 12.0f) {
    r = detail::bessel_i_near(x, 0.5f * x, 1.0f);
  } else {
    const float half_way = ::metal::exp(0.5f * x);
    r = half_way * detail::bessel_i_far(x, 4.0f) * half_way;
  }
  return float(a) < 0.0f ? -r : r;
}

template <typename T>
float bessel_j0_forward(T a) {
  const float x = ::metal::fabs(float(a));
  if (x < 5.0f) {
    const float z = x * x;
    const float p = detail::polynomial(z, 6.38535948e-15f, -2.02667603e-12f, 3.9247837e-10f, -5.31693571e-8f,
                                       4.78431702e-6f, -0.000251202294f, 0.00567469331f);
    return (z - 5.78318596f) * (z - 30.4712623f) * p;  // its first two zeros
  }
  if (::metal::isinf(x)) return 0.0f;
  const float z = 25.0f / (x * x);
  const float c = detail::cos_less_eighth(x), s = detail::sin_less_eighth(x);
  return ::metal::sqrt(M_2_PI_F / x) * (detail::bessel_p0(z) * c - detail::bessel_q0(z) / x * s);
}
template <typename T>
float bessel_j1_forward(T a) {
  const float x = ::metal::fabs(float(a));
  float r;
  if (x < 5.0f) {
    const float z = x * x;
    const float p = detail::polynomial(z, 3.41704006e-16f, -1.18015793e-13f, 2.55230332e-11f, -3.92901167e-9f,
                                       4.08589561e-7f, -2.53047712e-5f, 0.000691922836f);
    r = x * (z - 14.6819706f) * (z - 49.2184563f) * p;
  } else if (::metal::isinf(x)) {
    r = 0.0f;
  } else {
    const float z = 25.0f / (x * x);
    const float c = detail::sin_less_eighth(x), s = -detail::cos_less_eighth(x);  // of x - 3 pi/4
    r = ::metal::sqrt(M_2_PI_F / x) * (detail::bessel_p1(z) * c - detail::bessel_q1(z) / x * s);
  }
  return float(a) < 0.0f ? -r : r;
}
template <typename T>
float bessel_y0_forward(T a) {
  const float x = float(a);
  if (x == 0.0f) return -INFINITY;
  if (!(x > 0.0f)) return NAN;
  if (x <= 5.0f) {
    const float z = x * x;
    const float p = detail::polynomial(z, -1.17634509e-14f, 3.9152771e-12f, -7.63710746e-10f, 1.03503818e-7f,
                                       -9.49431334e-6f, 0.000538599331f, -0.0160739599f, 0.177606009f, -0.0738042939f);
    return p + M_2_PI_F * ::metal::log(x) * bessel_j0_forward(x);
  }
  const float z = 25.0f / (x * x);
  const float c = detail::cos_less_eighth(x), s = detail::sin_less_eighth(x);
  return ::metal::sqrt(M_2_PI_F / x) * (detail::bessel_p0(z) * s + detail::bessel_q0(z) / x * c);
}
template <typename T>
float bessel_y1_forward(T a) {
  const float x = float(a);
  if (x == 0.0f) return -INFINITY;
  if (!(x > 0.0f)) return NAN;
  if (x <= 5.0f) {
    const float z = x * x;
    const float p = detail::polynomial(z, -6.88584444e-16f, 2.52770545e-13f, -5.6177636e-11f, 8.92747159e-9f,
                                       -9.9263646e-7f, 7.16425096e-5f, -0.00295530493f, 0.0543486878f, -0.196057091f);
    return x * p + M_2_PI_F * (::metal::log(x) * bessel_j1_forward(x) - 1.0f / x);
  }
  const float z = 25.0f / (x * x);
  const float c = detail::sin_less_eighth(x), s = -detail::cos_less_eighth(x);
  return ::metal::sqrt(M_2_PI_F / x) * (detail::bessel_p1(z) * s + detail::bessel_q1(z) / x * c);
}

template <typename T>
float modified_bessel_i0_forward(T x) {
  return i0(x);
}
template <typename T>
float modified_bessel_i1_forward(T x) {
  return i1(x);
}

namespace detail {
// e^x K_n(x): the integral of e^(-x (cosh t - 1)) cosh(n t), whose sum over steps converges faster than any power.
inline float bessel_k_scaled(float x, float n) {
  const float step = 0.0625f;
  float sum = 0.5f;
  for (int k = 1; k < 400; ++k) {
    const float t = step * float(k), s = ::metal::sinh(0.5f * t);
    const float exponent = 2.0f * x * s * s;
    if (exponent > 40.0f) break;
    sum += ::metal::exp(-exponent) * (n == 0.0f ? 1.0f : ::metal::cosh(t));
  }
  return sum * step;
}
}  // namespace detail

template <typename T>
float scaled_modified_bessel_k0_forward(T a) {
  const float x = float(a);
  return x == 0.0f ? INFINITY : !(x > 0.0f) ? NAN : detail::bessel_k_scaled(x, 0.0f);
}
template <typename T>
float scaled_modified_bessel_k1_forward(T a) {
  const float x = float(a);
  return x == 0.0f ? INFINITY : !(x > 0.0f) ? NAN : detail::bessel_k_scaled(x, 1.0f);
}
template <typename T>
float modified_bessel_k0_forward(T x) {
  return ::metal::exp(-float(x)) * scaled_modified_bessel_k0_forward(x);
}
template <typename T>
float modified_bessel_k1_forward(T x) {
  return ::metal::exp(-float(x)) * scaled_modified_bessel_k1_forward(x);
}

}  // namespace metal
}  // namespace c10
