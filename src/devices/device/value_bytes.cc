#include "device/value_bytes.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
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
  return with_type(type, [&]<class T>(T value) {
    std::memcpy(&value, static_cast<const char*>(list) + index * sizeof(T), sizeof value);
    if constexpr (std::is_same_v<T, double>)
      return of(value);
    else if constexpr (std::is_integral_v<T>)
      return of(std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>{value});
    else
      return of(double{static_cast<float>(value)});
  });
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
  if (type == DType::Bool) return put(static_cast<uint8_t>(as_double(number) != 0), to);
  return with_type(type, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, double>)
      return put(as_double(number), to);
    else if constexpr (std::is_integral_v<T>)
      return put_integer<T>(number, to);
    else
      return put_float<T>(number, to);
  });
}

namespace {

std::string does_not_fit(const Number& number, DType type) {
  return base::format("{} does not fit {}", number.text(), name_of(type));
}

// In a vector of three, or an array of them, every fourth number is unused.
bool has_gaps(const Parameter& parameter) {
  return parameter.type && parameter.count % 3 == 0 &&
         parameter.bytes == parameter.count / 3 * 4 * size_of(*parameter.type);
}

std::string type_or_bytes(const Parameter& parameter) {
  if (!parameter.type) return type_text(parameter);
  return base::format("{} or {} bytes", type_text(parameter), parameter.bytes);
}

// The bytes of whole elements, unchanged.
std::string copy_elements(const KernelArgument& given, const Parameter& parameter, std::vector<std::byte>& to) {
  const size_t number = parameter.type ? size_of(*parameter.type) : 1;
  const size_t element = parameter.bytes != 0 ? parameter.bytes : number;
  const size_t size = given.list_size();
  if (size % element != 0)
    return base::format("one element has {} bytes, and {} bytes do not make whole elements", element, size);
  const auto* const begin = static_cast<const std::byte*>(given.list());
  to.assign(begin, begin + size);
  return {};
}

}  // namespace

bool is_number(const KernelArgument& given) {
  return given.kind() == KernelArgument::Kind::Signed || given.kind() == KernelArgument::Kind::Unsigned ||
         given.kind() == KernelArgument::Kind::Float;
}

std::string_view noun(const KernelArgument& given) {
  switch (given.kind()) {
    case KernelArgument::Kind::Tensor:
      return "a tensor";
    case KernelArgument::Kind::List:
      return "a list of numbers";
    case KernelArgument::Kind::Tensors:
      return "a list of tensors";
    case KernelArgument::Kind::Bytes:
      return "bytes";
    default:
      return "a number";
  }
}

std::string type_text(const Parameter& parameter) {
  if (parameter.is_addresses) return base::format("{} tensors", parameter.count);
  if (!parameter.type) return base::format("{} bytes", parameter.bytes);
  if (parameter.count == 1) return std::string(name_of(*parameter.type));
  return base::format("{} of {}", parameter.count, name_of(*parameter.type));
}

size_t place_in_value(const Parameter& parameter, size_t index) {
  const size_t size = parameter.type ? size_of(*parameter.type) : 1;
  return (has_gaps(parameter) ? index / 3 * 4 + index % 3 : index) * size;
}

std::string store_value(const KernelArgument& given, const Parameter& parameter, std::byte* to) {
  if (is_number(given)) {
    if (!parameter.type || parameter.count != 1)
      return base::format("it takes {}, and was given one number", type_text(parameter));
    const Number number = Number::of(given);
    const bool fits = store_number(number, *parameter.type, to) ||
                      (parameter.kind == ParameterKind::Word && store_number(number, DType::I64, to));
    return fits ? "" : does_not_fit(number, *parameter.type);
  }
  const size_t count = given.list_size();
  if (given.kind() == KernelArgument::Kind::Bytes) {
    if (count != parameter.bytes)
      return base::format("it takes {}, and was given {} bytes", type_or_bytes(parameter), count);
    std::memcpy(to, given.list(), count);
    return {};
  }
  const DType type = parameter.type.value_or(given.list_type());
  const bool fills = parameter.type ? count == parameter.count : count * size_of(type) == parameter.bytes;
  if (!fills && given.list_type() == DType::U8 && count == parameter.bytes) {
    std::memcpy(to, given.list(), count);  // the bytes of the value, with its gaps
    return {};
  }
  if (!fills)
    return base::format("it takes {}, and was given a list of {} {}, {} bytes", type_or_bytes(parameter), count,
                        name_of(given.list_type()), count * size_of(given.list_type()));
  for (size_t i = 0; i < count; ++i) {
    const Number number = Number::of(given.list_type(), given.list(), i);
    const size_t place = parameter.type ? place_in_value(parameter, i) : i * size_of(type);
    if (!store_number(number, type, to + place)) return does_not_fit(number, type);
  }
  return {};
}

std::string store_elements(const KernelArgument& given, const Parameter& parameter, std::vector<std::byte>& to) {
  if (given.kind() == KernelArgument::Kind::Bytes) return copy_elements(given, parameter, to);
  const bool alone = is_number(given);
  const size_t count = alone ? 1 : given.list_size();
  const DType type = parameter.type.value_or(alone ? DType::F32 : given.list_type());
  const size_t each = parameter.type ? parameter.count : 1;
  const size_t stride = each > 1 ? parameter.bytes : size_of(type);
  if (count % each != 0)
    return base::format("one element is {}, and {} numbers do not make whole elements", type_text(parameter), count);
  to.assign(count / each * stride, std::byte{0});
  for (size_t i = 0; i < count; ++i) {
    const Number number = alone ? Number::of(given) : Number::of(given.list_type(), given.list(), i);
    const size_t place = i / each * stride + (each > 1 ? place_in_value(parameter, i % each) : 0);
    if (!store_number(number, type, to.data() + place)) return does_not_fit(number, type);
  }
  return {};
}

}  // namespace kymo::device
