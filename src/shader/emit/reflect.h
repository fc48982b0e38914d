// What a caller must know of a kernel to launch it.
#pragma once

#include "shader/ir/ir.h"
#include "shader/shader.h"

namespace kymo::shader {

// Everything but the symbol, which is the emitter's to choose: it is the kernel's name as a legal one. Values are
// passed inline; a target that cannot changes that.
Kernel reflect(const ir::Module& module, const ir::Function& kernel);

// Sets how a value of this size and alignment is laid out behind its address: see Passing::Inline.
void pass_inline(KernelParameter& parameter);

}  // namespace kymo::shader
