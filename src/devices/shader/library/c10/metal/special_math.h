// Special functions, in single precision. They take any number. Most give a float; those that PyTorch defines for a
// type give that type.
#pragma once
#include <c10/metal/bessel.h>
#include <c10/metal/expm1f.h>
#include <c10/metal/gamma.h>
#include <c10/metal/polynomials.h>
#include <c10/metal/utils.h>

#include <metal_stdlib>

namespace c10 {
namespace metal {

// ---- Small ones

template <typename T>
floating_dtype<T> sinc(T a) {
  if constexpr (is_complex_v<T>) {
    const float2 z = float2(a) * M_PI_F;
    const float square = z.x * z.x + z.y * z.y;
    if (square == 0.0f) return T(1, 0);
    const float2 sine =
        float2(::metal::sinpi(float(a.x)) * ::metal::cosh(z.y), ::metal::cospi(float(a.x)) * ::metal::sinh(z.y));
    return T(float2(sine.x * z.x + sine.y * z.y, sine.y * z.x - sine.x * z.y) / square);
  } else {
    const float x = float(a);
    return floating_dtype<T>(x == 0.0f ? 1.0f : ::metal::sinpi(x) / (M_PI_F * x));
  }
}
template <typename T>
floating_dtype<T> spherical_bessel_j0(T a) {
  const float x = float(a);
  if (::metal::isinf(x)) return 0.0f;
  if (::metal::fabs(x) < 0.5f) {
    const float z = x * x;
    return floating_dtype<T>(1.0f -
                             z * (0.166666667f - z * (8.33333333e-3f - z * (1.98412698e-4f - z * 2.75573192e-6f))));
  }
  return floating_dtype<T>(::metal::sin(x) / x);
}
template <typename T>
floating_dtype<T> entr(T a) {
  const float x = float(a);
  if (::metal::isnan(x)) return floating_dtype<T>(x);
  return floating_dtype<T>(x > 0.0f ? -x * ::metal::log(x) : x == 0.0f ? 0.0f : -INFINITY);
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
  return polynomial(t, 0.524953232f, -2.23643507f, 3.46574517f, -2.21165605f, 0.0854257237f, 0.226770933f, 0.569235026f,
                    0.563934852f, 5.44324942e-6f);
}
// e^(-x*x), the square in two parts.
inline float exp_of_minus_square(float x) {
  float low;
  const float square = ::metal::kymo_product(x, x, low);
  return ::metal::exp(-square) * (1.0f - low);
}
inline float erf_near(float x) {  // |x| <= 1
  const float z = x * x;
  return x * polynomial(z, 7.88938626e-5f, -0.00080209251f, 0.00518954539f, -0.0268544503f, 0.112836003f, -0.376126272f,
                        1.12837917f);
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
// e^(x*x) erfc(x).
template <typename T>
float erfcx(T a) {
  const float x = float(a), size = ::metal::fabs(x);
  if (::metal::isnan(x)) return x;
  float result = 0.564189584f / size;
  if (size < 1e7f) {
    const float y = (size - 2.0f) / (size + 2.0f);
    const float p =
        detail::polynomial(y, 0.000165867579f, -0.000182478015f, -0.00140835775f, 0.0010404808f, 0.00870021721f,
                           -0.00794070691f, -0.0542159009f, 0.164035273f, -0.166030604f, -0.0927630388f, 1.27697838f);
    result = p / (1.0f + 2.0f * size);
  }
  if (x >= 0.0f) return result;
  float low;
  const float square = ::metal::kymo_product(x, x, low);
  return x < -9.5f ? INFINITY : 2.0f * ::metal::exp(square) * (1.0f + low) - result;
}
// The same for y100 = 400 / (4 + x), x >= 0.
template <typename T>
float erfcx_y100(T y100) {
  return erfcx(400.0f / float(y100) - 4.0f);
}
template <typename T>
float erfinv(T a) {
  const float x = float(a);
  if (!(::metal::fabs(x) <= 1.0f)) return NAN;
  if (::metal::fabs(x) == 1.0f) return ::metal::copysign(INFINITY, x);
  const float w = -::metal::kymo_log1p(-x * x);
  if (w < 5.0f) {
    const float t = w - 2.5f;
    return x * detail::polynomial(t, -8.79109179e-9f, 2.32326787e-8f, 4.66171136e-7f, -3.46270518e-6f, -4.96334992e-6f,
                                  0.000218344441f, -0.00125274188f, -0.00417738678f, 0.246640286f, 1.50140936f);
  }
  const float t = ::metal::sqrt(w) - 3.0f;
  return x * detail::polynomial(t, 9.85013822e-5f, -0.000291021793f, -3.30040809e-5f, 0.00146159739f, -0.00360946885f,
                                0.00569617173f, -0.00763470718f, 0.00944417683f, 1.0016748f, 2.83297682f);
}

// A sum of Chebyshev polynomials of x / 2: the coefficient of the highest is the first.
template <typename T>
T chbevl(T x, const float coefficients[], const int count) {
  T b0 = T(coefficients[0]), b1 = T(0), b2 = T(0);
  for (int i = 1; i < count; ++i) {
    b2 = b1;
    b1 = b0;
    b0 = x * b1 - b2 + T(coefficients[i]);
  }
  return T(0.5f) * (b0 - b2);
}

}  // namespace metal
}  // namespace c10

#include <c10/metal/igamma.h>
