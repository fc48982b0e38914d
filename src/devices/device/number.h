// Converts numbers to the bytes of a dtype.
#pragma once

#include <cstdint>
#include <string>

#include "kymo/dtype.h"
#include "kymo/shader.h"

namespace kymo::device {

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

}  // namespace kymo::device
