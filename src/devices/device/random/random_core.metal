// Random numbers from words: pure functions in the common subset of Metal and C++. The kernels (random.metal) use them
// on every device, and the tests compile them for the host (test_values.h), so that all give the same bits. Only
// integers, float additions and multiplications that are rounded one by one, comparisons, and conversions of integers to
// the nearest float. No division, no fused operation, no function of a mathematical library; and no subnormal float,
// which some devices flush, as long as the numbers asked for are none.
//
// A block is four words, made from a seed and the block's number. The functions named ..._values turn a block into the
// elements it is for, each in a word of its own or, 8-byte elements, in two with the lower half first. x, y, z are the
// parameters that fill.cc makes; what they hold is said at each.

// ---- Philox4x32-10 -------------------------------------------------------------------------------------------------

// Two products of 32 bits each: written as one of 64 bits, compilers make the whole round 64 bits wide. The rounds are
// not a loop: PoCL would not vectorise the loop around it, and take twice the time.
#define KYMO_PHILOX_ROUND         \
  high0 = mulhi(0xD2511F53u, c0); \
  low0 = 0xD2511F53u * c0;        \
  high1 = mulhi(0xCD9E8D57u, c2); \
  low1 = 0xCD9E8D57u * c2;        \
  c0 = high1 ^ c1 ^ k0;           \
  c1 = low1;                      \
  c2 = high0 ^ c3 ^ k1;           \
  c3 = low0;                      \
  k0 += 0x9E3779B9u;              \
  k1 += 0xBB67AE85u;

inline uint4 kymo_philox(uint c0, uint c1, uint c2, uint c3, uint k0, uint k1) {
  uint high0, low0, high1, low1;
  KYMO_PHILOX_ROUND KYMO_PHILOX_ROUND KYMO_PHILOX_ROUND KYMO_PHILOX_ROUND KYMO_PHILOX_ROUND
  KYMO_PHILOX_ROUND KYMO_PHILOX_ROUND KYMO_PHILOX_ROUND KYMO_PHILOX_ROUND KYMO_PHILOX_ROUND
  return uint4(c0, c1, c2, c3);
}

inline uint kymo_low(ulong value) { return uint(value); }
inline uint kymo_high(ulong value) { return uint(value >> 32); }
inline ulong kymo_join(uint high, uint low) { return (ulong(high) << 32) | low; }

// All 64 bits of a product. In pairs of words, as everything here: not all devices multiply 64-bit integers well.
inline ulong kymo_product(uint a, uint b) { return kymo_join(mulhi(a, b), a * b); }

inline uint4 kymo_block(ulong seed, ulong number) {
  return kymo_philox(kymo_low(number), kymo_high(number), 0u, 0u, kymo_low(seed), kymo_high(seed));
}

// ---- Uniform -------------------------------------------------------------------------------------------------------

// The top 24 bits times 2^-24: every multiple of 2^-24 in [0, 1) alike, exactly.
inline float kymo_uniform(uint word) { return float(word >> 8) * as_type<float>(0x33800000u); }

// from + range * u, and never more than `last`: rounding would reach the excluded end once in a while.
inline uint kymo_uniform_between(uint word, float from, float range, float last) {
  float value = range * kymo_uniform(word) + from;
  value = value < last ? value : last;
  return as_type<uint>(value);
}

// x: from, and above it range; y: the last value before `to`. Floats, as bits. For f16 and bf16 all three but the range
// are values of that type, so that rounding what comes out stays between them.
inline uint4 kymo_uniform_values(uint4 words, ulong x, ulong y) {
  float from = as_type<float>(kymo_low(x));
  float range = as_type<float>(kymo_high(x));
  float last = as_type<float>(kymo_low(y));
  return uint4(kymo_uniform_between(words.x, from, range, last), kymo_uniform_between(words.y, from, range, last),
                    kymo_uniform_between(words.z, from, range, last), kymo_uniform_between(words.w, from, range, last));
}

// ---- Normal --------------------------------------------------------------------------------------------------------
//
// The inverse of the distribution, by a table of cubics: make_normal_table.py says how. The sign is bit 31, the other
// 31 bits say how far out: 0 is the farthest, at 6.337, and all ones are the centre. The kernel keeps the table in
// group memory, so it fetches the row:
//
//   uint key = kymo_normal_key(word);
//   kymo_normal(word, key, TABLE[kymo_normal_row(key)], mean, deviation)

inline uint kymo_normal_key(uint word) {
  float magnitude = float((word << 1) | 1u);
  return as_type<uint>(magnitude);
}

// The exponent, from 0, and three bits of the mantissa: 0 to 256.
inline uint kymo_normal_row(uint key) { return (key >> 20) - (127u << 3); }

// The bits of mean + deviation * z.
inline uint kymo_normal(uint word, uint key, uint4 row, float mean, float deviation) {
  float t = as_type<float>((key & 0x000FFFFFu) | 0x3F800000u) - 1.0625f;
  float z = as_type<float>(row.w) * t + as_type<float>(row.z);
  z = z * t + as_type<float>(row.y);
  z = z * t + as_type<float>(row.x);
  z = as_type<float>(as_type<uint>(z) ^ (word & 0x80000000u));
  float value = deviation * z + mean;
  return as_type<uint>(value);
}

// x: the mean, and above it the deviation, floats as bits.
inline float kymo_normal_mean(ulong x) { return as_type<float>(kymo_low(x)); }
inline float kymo_normal_deviation(ulong x) { return as_type<float>(kymo_high(x)); }

