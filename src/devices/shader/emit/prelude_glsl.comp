// What GLSL lacks. A program gets only the pieces that it uses. A piece begins with a line "//# NAME WORDS: NEEDS": its
// name, the words in it that are replaced for each use, and the pieces that it needs.

//# null
const int kymo_null = (-2147483647 - 1);

//# wide
uint64_t kymo_wide(uint low, uint high) { return uint64_t(high) << 32 | uint64_t(low); }

//# widened
// Mesa's compiler (22.3) compares int64_t(x) with constants wrongly.
int64_t kymo_widened(int x) { return packInt2x32(ivec2(x, x >> 31)); }

//# goes_on
// Always, but compilers do not know. Behind a loop whose only way out is in its middle, Mesa's compiler for CPUs (22.3) has
// the threads that left first compute on with the others; with another way out, at its head, it does not.
// Each loop has a number, as compilers do know what they asked already.
bool kymo_goes_on(uint loop) { return gl_LocalInvocationIndex != ~loop; }

//# is_nan
bool kymo_is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

//# is_inf
bool kymo_is_inf(float x) { return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u; }

//# from_half
// unpackHalf2x16() may lose subnormal numbers, and some drivers get all wrong.
float kymo_from_half(uint16_t bits) {
  uint sign = (uint(bits) & 0x8000u) << 16, rest = uint(bits) & 0x7fffu;
  if (rest >= 0x7c00u) return uintBitsToFloat(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest >= 0x400u) return uintBitsToFloat(sign | (rest << 13) + 0x38000000u);
  return uintBitsToFloat(sign | floatBitsToUint(float(rest) * 5.9604645e-08));
}

//# to_half
// Of a float that is a half's value.
uint16_t kymo_to_half(float value) {
  uint bits = floatBitsToUint(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return uint16_t(sign | 0x7e00u | (rest >> 13 & 0x3ffu));
  if (rest == 0x7f800000u) return uint16_t(sign | 0x7c00u);
  if (rest >= 0x38800000u) return uint16_t(sign | rest - 0x38000000u >> 13);
  float steps = uintBitsToFloat(rest) * 16777216.0;
  return uint16_t(sign | uint(steps));
}

//# round_to_half
float kymo_round_to_half(float value) {
  uint bits = floatBitsToUint(value), sign = bits & 0x80000000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return uintBitsToFloat((bits | 0x400000u) & 0xffffe000u);
  if (rest >= 0x477ff000u) return uintBitsToFloat(sign | 0x7f800000u);
  if (rest >= 0x38800000u) return uintBitsToFloat(sign | (rest + 0xfffu + (rest >> 13 & 1u) & 0xffffe000u));
  // The steps of floats between 0.5 and 1 are those of subnormal halfs.
  float moved = uintBitsToFloat(rest) + 0.5;
  float rounded = moved - 0.5;
  return uintBitsToFloat(sign | floatBitsToUint(rounded));
}

//# from_bfloat
float kymo_from_bfloat(uint16_t bits) { return uintBitsToFloat(uint(bits) << 16); }

//# to_bfloat
uint16_t kymo_to_bfloat(float value) { return uint16_t(floatBitsToUint(value) >> 16); }

//# round_to_bfloat
float kymo_round_to_bfloat(float value) {
  uint bits = floatBitsToUint(value);
  uint rounded = (bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u);
  return uintBitsToFloat(rounded & 0xffff0000u);
}

//# fmin: is_nan
float kymo_fmin(float a, float b) {
  if (kymo_is_nan(a)) return b;
  if (kymo_is_nan(b)) return a;
  return a == b ? uintBitsToFloat(floatBitsToUint(a) | floatBitsToUint(b)) : a < b ? a : b;
}

//# fmax: is_nan
float kymo_fmax(float a, float b) {
  if (kymo_is_nan(a)) return b;
  if (kymo_is_nan(b)) return a;
  return a == b ? uintBitsToFloat(floatBitsToUint(a) & floatBitsToUint(b)) : a > b ? a : b;
}

//# copysign
float kymo_copysign(float x, float y) {
  return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu | floatBitsToUint(y) & 0x80000000u);
}

