#include "inject/nvtx/numbers.h"

#include <string.h>

#include <bit>
#include <cmath>

#include "inject/nvtx/payload_abi.h"

namespace kymo::inject::nvtx {
namespace {

template <class T>
T load(const uint8_t* bytes) noexcept {
  T value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

double half(uint16_t bits) noexcept {
  const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  double value;
  if (exponent == 0)
    value = std::ldexp(fraction, -24);
  else if (exponent == 31)
    value = fraction == 0 ? HUGE_VAL : static_cast<double>(NAN);
  else
    value = std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

double real(uint64_t type, const uint8_t* bytes) noexcept {
  switch (type) {
    case kTypeFloat:
    case kTypeFloat32:
    case kTypeTf32:
      return load<float>(bytes);
    case kTypeLongDouble:
      return static_cast<double>(load<long double>(bytes));
    case kTypeFloat16:
      return half(load<uint16_t>(bytes));
    case kTypeBfloat16:
      return std::bit_cast<float>(uint32_t{load<uint16_t>(bytes)} << 16);
    default:
      return load<double>(bytes);
  }
}

}  // namespace

size_t number_size(uint64_t type) noexcept {
  switch (type) {
    case kTypeChar:
    case kTypeUchar:
    case kTypeInt8:
    case kTypeUint8:
    case kTypeChar8:
    case kTypeByte:
      return 1;
    case kTypeShort:
    case kTypeUshort:
    case kTypeInt16:
    case kTypeUint16:
    case kTypeChar16:
    case kTypeFloat16:
    case kTypeBfloat16:
      return 2;
    case kTypeInt:
    case kTypeUint:
    case kTypeInt32:
    case kTypeUint32:
    case kTypeFloat:
    case kTypeFloat32:
    case kTypeTf32:
    case kTypeWchar:
    case kTypeChar32:
    case kTypeCategory:
    case kTypeColour:
    case kTypePid32:
    case kTypeTid32:
    case kTypeSelector:
      return 4;
    case kTypeLong:
    case kTypeUlong:
    case kTypeLongLong:
    case kTypeUlongLong:
    case kTypeInt64:
    case kTypeUint64:
    case kTypeDouble:
    case kTypeFloat64:
    case kTypeSize:
    case kTypeAddress:
    case kTypeScope:
    case kTypePid64:
    case kTypeTid64:
      return 8;
    case kTypeInt128:
    case kTypeUint128:
      return 16;
    case kTypeLongDouble:
      return sizeof(long double);
    default:
      return 0;
  }
}

NumberKind number_kind(uint64_t type) noexcept {
  switch (type) {
    case kTypeChar:
    case kTypeShort:
    case kTypeInt:
    case kTypeLong:
    case kTypeLongLong:
    case kTypeInt8:
    case kTypeInt16:
    case kTypeInt32:
    case kTypeInt64:
    case kTypeInt128:
      return NumberKind::Signed;
    case kTypeFloat:
    case kTypeDouble:
    case kTypeLongDouble:
    case kTypeFloat16:
    case kTypeFloat32:
    case kTypeFloat64:
    case kTypeBfloat16:
    case kTypeTf32:
      return NumberKind::Real;
    case kTypeAddress:
      return NumberKind::Pointer;
    default:
      return number_size(type) != 0 ? NumberKind::Unsigned : NumberKind::None;
  }
}

uint64_t number_bits(uint64_t type, const uint8_t* bytes) noexcept {
  const NumberKind kind = number_kind(type);
  if (kind == NumberKind::Real) return std::bit_cast<uint64_t>(real(type, bytes));
  const bool is_signed = kind == NumberKind::Signed;
  switch (number_size(type)) {
    case 1:
      return is_signed ? static_cast<uint64_t>(int64_t{load<int8_t>(bytes)}) : load<uint8_t>(bytes);
    case 2:
      return is_signed ? static_cast<uint64_t>(int64_t{load<int16_t>(bytes)}) : load<uint16_t>(bytes);
    case 4:
      return is_signed ? static_cast<uint64_t>(int64_t{load<int32_t>(bytes)}) : load<uint32_t>(bytes);
    case 8:
    case 16:
      return load<uint64_t>(bytes);
    default:
      return 0;
  }
}

bool is_string(uint64_t type) noexcept { return type >= kTypeString && type <= kTypeUtf32; }

bool is_character(uint64_t type) noexcept {
  return type == kTypeChar || (type >= kTypeWchar && type <= kTypeChar32) || is_string(type);
}

size_t character_size(uint64_t type) noexcept {
  if (type == kTypeUtf16) return 2;
  if (type == kTypeUtf32) return 4;
  return is_string(type) ? 1 : number_size(type);
}

}  // namespace kymo::inject::nvtx