// ---- Rounding to 16 bits -------------------------------------------------------------------------------------------

// A float's bits to those of the nearest f16, ties to even; too large: infinity. Not for NaN.
inline uint kymo_half(uint bits) {
  uint sign = (bits >> 16) & 0x8000u;
  uint size = bits & 0x7FFFFFFFu;
  if (size >= 0x47800000u) return sign | 0x7C00u;
  if (size >= 0x38800000u) {  // an exponent that f16 has
    uint moved = size - 0x38000000u;
    return sign | ((moved + 0x0FFFu + ((moved >> 13) & 1u)) >> 13);
  }
  uint shift = 126u - (size >> 23);  // a subnormal f16: multiples of 2^-24
  if (shift > 24u) return sign;
  uint mantissa = (size & 0x007FFFFFu) | 0x00800000u;
  uint kept = mantissa >> shift;
  return sign | ((mantissa + (1u << (shift - 1u)) - 1u + (kept & 1u)) >> shift);
}

inline uint kymo_bfloat(uint bits) { return (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16; }

inline uint4 kymo_half_values(uint4 v) {
  return uint4(kymo_half(v.x), kymo_half(v.y), kymo_half(v.z), kymo_half(v.w));
}
inline uint4 kymo_bfloat_values(uint4 v) {
  return uint4(kymo_bfloat(v.x), kymo_bfloat(v.y), kymo_bfloat(v.z), kymo_bfloat(v.w));
}

// ---- Integers ------------------------------------------------------------------------------------------------------

// word mod range, range 0 standing for 2^32, without a division: reciprocal is (2^32 - 1) / range rounded down, or 0.
// The quotient so estimated is at most one too small.
inline uint kymo_remainder(uint word, uint range, uint reciprocal) {
  uint quotient = kymo_high(kymo_product(word, reciprocal));
  uint rest = word - quotient * range;
  return rest >= range ? rest - range : rest;
}

// x: low, a two's complement; y: range, and above it its reciprocal. The sums' lower bytes are the narrower elements.
inline uint4 kymo_integer_values(uint4 words, ulong x, ulong y) {
  uint low = kymo_low(x), range = kymo_low(y), reciprocal = kymo_high(y);
  return uint4(
      low + kymo_remainder(words.x, range, reciprocal), low + kymo_remainder(words.y, range, reciprocal),
      low + kymo_remainder(words.z, range, reciprocal), low + kymo_remainder(words.w, range, reciprocal));
}

// The same integers, as bits of floats.
inline uint kymo_float_of_integer(uint value) {
  float converted = float(int(value));
  return as_type<uint>(converted);
}
inline uint4 kymo_float_integer_values(uint4 words, ulong x, ulong y) {
  uint4 v = kymo_integer_values(words, x, y);
  return uint4(kymo_float_of_integer(v.x), kymo_float_of_integer(v.y), kymo_float_of_integer(v.z),
                    kymo_float_of_integer(v.w));
}

// The two halves of a product of 64-bit integers.
inline ulong kymo_wide_product_high(ulong a, ulong b) {
  ulong middle = kymo_product(kymo_high(a), kymo_low(b)) + (kymo_product(kymo_low(a), kymo_low(b)) >> 32);
  ulong other = kymo_product(kymo_low(a), kymo_high(b)) + ulong(kymo_low(middle));
  return kymo_product(kymo_high(a), kymo_high(b)) + (middle >> 32) + (other >> 32);
}
inline ulong kymo_wide_product_low(ulong a, ulong b) {
  uint crossed = kymo_high(a) * kymo_low(b) + kymo_low(a) * kymo_high(b);
  return kymo_product(kymo_low(a), kymo_low(b)) + kymo_join(crossed, 0u);
}

inline ulong kymo_wide_remainder(ulong word, ulong range, ulong reciprocal) {
  ulong rest = word - kymo_wide_product_low(kymo_wide_product_high(word, reciprocal), range);
  return rest >= range ? rest - range : rest;
}

// Two 8-byte integers of a block. x: low; y: range, 0 for 2^64; z: (2^64 - 1) / range rounded down, or 0.
inline uint4 kymo_wide_integer_values(uint4 words, ulong x, ulong y, ulong z) {
  ulong first = x + kymo_wide_remainder(kymo_join(words.x, words.y), y, z);
  ulong second = x + kymo_wide_remainder(kymo_join(words.z, words.w), y, z);
  return uint4(kymo_low(first), kymo_high(first), kymo_low(second), kymo_high(second));
}

// ---- Bernoulli -----------------------------------------------------------------------------------------------------

// u < p, where both sides are multiplied by 2^24. x: p times 2^24 rounded up; y: the element that stands for one.
inline uint4 kymo_bernoulli_values(uint4 words, ulong x, ulong y) {
  uint below = kymo_low(x), one = kymo_low(y);
  return uint4((words.x >> 8) < below ? one : 0u, (words.y >> 8) < below ? one : 0u,
                    (words.z >> 8) < below ? one : 0u, (words.w >> 8) < below ? one : 0u);
}

// Two 8-byte elements of a block, each by the first of its two words.
inline uint4 kymo_wide_bernoulli_values(uint4 words, ulong x, ulong y) {
  uint below = kymo_low(x), low = kymo_low(y), high = kymo_high(y);
  bool first = (words.x >> 8) < below;
  bool second = (words.z >> 8) < below;
  return uint4(first ? low : 0u, first ? high : 0u, second ? low : 0u, second ? high : 0u);
}
