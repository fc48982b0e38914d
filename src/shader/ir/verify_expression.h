// What verify() knows of single expressions: whether operands and types fit, by the conventions of ir.h. Scopes and
// statements are verify.cc's.
#pragma once

#include <string_view>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// Whether a value of type `from` may be given to what has type `to`: the same, or pointers that differ in const alone.
bool is_given(const Type* to, const Type* from);

// This expression alone, its operands being right: an empty text, or what is wrong with it.
std::string_view expression_fault(const Expression& expression);

}  // namespace kymo::shader::ir
