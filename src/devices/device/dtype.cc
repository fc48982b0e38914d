#include "kymo/dtype.h"

#include <bit>
#include <cmath>
#include <iterator>

namespace kymo::device {

std::string_view name_of(DType type) {
  // By the order of the enumeration, whose first number is 1.
  constexpr std::string_view kNames[] = {"?",   "f16", "bf16", "f32", "f64", "i8",  "u8",
                                         "i16", "u16", "i32",  "u32", "i64", "u64", "bool"};
  static_assert(std::size(kNames) == static_cast<size_t>(DType::Bool) + 1);
  const auto number = static_cast<size_t>(type);
  return kNames[number < std::size(kNames) ? number : 0];
}

uint16_t Half::encode(float value) {
  constexpr uint32_t kInfinity = 0x7f800000;
  constexpr uint32_t kTooLarge = 0x477ff000;        // 65520: the nearest half of this and of larger numbers is infinity
  constexpr uint32_t kSmallestNormal = 0x38800000;  // 2^-14
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kInfinity) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= kTooLarge) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < kSmallestNormal) {
    // In units of the smallest subnormal, 2^-24, rounding to an integer gives the right result.
    const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(std::bit_cast<float>(magnitude), 24)));
    return static_cast<uint16_t>(sign | units);
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

float Half::decode(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0)
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(std::ldexp(static_cast<float>(fraction), -24)));
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t BFloat16::encode(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);  // a NaN stays a NaN
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace kymo::device