//# rsqrt
float kymo_rsqrt(float x) { return 1.0 / sqrt(x); }

//# exp10
float kymo_exp10(float x) { return pow(10.0, x); }

//# log10
float kymo_log10(float x) { return log2(x) * 0.30103; }

//# fmod
// Exact: what a division leaves over, bit by bit.
float kymo_fmod(float x, float y) {
  uint sign = floatBitsToUint(x) & 0x80000000u, a = floatBitsToUint(x) & 0x7fffffffu, b = floatBitsToUint(y) & 0x7fffffffu;
  if (a >= 0x7f800000u || b > 0x7f800000u || b == 0u) return x * y / (x * y);
  if (a < b) return x;
  int exponent = max(int(a >> 23), 1), least = max(int(b >> 23), 1);
  uint divisor = b >= 0x800000u ? b & 0x7fffffu | 0x800000u : b;
  uint left = (a >= 0x800000u ? a & 0x7fffffu | 0x800000u : a) % divisor;
  for (; exponent > least; --exponent) {
    left <<= 1;
    if (left >= divisor) left -= divisor;
  }
  if (left == 0u) return uintBitsToFloat(sign);
  int up = min(23 - findMSB(left), exponent - 1);
  left <<= up;
  return uintBitsToFloat(sign | (left >= 0x800000u ? left - 0x800000u | uint(exponent - up) << 23 : left));
}

//# msb
// Of a number that is not 0.
int kymo_msb(uint64_t x) {
  uint high = uint(x >> 32);
  return high != 0u ? 32 + findMSB(high) : findMSB(uint(x));
}

//# fma: msb
// With one rounding. GLSL's own may round twice.
float kymo_fma(float a, float b, float c) {
  uint ua = floatBitsToUint(a), ub = floatBitsToUint(b), uc = floatBitsToUint(c);
  int ea = int(ua >> 23 & 255u), eb = int(ub >> 23 & 255u), ec = int(uc >> 23 & 255u);
  if (ea == 255 || eb == 255) return a * b + c;
  if (ec == 255) return c;
  if ((ua & 0x7fffffffu) == 0u || (ub & 0x7fffffffu) == 0u) return a * b + c;
  if ((uc & 0x7fffffffu) == 0u) return a * b;
  uint64_t x = uint64_t(ua & 0x7fffffu | (ea == 0 ? 0u : 0x800000u)) * uint64_t(ub & 0x7fffffu | (eb == 0 ? 0u : 0x800000u));
  uint64_t y = uint64_t(uc & 0x7fffffu | (ec == 0 ? 0u : 0x800000u));
  // x * 2^ex and y * 2^ey, both with bit 61 as their highest.
  int ex = max(ea, 1) + max(eb, 1) - 300, ey = max(ec, 1) - 150;
  int up = 61 - kymo_msb(x);
  x <<= up;
  ex -= up;
  up = 61 - kymo_msb(y);
  y <<= up;
  ey -= up;
  bool sx = ((ua ^ ub) >> 31) != 0u, sy = (uc >> 31) != 0u;
  if (ex < ey || ex == ey && x < y) {
    uint64_t t = x; x = y; y = t;
    int e = ex; ex = ey; ey = e;
    bool s = sx; sx = sy; sy = s;
  }
  // What is shifted out leaves a mark in the lowest bit.
  int down = min(ex - ey, 63);
  y = y >> down | uint64_t((y & (1ul << down) - 1ul) != 0ul);
  x = sx == sy ? x + y : x - y;
  if (x == 0ul) return 0.0;
  int drop = max(kymo_msb(x) - 23, -149 - ex);
  uint64_t q;
  if (drop <= 0) {
    q = x << -drop;
  } else if (drop > 63) {
    q = 0ul;
  } else {
    uint64_t rest = x & (1ul << drop) - 1ul, tie = 1ul << drop - 1;
    q = x >> drop;
    if (rest > tie || rest == tie && (q & 1ul) != 0ul) ++q;
  }
  int biased = ex + drop + 150;
  uint bits = biased >= 255 ? 0x7f800000u : uint(q) + (uint(biased - 1) << 23);
  return uintBitsToFloat(min(bits, 0x7f800000u) | (sx ? 0x80000000u : 0u));
}

