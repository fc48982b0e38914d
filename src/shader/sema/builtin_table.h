// The functions of Metal's library that cannot be written in Metal, or that bring their arguments to one type first.
#pragma once

#include "shader/sema/sema.h"

namespace kymo::shader {

enum class BuiltinKind : uint8_t {
  Float,           // an intrinsic of floats, componentwise
  FloatOrLibrary,  // the same, but on Vulkan, whose own are not exact enough, the library's by components
  FloatTest,       // floats to bools
  Abs,
  MinMax,
  Bits,  // of integers
  Any,   // of bool vectors
  Select,
  Library,       // metal::kymo_NAME for whole values of one type
  FloatLibrary,  // the same, integers becoming floats
  Components,    // metal::kymo_NAME(float…), component by component
  Atomic,
  Barrier,
  Simd,
  Lane,
  Trait,
};

struct Meaning::BuiltinRow {
  std::string_view name;
  BuiltinKind kind = BuiltinKind::Float;
  uint8_t least = 1, most = 1;  // arguments
  ir::Intrinsic intrinsic = ir::Intrinsic::Abs;
};

}  // namespace kymo::shader
