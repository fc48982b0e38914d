// A copy of a function, with its own statements and variables.
#pragma once

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// Not in a list yet. Not for kernels with bindings.
Function& clone_function(Module& module, const Function& function, std::string name);

}  // namespace kymo::shader::ir
