// Barriers in both ways around a branch, for OpenCL.
//
// PoCL divides a kernel at its barriers into parts that it executes for one thread after the other. If only one way of
// an if has a barrier, which OpenCL allows where all threads of a group take the same way, its parts are executed for
// the wrong threads: results are wrong, and threads write out of bounds. With a barrier in both ways most kernels are
// right; docs/shaders.md names those that are not.
#pragma once

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

void balance_barriers(Module& module);

}  // namespace kymo::shader::ir
