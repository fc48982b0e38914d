// Sines, cosines, tangents and their inverses, by the rules of stdlib_math.metal.

namespace metal {

// 2 / pi, behind 32 zeros.
constant constexpr uint kymo_two_over_pi[9] = {0u,          0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                               0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};

// |x| less multiples of pi/2: what is left, in [-pi/4, pi/4], and the quadrant. For a finite x.
inline float kymo_reduce(float x, thread uint& quadrant) {
  const float a = fabs(x);
  if (a <= 0.785398163f) {
    quadrant = 0u;
    return a;
  }
  // a = m * 2^e; of m * 2^e * 2/pi the 94 bits behind the point and the two before it count. The bits of 2/pi that they
  // come from begin at `first`.
  const uint bits = as_type<uint>(a);
  const uint m = (bits & 0x007fffffu) | 0x00800000u;
  const uint first = (bits >> 23) - 150u + 30u;
  const uint word = first >> 5, shift = first & 31u;
  uint w[3];
  for (uint i = 0; i < 3u; ++i) {
    const uint upper = kymo_two_over_pi[word + i], lower = kymo_two_over_pi[word + i + 1u];
    w[i] = shift == 0u ? upper : (upper << shift) | (lower >> (32u - shift));
  }
  const uint r0 = m * w[2], c0 = mulhi(m, w[2]);
  const uint p1 = m * w[1], r1 = p1 + c0;
  const uint r2 = m * w[0] + mulhi(m, w[1]) + (r1 < p1 ? 1u : 0u);
  quadrant = r2 >> 30;
  uint high = (r2 << 2) | (r1 >> 30), low = (r1 << 2) | (r0 >> 30);
  const bool beyond = (high & 0x80000000u) != 0u;  // nearer to the next quadrant
  if (beyond) {
    quadrant = (quadrant + 1u) & 3u;
    high = ~high;
    low = ~low + 1u;
    if (low == 0u) high += 1u;
  }
  int exponent = -32;
  if (high == 0u) {
    high = low;
    low = 0u;
    exponent = -64;
  }
  if (high == 0u) return 0.0f;
  const uint zeros = clz(high);
  if (zeros != 0u) high = (high << zeros) | (low >> (32u - zeros));
  const float turns = kymo_ldexp(float(high), exponent - int(zeros));  // in quarters of a circle
  const float r = turns * 1.57079633f;
  return beyond ? -r : r;
}

inline float kymo_sin_near(float x) {  // |x| <= pi/4
  const float z = x * x;
  return x + x * z * (-0.166666666f + z * (0.00833332939f + z * (-0.00019839335f + z * 2.71831248e-6f)));
}

inline float kymo_cos_near(float x) {
  const float z = x * x;
  const float half_square = 0.5f * z, most = 1.0f - half_square;
  return most + ((1.0f - most) - half_square + z * z * (0.0416666469f + z * (-0.00138873675f + z * 2.44384493e-5f)));
}

inline float kymo_sin(float x) {
  if (isnan(x) || isinf(x)) return NAN;
  uint quadrant;
  const float r = kymo_reduce(x, quadrant);
  const float s = (quadrant & 1u) != 0u ? kymo_cos_near(r) : kymo_sin_near(r);
  const bool negative = ((quadrant & 2u) != 0u) != ((as_type<uint>(x) >> 31) != 0u);
  return negative ? -s : s;
}

inline float kymo_cos(float x) {
  if (isnan(x) || isinf(x)) return NAN;
  uint quadrant;
  const float r = kymo_reduce(x, quadrant);
  const float c = (quadrant & 1u) != 0u ? kymo_sin_near(r) : kymo_cos_near(r);
  return quadrant == 1u || quadrant == 2u ? -c : c;
}

inline float kymo_tan(float x) {
  if (isnan(x) || isinf(x)) return NAN;
  uint quadrant;
  const float r = kymo_reduce(x, quadrant);
  const float s = kymo_sin_near(r), c = kymo_cos_near(r);
  const float t = (quadrant & 1u) != 0u ? -c / s : s / c;
  return (as_type<uint>(x) >> 31) != 0u ? -t : t;
}

// Of pi * x: x in halves of a circle, so that no precision is lost on the way.
inline float kymo_half_turns(float x, thread uint& quadrant) {
  const float a = fabs(x);
  const float r = a - 2.0f * floor(a * 0.5f);  // in [0, 2), exact
  const float q = rint(2.0f * r);
  quadrant = uint(q) & 3u;
  return (r - 0.5f * q) * 3.14159265f;
}

inline float kymo_sinpi(float x) {
  if (isnan(x) || isinf(x)) return NAN;
  uint quadrant;
  const float r = kymo_half_turns(x, quadrant);
  const float s = (quadrant & 1u) != 0u ? kymo_cos_near(r) : kymo_sin_near(r);
  const bool negative = ((quadrant & 2u) != 0u) != ((as_type<uint>(x) >> 31) != 0u);
  return negative ? -s : s;
}

inline float kymo_cospi(float x) {
  if (isnan(x) || isinf(x)) return NAN;
  uint quadrant;
  const float r = kymo_half_turns(x, quadrant);
  const float c = (quadrant & 1u) != 0u ? kymo_sin_near(r) : kymo_cos_near(r);
  return quadrant == 1u || quadrant == 2u ? -c : c;
}

inline float kymo_tanpi(float x) {
  if (isnan(x) || isinf(x)) return NAN;
  uint quadrant;
  const float r = kymo_half_turns(x, quadrant);
  const float s = kymo_sin_near(r), c = kymo_cos_near(r);
  const float t = (quadrant & 1u) != 0u ? -c / s : s / c;
  return (as_type<uint>(x) >> 31) != 0u ? -t : t;
}

inline float kymo_asin_near(float x) {  // |x| <= 1/2
  const float z = x * x;
  return x +
         x * z * (0.166667539f + z * (0.074952419f + z * (0.0454770833f + z * (0.0241476728f + z * 0.0422184517f))));
}

inline float kymo_asin(float x) {
  const float a = fabs(x);
  if (!(a <= 1.0f)) return NAN;
  if (a <= 0.5f) return kymo_asin_near(x);
  const float r = 1.57079637f - (2.0f * kymo_asin_near(sqrt((1.0f - a) * 0.5f)) + 4.37113883e-8f);
  return x < 0.0f ? -r : r;
}

inline float kymo_acos(float x) {
  const float a = fabs(x);
  if (!(a <= 1.0f)) return NAN;
  if (a <= 0.5f) return 1.57079637f - (kymo_asin_near(x) + 4.37113883e-8f);
  const float r = 2.0f * kymo_asin_near(sqrt((1.0f - a) * 0.5f));
  return x < 0.0f ? 3.14159274f - (r + 8.74227766e-8f) : r;
}

inline float kymo_atan(float x) {
  if (isnan(x)) return x;
  const float a = fabs(x);
  float base = 0.0f, below = 0.0f, t = a;
  if (a > 2.41421356f) {
    base = 1.57079637f;
    below = -4.37113883e-8f;
    t = -1.0f / a;
  } else if (a > 0.414213562f) {
    base = 0.785398185f;
    below = -2.18556941e-8f;
    t = (a - 1.0f) / (a + 1.0f);
  }
  const float z = t * t;
  const float p =
      t * z * (-0.333333155f + z * (0.199984893f + z * (-0.142438454f + z * (0.105959753f + z * -0.0608338322f))));
  const float r = base + (t + (p + below));
  return copysign(r, x);
}

inline float kymo_atan2(float y, float x) {
  if (isnan(x) || isnan(y)) return NAN;
  const float a = fabs(x), b = fabs(y);
  const bool negative = (as_type<uint>(x) >> 31) != 0u;
  float r;
  if (b == 0.0f) {
    r = 0.0f;
  } else if (a == 0.0f) {
    return copysign(1.57079637f, y);
  } else if (isinf(a) && isinf(b)) {
    r = 0.785398185f;
  } else if (isinf(b)) {
    return copysign(1.57079637f, y);
  } else {
    r = kymo_atan(b / a);
  }
  if (negative) r = 3.14159274f - (r + 8.74227766e-8f);
  return copysign(r, y);
}

}  // namespace metal
