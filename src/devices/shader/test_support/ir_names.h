// The names of the IR's elements, in print() and in messages: "simd_sum", "<<", "pointer_add".
#pragma once

#include <string_view>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

std::string_view intrinsic_name(Intrinsic);
std::string_view operator_name(Operator);
std::string_view kind_name(ExpressionKind);

}  // namespace kymo::shader::ir
