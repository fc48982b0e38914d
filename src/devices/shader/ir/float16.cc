#include "shader/ir/float16.h"

#include <bit>

namespace kymo::shader {
namespace {

constexpr uint32_t kFloatInfinity = 0x7f800000;

// `value` without its last `dropped` bits, rounded to nearest, ties to even.
uint32_t float16_shifted(uint32_t value, uint32_t dropped) {
  const uint32_t half = uint32_t{1} << (dropped - 1);
  const uint32_t odd = value >> dropped & 1;
  return (value + half - 1 + odd) >> dropped;
}

}  // namespace

uint16_t half_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kFloatInfinity) return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7c00);  // 65536 and more
  // A carry of the rounding goes into the exponent, and from the largest number to infinity, as it shall.
  if (magnitude >= 0x38800000) return static_cast<uint16_t>(sign | float16_shifted(magnitude - 0x38000000, 13));
  const uint32_t exponent = magnitude >> 23;
  if (exponent < 102) return static_cast<uint16_t>(sign);  // less than half of the smallest subnormal, 2^-24
  const uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
  return static_cast<uint16_t>(sign | float16_shifted(mantissa, 126 - exponent));
}

float half_from_bits(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 0x1f;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | kFloatInfinity | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

uint16_t bfloat_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > kFloatInfinity) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>(float16_shifted(bits, 16));
}

float bfloat_from_bits(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

float round_to_half(float value) { return half_from_bits(half_bits(value)); }
float round_to_bfloat(float value) { return bfloat_from_bits(bfloat_bits(value)); }

}  // namespace kymo::shader
