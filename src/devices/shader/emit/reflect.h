// The data that a caller needs to launch a kernel.
#pragma once

#include "kymo/translate.h"
#include "shader/ir/ir.h"

namespace kymo::shader {

// Everything except the symbol, which the emitter chooses: here it is the kernel's name in legal form. Values are
// passed inline; a target that does not support this changes it.
Kernel reflect(const ir::Module& module, const ir::Function& kernel);

// Sets the layout of a value of this size and alignment after its address: see Passing::Inline.
void pass_inline(KernelParameter& parameter);

}  // namespace kymo::shader
