// The types that have a name in the language itself: numbers, vectors, atomics.
#pragma once

#include <string_view>

#include "shader/types/type.h"

namespace kymo::shader {

const Type* builtin_type(TypeTable& table, std::string_view name);  // "float4", "packed_half3"…; null: none

}  // namespace kymo::shader
