#include "kymo/dtype.h"

#include <bit>
#include <cmath>

namespace kymo::device {

std::string_view name_of(DType type) {
  switch (type) {
    case DType::F16:
      return "f16";
    case DType::BF16:
      return "bf16";
    case DType::F32:
      return "f32";
    case DType::F64:
      return "f64";
    case DType::I8:
      return "i8";
    case DType::U8:
      return "u8";
    case DType::I16:
      return "i16";
    case DType::U16:
      return "u16";
    case DType::I32:
      return "i32";
    case DType::U32:
      return "u32";
    case DType::I64:
      return "i64";
    case DType::U64:
      return "u64";
    case DType::Bool:
      return "bool";
  }
  return "?";
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
