// What the name of a C++ type says about a kernel's parameter: `float4` takes four f32, `const __half*` a buffer of
// f16.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kymo/dtype.h"

namespace kymo::device::cuda {

struct NamedType {
  bool pointer = false;
  std::optional<DType> element;  // of the value, or of the pointee; empty for a structure, void or a pointer
  uint32_t count = 1;            // number of components of a vector
};

// Other names that the source gives to types: typedef, using, #define.
using Aliases = std::map<std::string, std::string, std::less<>>;

// Understands the output of __cxa_demangle and hand-written code: qualifiers, `unsigned`, size_t, uint8_t, half,
// float4, ….
NamedType type_named(std::string_view text, const Aliases& aliases);

// A word before a type that does not change the type: const, struct, __restrict__, …
bool is_qualifier(std::string_view word);

}  // namespace kymo::device::cuda
