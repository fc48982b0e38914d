// The checks of verify() for intrinsics: which operands each takes.
#pragma once

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// Returns an empty text, or what is wrong with this intrinsic.
const char* intrinsic_fault(const Expression& expression);

}  // namespace kymo::shader::ir
