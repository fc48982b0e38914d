// A function once more, with statements and variables of its own.
#pragma once

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// In no list yet. Not of kernels with bindings.
Function& clone_function(Module& module, const Function& function, std::string name);

}  // namespace kymo::shader::ir
