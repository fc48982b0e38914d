// The checks of verify() for single expressions: whether operands and types match, by the conventions of ir.h.
// verify_ir.cc checks scopes and statements.
#pragma once

#include <string_view>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// Whether a value of type `from` may be passed for type `to`: the same type, or pointers that differ only in const.
bool is_given(const Type* to, const Type* from);

// Checks only this expression, with correct operands: returns an empty text, or what is wrong with it.
std::string_view expression_fault(const Expression& expression);

}  // namespace kymo::shader::ir