//# remainder TYPE
// With the sign of the left: % on negative numbers is nothing one can rely on.
TYPE kymo_remainder(TYPE a, TYPE b) { return a - a / b * b; }

//# pop_count
uint64_t kymo_pop_count(uint64_t x) { return uint64_t(bitCount(uint(x)) + bitCount(uint(x >> 32))); }

//# leading_zeros
uint64_t kymo_leading_zeros(uint64_t x) {
  uint high = uint(x >> 32);
  return uint64_t(high != 0u ? 31 - findMSB(high) : 63 - findMSB(uint(x)));
}

//# reverse_bits
uint64_t kymo_reverse_bits(uint64_t x) {
  return uint64_t(bitfieldReverse(uint(x))) << 32 | uint64_t(bitfieldReverse(uint(x >> 32)));
}

//# mul_hi
uint kymo_mul_hi(uint a, uint b) {
  uint high, low;
  umulExtended(a, b, high, low);
  return high;
}
int kymo_mul_hi(int a, int b) {
  int high, low;
  imulExtended(a, b, high, low);
  return high;
}

// ---- Simdgroups: 32 threads each, by way of shared memory. All threads of a group come along; `takes_part` says which take
// part.

//# simd
shared uvec2 kymo_simd[(gl_WorkGroupSize.x * gl_WorkGroupSize.y * gl_WorkGroupSize.z + 31u) / 32u * 32u];
// The first thread of this one's simdgroup.
uint kymo_simd_first() { return gl_LocalInvocationIndex & ~31u; }
// How many threads it has.
uint kymo_simd_threads() {
  return min(gl_WorkGroupSize.x * gl_WorkGroupSize.y * gl_WorkGroupSize.z - kymo_simd_first(), 32u);
}
// A value for every lane; `missing` for those that there are not.
void kymo_simd_put(uvec2 value, uvec2 missing) {
  uint threads = kymo_simd_threads();
  kymo_simd[gl_LocalInvocationIndex] = value;
  for (uint i = gl_LocalInvocationIndex + threads; i < kymo_simd_first() + 32u; i += threads) kymo_simd[i] = missing;
  barrier();
}

//# simd_active: simd
shared uint kymo_simd_active[(gl_WorkGroupSize.x * gl_WorkGroupSize.y * gl_WorkGroupSize.z + 31u) / 32u * 32u];

//# bits_int
uvec2 kymo_bits(int x) { return uvec2(uint(x), 0u); }
int kymo_int_of(uvec2 bits) { return int(bits.x); }

//# bits_uint
uvec2 kymo_bits(uint x) { return uvec2(x, 0u); }
uint kymo_uint_of(uvec2 bits) { return bits.x; }

//# bits_float
uvec2 kymo_bits(float x) { return uvec2(floatBitsToUint(x), 0u); }
float kymo_float_of(uvec2 bits) { return uintBitsToFloat(bits.x); }

//# bits_int64_t
uvec2 kymo_bits(int64_t x) { return uvec2(uint(x), uint(x >> 32)); }
int64_t kymo_int64_t_of(uvec2 bits) { return int64_t(bits.y) << 32 | int64_t(bits.x); }

//# bits_uint64_t
uvec2 kymo_bits(uint64_t x) { return uvec2(uint(x), uint(x >> 32)); }
uint64_t kymo_uint64_t_of(uvec2 bits) { return uint64_t(bits.y) << 32 | uint64_t(bits.x); }

