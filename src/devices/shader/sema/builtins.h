// What the language itself names: types (numbers, vectors, atomics), and the functions of Metal's library that cannot
// be written in Metal, or that first convert their arguments to one type.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "shader/ir/ir.h"
#include "shader/types/type.h"

namespace kymo::shader {

enum class BuiltinKind : uint8_t {
  Float,           // an intrinsic of floats, componentwise
  FloatOrLibrary,  // the same; but on Vulkan, whose functions are not exact enough, the library's, by component
  FloatTest,       // floats to bools
  Abs,
  MinMax,
  Bits,  // of integers
  Any,   // of bool vectors
  Select,
  Library,       // metal::kymo_NAME for whole values of one type
  FloatLibrary,  // the same, with integers converted to floats
  Components,    // metal::kymo_NAME(float…), component by component
  Atomic,
  Barrier,
  Simd,
  Lane,
  Matrix,      // a product by the matrix unit of the target
  MatrixUnit,  // whether there is one
  Trait,
};

struct BuiltinRow {
  std::string_view name;
  BuiltinKind kind = BuiltinKind::Float;
  uint8_t min_arguments = 1, max_arguments = 1;
  ir::Intrinsic intrinsic = ir::Intrinsic::Abs;
};

std::span<const BuiltinRow> builtin_rows();
// Also with _explicit after the name of an atomic, and with __metal_ before any name. Null: there is no such builtin.
const BuiltinRow* builtin_row(std::string_view name);
bool is_builtin(std::string_view name);

// The types that have a name in the language itself: numbers, vectors, atomics.

const Type* builtin_type(TypeTable& table, std::string_view name);  // "float4", "packed_half3"…; null: none

}  // namespace kymo::shader
