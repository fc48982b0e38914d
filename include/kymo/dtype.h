// The element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "kymo/export.h"

namespace kymo::device {

enum class DType : uint8_t { F16 = 1, BF16, F32, F64, I8, U8, I16, U16, I32, U32, I64, U64, Bool };

constexpr size_t size_of(DType type) {
  switch (type) {
    case DType::I8:
    case DType::U8:
    case DType::Bool:
      return 1;
    case DType::F16:
    case DType::BF16:
    case DType::I16:
    case DType::U16:
      return 2;
    case DType::F32:
    case DType::I32:
    case DType::U32:
      return 4;
    case DType::F64:
    case DType::I64:
    case DType::U64:
      return 8;
  }
  return 0;
}

constexpr bool is_floating(DType type) { return type <= DType::F64; }
constexpr bool is_signed(DType type) {
  return is_floating(type) || type == DType::I8 || type == DType::I16 || type == DType::I32 || type == DType::I64;
}
KYMO_API std::string_view name_of(DType type);  // "f32", …

// A 16-bit float as it is stored. Do arithmetic in float. Conversions round to nearest even.
class Half {
 public:
  Half() = default;
  explicit Half(float value) : bits_(encode(value)) {}
  explicit operator float() const { return decode(bits_); }
  static Half from_bits(uint16_t bits) {
    Half half;
    half.bits_ = bits;
    return half;
  }
  uint16_t bits() const { return bits_; }
  bool operator==(const Half&) const = default;  // compares the bits

 private:
  static KYMO_API uint16_t encode(float value);
  static KYMO_API float decode(uint16_t bits);
  uint16_t bits_ = 0;
};

// The upper 16 bits of a float. The rules of Half apply.
class BFloat16 {
 public:
  BFloat16() = default;
  explicit BFloat16(float value) : bits_(encode(value)) {}
  explicit operator float() const {
    const uint32_t wide = uint32_t{bits_} << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  static BFloat16 from_bits(uint16_t bits) {
    BFloat16 value;
    value.bits_ = bits;
    return value;
  }
  uint16_t bits() const { return bits_; }
  bool operator==(const BFloat16&) const = default;  // compares the bits

 private:
  static KYMO_API uint16_t encode(float value);
  uint16_t bits_ = 0;
};

// The dtype of a C++ type.
template <class T>
constexpr DType dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, Half>)
    return DType::F16;
  else if constexpr (std::is_same_v<U, BFloat16>)
    return DType::BF16;
  else if constexpr (std::is_same_v<U, bool>)
    return DType::Bool;
  else if constexpr (std::is_same_v<U, float>)
    return DType::F32;
  else if constexpr (std::is_same_v<U, double>)
    return DType::F64;
  else {
    static_assert(std::is_integral_v<U>,
                  "a tensor's elements are numbers: float, double, Half, BFloat16, integers, bool");
    constexpr DType kSigned[] = {DType::I8, DType::I16, DType::I32, DType::I64};
    constexpr DType kUnsigned[] = {DType::U8, DType::U16, DType::U32, DType::U64};
    constexpr int kIndex = sizeof(U) == 1 ? 0 : sizeof(U) == 2 ? 1 : sizeof(U) == 4 ? 2 : 3;
    return std::is_signed_v<U> ? kSigned[kIndex] : kUnsigned[kIndex];
  }
}

}  // namespace kymo::device
