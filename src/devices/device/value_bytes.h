// Converts numbers that a caller passed to the bytes of a kernel's parameter. Pure functions.
//
// They return an error text such as "300 does not fit u8", or an empty text on success.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/backend.h"
#include "kymo/dtype.h"
#include "kymo/shader.h"

namespace kymo::device {

// Calls `use` with a value of the C++ type of a dtype: a byte for a bool.
template <class Use>
auto with_type(DType type, Use use) {
  switch (type) {
    case DType::F16:
      return use(Half{});
    case DType::BF16:
      return use(BFloat16{});
    case DType::F32:
      return use(float{});
    case DType::F64:
      return use(double{});
    case DType::I8:
      return use(int8_t{});
    case DType::I16:
      return use(int16_t{});
    case DType::I32:
      return use(int32_t{});
    case DType::I64:
      return use(int64_t{});
    case DType::U16:
      return use(uint16_t{});
    case DType::U32:
      return use(uint32_t{});
    case DType::U64:
      return use(uint64_t{});
    case DType::U8:
    case DType::Bool:
      break;
  }
  return use(uint8_t{});
}

// A number as the caller passed it.
struct Number {
  enum class Kind : uint8_t { Signed, Unsigned, Float } kind = Kind::Signed;
  int64_t as_signed = 0;
  uint64_t as_unsigned = 0;
  double as_double = 0;

  static Number of(int64_t value) { return {Kind::Signed, value, 0, 0}; }
  static Number of(uint64_t value) { return {Kind::Unsigned, 0, value, 0}; }
  static Number of(double value) { return {Kind::Float, 0, 0, value}; }
  static Number of(const KernelArgument& argument);              // a scalar
  static Number of(DType type, const void* list, size_t index);  // an element of a list
  std::string text() const;
};

// Stores it as `type`, size_of(type) bytes. False: the type cannot hold it (300 as u8, 2.5 as i32, -1 as u32). Floats
// are rounded to the precision of the type. The result is infinite only if the number was infinite: a number that is
// too large is refused.
bool store_number(const Number& number, DType type, void* to);

bool is_number(const KernelArgument& given);
std::string_view noun(const KernelArgument& given);  // "a tensor", "a list of numbers", …
std::string type_text(const Parameter& parameter);   // "f32", "4 of f32", "24 bytes"

// The position of number `index` in a value. A vector of three takes the space of four, also in an array.
size_t place_in_value(const Parameter& parameter, size_t index);

// One number, or a list that fills the value. `to` has the bytes of the value, all 0. If reflection does not know the
// type, the argument is taken unchanged, if it has the right size.
[[nodiscard]] std::string store_value(const KernelArgument& given, const Parameter& parameter, std::byte* to);

// A list for a buffer, or one number. Each element gets the type that the kernel declares; if the kernel does not
// declare one, it keeps its type. Bytes are copied unchanged, if they are whole elements.
[[nodiscard]] std::string store_elements(const KernelArgument& given, const Parameter& parameter,
                                         std::vector<std::byte>& to);

}  // namespace kymo::device
