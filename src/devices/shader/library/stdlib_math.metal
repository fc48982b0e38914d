// Functions of one precision on every device. Where a target's own are worse than Metal allows (Vulkan's), these are
// taken: additions, multiplications, divisions, square roots and integers only, no fused operations, so that they give
// the same bits wherever they run. Errors, in units of the last place, are in docs/shaders.md.

namespace metal {

// x * 2^n, rounded once, subnormals included.
inline float kymo_ldexp(float x, int n) {
  n = n < -300 ? -300 : n > 300 ? 300 : n;
  if (n > 127) {
    x *= 0x1p127f;
    n -= 127;
    if (n > 127) {
      x *= 0x1p127f;
      n -= 127;
      n = n > 127 ? 127 : n;
    }
  } else if (n < -126) {
    // 2^-102 keeps 24 bits above the subnormals, so that only the last product rounds.
    x *= 0x1p-102f;
    n += 102;
    if (n < -126) {
      x *= 0x1p-102f;
      n += 102;
      n = n < -126 ? -126 : n;
    }
  }
  return x * as_type<float>(uint(n + 127) << 23);
}

// The product of two numbers in two parts, exactly.
inline float kymo_product(float a, float b, thread float& low) {
  const float p = a * b;
  const float a1 = as_type<float>(as_type<uint>(a) & 0xfffff000u), a2 = a - a1;
  const float b1 = as_type<float>(as_type<uint>(b) & 0xfffff000u), b2 = b - b1;
  low = ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2;
  return p;
}

// 1 / sqrt(x): what the first try leaves of 1 - x * r * r goes back into it.
inline float kymo_rsqrt(float x) {
  const float r = 1.0f / sqrt(x);
  if (!(x > 0.0f) || isinf(x)) return r;
  float root_low, one_low;
  const float root = kymo_product(x, r, root_low);
  const float one = kymo_product(root, r, one_low);
  const float rest = ((1.0f - one) - one_low) - root_low * r;
  return r + r * (0.5f * rest);
}

// The bits of x = m * 2^e with m in [sqrt(1/2), sqrt(2)), for a positive finite x.
inline float kymo_split(float x, thread int& e) {
  int shift = 0;
  if (x < 0x1p-126f) {
    x *= 0x1p24f;
    shift = 24;
  }
  const uint bits = as_type<uint>(x);
  const uint moved = bits - 0x3f3504f3u;  // of sqrt(1/2)
  e = (as_type<int>(moved) >> 23) - shift;
  return as_type<float>((moved & 0x007fffffu) + 0x3f3504f3u);
}

// ---- Exponentials

// e^x as p * 2^n, for |x| < 110.
inline float kymo_exp_parts(float x, thread int& n) {
  const float whole = rint(x * 1.44269504f);
  const float r = (x - whole * 0.693145752f) - whole * 1.42860677e-6f;
  n = int(whole);
  const float p = 0.499999934f + r * (0.166665206f + r * (0.0416683879f + r * (0.00836871541f + r * 0.00138145998f)));
  return 1.0f + (r + r * r * p);
}

inline float kymo_exp(float x) {
  if (isnan(x)) return x;
  if (x > 89.0f) return INFINITY;
  if (x < -104.5f) return 0.0f;
  int n;
  const float p = kymo_exp_parts(x, n);
  return kymo_ldexp(p, n);
}

inline float kymo_exp2_fraction(float r) {  // 2^r for |r| <= 1/2
  return 1.0f + r * (0.693147181f +
                     r * (0.240226511f +
                          r * (0.0555041096f + r * (0.00961803691f +
                                                    r * (0.0013333431f + r * (0.00015467111f + r * 1.53149007e-5f))))));
}

inline float kymo_exp2(float x) {
  if (isnan(x)) return x;
  if (x >= 128.0f) return INFINITY;
  if (x < -151.0f) return 0.0f;
  const float whole = rint(x);
  return kymo_ldexp(kymo_exp2_fraction(x - whole), int(whole));
}

inline float kymo_exp10(float x) {
  if (isnan(x)) return x;
  if (x > 39.0f) return INFINITY;
  if (x < -46.0f) return 0.0f;
  const float whole = rint(x * 3.32192809f);
  const float r = (x - whole * 0.301025391f) - whole * 4.60503907e-6f;  // log10(2), in two parts
  const float high = r * 2.30258509f;
  const float p =
      0.499999934f + high * (0.166665206f + high * (0.0416683879f + high * (0.00836871541f + high * 0.00138145998f)));
  return kymo_ldexp(1.0f + (high + high * high * p), int(whole));
}

// ---- Logarithms

// log(1 + f), for 1 + f in [sqrt(1/2), sqrt(2)), but for its first two terms: log(1 + f) = f - f*f/2 + rest.
inline float kymo_log_rest(float f) {
  const float s = f / (2.0f + f), z = s * s;
  const float r = z * (0.666666656f + z * (0.400003355f + z * (0.285372875f + z * 0.235825799f)));
  return s * (0.5f * f * f + r);
}

inline float kymo_log_special(float x) {  // of what is not a positive finite number
  if (x == 0.0f) return -INFINITY;
  if (x < 0.0f) return NAN;
  return x;
}

inline float kymo_log(float x) {
  if (!(x > 0.0f) || x == INFINITY) return kymo_log_special(x);
  int e;
  const float f = kymo_split(x, e) - 1.0f;
  const float rest = kymo_log_rest(f), half_square = 0.5f * f * f, k = float(e);
  return k * 0.693145752f - ((half_square - (rest + k * 1.42860677e-6f)) - f);
}

// log(m) of a fraction f = m - 1 in two parts, the high one with 12 bits.
inline float kymo_log_high(float f, thread float& low) {
  const float half_square = 0.5f * f * f;
  const float high = as_type<float>(as_type<uint>(f - half_square) & 0xfffff000u);
  low = (f - high) - half_square + kymo_log_rest(f);
  return high;
}

inline float kymo_log2(float x) {
  if (!(x > 0.0f) || x == INFINITY) return kymo_log_special(x);
  int e;
  float low;
  const float high = kymo_log_high(kymo_split(x, e) - 1.0f, low);
  const float a = 1.44238281f, b = 3.12232679e-4f;  // 1 / ln 2, in two parts
  return (((low + high) * b + low * a) + high * a) + float(e);
}

inline float kymo_log10(float x) {
  if (!(x > 0.0f) || x == INFINITY) return kymo_log_special(x);
  int e;
  float low;
  const float high = kymo_log_high(kymo_split(x, e) - 1.0f, low);
  const float a = 0.434082031f, b = 2.12450701e-4f;  // 1 / ln 10, in two parts
  const float k = float(e);
  return ((k * 4.60503907e-6f + (low + high) * b) + low * a) + (high * a + k * 0.301025391f);
}

inline float kymo_log1p(float x) {
  const float u = 1.0f + x;
  if (u == 1.0f) return x;
  if (!(u > 0.0f) || u == INFINITY) return kymo_log_special(u);
  return kymo_log(u) + (x - (u - 1.0f)) / u;
}

inline float kymo_expm1(float x) {
  if (fabs(x) < 0.5f) {
    return x + x * x *
                   (0.5f + x * (0.166666667f + x * (0.0416666667f +
                                                    x * (8.33333333e-3f + x * (1.38888889e-3f + x * 1.98412698e-4f)))));
  }
  return kymo_exp(x) - 1.0f;
}

// ---- Hyperbolic

inline float kymo_sinh(float x) {
  const float a = fabs(x);
  if (isnan(x)) return x;
  if (a < 1.0f) {
    const float z = x * x;
    return x + x * z * (0.166666665f + z * (0.0083333506f + z * (0.000198360663f + z * 2.81743962e-6f)));
  }
  if (a > 90.0f) return copysign(INFINITY, x);
  int n;
  const float p = kymo_exp_parts(a, n);
  return copysign(kymo_ldexp(p, n - 1) - kymo_ldexp(1.0f / p, -n - 1), x);
}

inline float kymo_cosh(float x) {
  const float a = fabs(x);
  if (isnan(x)) return x;
  if (a > 90.0f) return INFINITY;
  int n;
  const float p = kymo_exp_parts(a, n);
  return kymo_ldexp(p, n - 1) + kymo_ldexp(1.0f / p, -n - 1);
}

inline float kymo_tanh(float x) {
  const float a = fabs(x);
  if (isnan(x)) return x;
  if (a < 0.6f) {
    const float z = x * x;
    const float p =
        -0.333332993f + z * (0.133319582f + z * (-0.0537866835f + z * (0.0208053844f + z * -0.00590586802f)));
    return copysign(x + x * z * p, x);
  }
  if (a > 10.0f) return copysign(1.0f, x);
  return copysign(1.0f - 2.0f / (kymo_exp(2.0f * a) + 1.0f), x);
}

inline float kymo_asinh(float x) {
  const float a = fabs(x);
  if (isnan(x) || isinf(x)) return x;
  if (a < 0.5f) {
    const float z = x * x;
    const float p =
        -0.166666439f + z * (0.0749866328f + z * (-0.0443858646f + z * (0.0281755496f + z * -0.0132480836f)));
    return copysign(x + x * z * p, x);
  }
  if (a > 0x1p28f) return copysign(kymo_log(a) + 0.693147181f, x);
  return copysign(kymo_log1p(a + a * a / (1.0f + sqrt(1.0f + a * a))), x);
}

inline float kymo_acosh(float x) {
  if (!(x >= 1.0f)) return NAN;
  if (x > 0x1p28f) return kymo_log(x) + 0.693147181f;
  const float t = x - 1.0f;
  return kymo_log1p(t + sqrt(2.0f * t + t * t));
}

inline float kymo_atanh(float x) {
  const float a = fabs(x);
  if (!(a <= 1.0f)) return NAN;
  if (a == 1.0f) return copysign(INFINITY, x);
  if (a < 0x1p-12f) return x;
  const float r =
      a < 0.5f ? 0.5f * kymo_log1p(2.0f * a + 2.0f * a * a / (1.0f - a)) : 0.5f * kymo_log1p(2.0f * a / (1.0f - a));
  return copysign(r, x);
}

// ---- Powers

inline float kymo_pow_magnitude(float x, float y) {  // x > 0 and finite, y finite
  int e;
  const float m = kymo_split(x, e);
  // log2(m) = 2 / ln 2 * (s + s^3 / 3 + …) with s = (m - 1) / (m + 1), whose first term needs more than a float holds.
  const float f = m - 1.0f, d = m + 1.0f, d_low = m - (d - 1.0f);
  const float s = f / d;
  float t_low;
  const float t = kymo_product(s, d, t_low);
  const float s_low = (((f - t) - t_low) - s * d_low) / d;
  const float z = s * s;
  const float tail =
      s * z * (0.96179668f + z * (0.577082881f + z * (0.411710802f + z * 0.34022473f)));  // times 2 / ln 2
  float first_low;
  const float first = kymo_product(s, 2.88539004f, first_low);
  first_low += s * 3.85196693e-8f + s_low * 2.88539004f;
  const float k = float(e);
  const float rest = first_low + tail;
  float high = k + first, low = 0.0f;
  low = (k - high) + first;
  if (e == 0) low = 0.0f;
  low += rest;
  const float sum = high + low;
  low = (high - sum) + low;
  high = sum;
  // y * log2(x), whole and fraction.
  if (fabs(y) > 0x1p40f) return (high > 0.0f) == (y > 0.0f) ? INFINITY : 0.0f;
  float product_low;
  const float product = kymo_product(y, high, product_low);
  product_low += y * low;
  if (product > 129.0f) return INFINITY;
  if (product < -151.0f) return 0.0f;
  const float whole = rint(product);
  const float fraction = (product - whole) + product_low;
  return kymo_ldexp(kymo_exp2_fraction(fraction), int(whole));
}

inline float kymo_pow(float x, float y) {
  if (y == 0.0f || x == 1.0f) return 1.0f;
  if (isnan(x) || isnan(y)) return NAN;
  const float a = fabs(x);
  const bool negative = (as_type<uint>(x) >> 31) != 0u;
  const float b = fabs(y);
  const bool whole = b >= 0x1p23f || b == floor(b);
  const bool odd = whole && b < 0x1p24f && (uint(b) & 1u) != 0u;
  float r;
  if (isinf(y)) {
    r = a == 1.0f ? 1.0f : (a > 1.0f) == (y > 0.0f) ? INFINITY : 0.0f;
  } else if (a == 0.0f) {
    r = y < 0.0f ? INFINITY : 0.0f;
  } else if (isinf(a)) {
    r = y < 0.0f ? 0.0f : INFINITY;
  } else if (negative && !whole) {
    return NAN;
  } else {
    r = kymo_pow_magnitude(a, y);
  }
  return negative && odd ? -r : r;
}

inline float kymo_powr(float x, float y) {
  if (x < 0.0f) return NAN;
  return kymo_pow(x, y);
}

// ---- Remainders

// The 24 bits of a positive number, the first of them set, and the exponent that goes with them.
inline uint kymo_significand(uint bits, thread int& exponent) {
  if (bits >= 0x00800000u) {
    exponent = int(bits >> 23);
    return (bits & 0x007fffffu) | 0x00800000u;
  }
  const uint zeros = clz(bits) - 8u;
  exponent = 1 - int(zeros);
  return bits << zeros;
}

// Exact, by long division of the significands.
inline float kymo_fmod(float x, float y) {
  const uint sign = as_type<uint>(x) & 0x80000000u;
  uint a = as_type<uint>(x) & 0x7fffffffu, b = as_type<uint>(y) & 0x7fffffffu;
  if (a >= 0x7f800000u || b > 0x7f800000u || b == 0u) return NAN;
  if (a < b) return x;
  int ea, eb;
  a = kymo_significand(a, ea);
  b = kymo_significand(b, eb);
  for (; ea > eb; --ea) {
    if (a >= b) a -= b;
    a <<= 1;
  }
  if (a >= b) a -= b;
  if (a == 0u) return as_type<float>(sign);
  const int up = min(int(clz(a)) - 8, eb - 1);  // until it is normal again, or as far as exponents go
  a = up >= 0 ? a << uint(up) : a >> uint(-up);
  eb -= up;
  const uint bits = a < 0x00800000u ? a : (a & 0x007fffffu) | (uint(eb) << 23);
  return as_type<float>(sign | bits);
}

}  // namespace metal
