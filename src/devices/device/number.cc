#include "device/number.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/text.h"

namespace kymo::device {
namespace {

template <class T>
bool put(T value, void* to) {
  std::memcpy(to, &value, sizeof value);
  return true;
}

double as_double(const Number& number) {
  switch (number.kind) {
    case Number::Kind::Signed:
      return static_cast<double>(number.as_signed);
    case Number::Kind::Unsigned:
      return static_cast<double>(number.as_unsigned);
    case Number::Kind::Float:
      return number.as_double;
  }
  return 0;
}

template <class T>
bool put_integer(const Number& number, void* to) {
  using Limits = std::numeric_limits<T>;
  switch (number.kind) {
    case Number::Kind::Signed:
      return std::in_range<T>(number.as_signed) && put(static_cast<T>(number.as_signed), to);
    case Number::Kind::Unsigned:
      return std::in_range<T>(number.as_unsigned) && put(static_cast<T>(number.as_unsigned), to);
    case Number::Kind::Float: {
      const double value = number.as_double;
      // A double can represent 2^63 and 2^64, but not the integers just below them. So the upper bound is exclusive.
      const double above = std::ldexp(1.0, Limits::digits);
      if (!(value >= static_cast<double>(Limits::min()) && value < above) || std::trunc(value) != value) return false;
      return put(static_cast<T>(value), to);
    }
  }
  return false;
}

template <class T>
bool put_float(const Number& number, void* to) {
  const double value = as_double(number);
  const auto rounded = static_cast<float>(value);
  const T stored(rounded);
  if (std::isinf(static_cast<float>(stored)) && !std::isinf(value)) return false;
  return put(stored, to);
}

}  // namespace

Number Number::of(const KernelArgument& argument) {
  switch (argument.kind()) {
    case KernelArgument::Kind::Signed:
      return of(argument.as_signed());
    case KernelArgument::Kind::Unsigned:
      return of(argument.as_unsigned());
    default:
      return of(argument.as_double());
  }
}

Number Number::of(DType type, const void* list, size_t index) {
  const auto at = [&]<class T>(T) {
    T value;
    std::memcpy(&value, static_cast<const char*>(list) + index * sizeof(T), sizeof value);
    return value;
  };
  switch (type) {
    case DType::F16:
      return of(double{static_cast<float>(at(Half{}))});
    case DType::BF16:
      return of(double{static_cast<float>(at(BFloat16{}))});
    case DType::F32:
      return of(double{at(float{})});
    case DType::F64:
      return of(at(double{}));
    case DType::I8:
      return of(int64_t{at(int8_t{})});
    case DType::I16:
      return of(int64_t{at(int16_t{})});
    case DType::I32:
      return of(int64_t{at(int32_t{})});
    case DType::I64:
      return of(at(int64_t{}));
    case DType::U8:
    case DType::Bool:
      return of(uint64_t{at(uint8_t{})});
    case DType::U16:
      return of(uint64_t{at(uint16_t{})});
    case DType::U32:
      return of(uint64_t{at(uint32_t{})});
    case DType::U64:
      return of(at(uint64_t{}));
  }
  return {};
}

std::string Number::text() const {
  switch (kind) {
    case Kind::Signed:
      return std::to_string(as_signed);
    case Kind::Unsigned:
      return std::to_string(as_unsigned);
    case Kind::Float:
      return base::format("{}", as_double);
  }
  return "";
}

bool store_number(const Number& number, DType type, void* to) {
  switch (type) {
    case DType::F16:
      return put_float<Half>(number, to);
    case DType::BF16:
      return put_float<BFloat16>(number, to);
    case DType::F32:
      return put_float<float>(number, to);
    case DType::F64:
      return put(as_double(number), to);
    case DType::I8:
      return put_integer<int8_t>(number, to);
    case DType::U8:
      return put_integer<uint8_t>(number, to);
    case DType::I16:
      return put_integer<int16_t>(number, to);
    case DType::U16:
      return put_integer<uint16_t>(number, to);
    case DType::I32:
      return put_integer<int32_t>(number, to);
    case DType::U32:
      return put_integer<uint32_t>(number, to);
    case DType::I64:
      return put_integer<int64_t>(number, to);
    case DType::U64:
      return put_integer<uint64_t>(number, to);
    case DType::Bool:
      return put(static_cast<uint8_t>(as_double(number) != 0), to);
  }
  return false;
}

}  // namespace kymo::device