//# simd_reduce NAME TYPE COMBINED MISSING: simd, bits_TYPE
TYPE kymo_NAME_TYPE(TYPE a, TYPE b) { return COMBINED; }
TYPE kymo_NAME_TYPE_2(uint i) { return kymo_NAME_TYPE(kymo_TYPE_of(kymo_simd[i]), kymo_TYPE_of(kymo_simd[i + 16u])); }
TYPE kymo_NAME_TYPE_4(uint i) { return kymo_NAME_TYPE(kymo_NAME_TYPE_2(i), kymo_NAME_TYPE_2(i + 8u)); }
TYPE kymo_NAME_TYPE_8(uint i) { return kymo_NAME_TYPE(kymo_NAME_TYPE_4(i), kymo_NAME_TYPE_4(i + 4u)); }
TYPE kymo_NAME_TYPE_16(uint i) { return kymo_NAME_TYPE(kymo_NAME_TYPE_8(i), kymo_NAME_TYPE_8(i + 2u)); }
TYPE kymo_simd_NAME(TYPE value, bool takes_part) {
  kymo_simd_put(kymo_bits(takes_part ? value : MISSING), kymo_bits(MISSING));
  TYPE total = kymo_NAME_TYPE(kymo_NAME_TYPE_16(kymo_simd_first()), kymo_NAME_TYPE_16(kymo_simd_first() + 1u));
  barrier();
  return total;
}

//# simd_inclusive NAME TYPE OPERATOR MISSING: simd, bits_TYPE
TYPE kymo_simd_inclusive_NAME(TYPE value, bool takes_part) {
  kymo_simd_put(kymo_bits(takes_part ? value : MISSING), kymo_bits(MISSING));
  TYPE so_far = MISSING;
  for (uint i = kymo_simd_first(); i <= gl_LocalInvocationIndex; ++i)
    so_far = so_far OPERATOR kymo_TYPE_of(kymo_simd[i]);
  barrier();
  return so_far;
}

//# simd_exclusive NAME TYPE OPERATOR START: simd_active, bits_TYPE
TYPE kymo_simd_exclusive_NAME(TYPE value, bool takes_part) {
  kymo_simd_active[gl_LocalInvocationIndex] = uint(takes_part);
  kymo_simd_put(kymo_bits(value), uvec2(0u));
  TYPE so_far = START;
  bool is_first = true;
  for (uint i = kymo_simd_first(); i < gl_LocalInvocationIndex; ++i) {
    if (kymo_simd_active[i] == 0u) continue;
    TYPE one = kymo_TYPE_of(kymo_simd[i]);
    so_far = is_first ? one : so_far OPERATOR one;
    is_first = false;
  }
  barrier();
  return so_far;
}

//# simd_shuffle TYPE: simd_active, bits_TYPE
TYPE kymo_simd_shuffle(TYPE value, uint lane, bool takes_part) {
  kymo_simd_active[gl_LocalInvocationIndex] = uint(takes_part);
  kymo_simd_put(kymo_bits(value), uvec2(0u));
  uint from = kymo_simd_first() + lane;
  TYPE given = lane < kymo_simd_threads() && kymo_simd_active[from] != 0u ? kymo_TYPE_of(kymo_simd[from]) : value;
  barrier();
  return given;
}

//# simd_ballot: simd
uint kymo_simd_ballot(bool value, bool takes_part) {
  kymo_simd_put(uvec2(uint(value && takes_part), 0u), uvec2(0u));
  uint ballot = 0u;
  for (uint i = 0u; i < 32u; ++i) ballot |= kymo_simd[kymo_simd_first() + i].x << i;
  barrier();
  return ballot;
}

//# group_any
shared uint kymo_any;
bool kymo_group_any(bool value) {
  if (gl_LocalInvocationIndex == 0u) kymo_any = 0u;
  barrier();
  if (value) atomicOr(kymo_any, 1u);
  barrier();
  bool found = kymo_any != 0u;
  barrier();
  return found;
}
