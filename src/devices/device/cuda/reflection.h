// The parameters of a compiled program's kernels, combined from the PTX (exact sizes), the mangled names (types) and
// the source (types of extern "C" kernels, names).
//
// If they disagree, PTX is right: a parameter whose declared type has another size gets the kind Unknown, and a
// declaration with another number of parameters is not used. Eight bytes of unknown type, as in a kernel that a macro
// declares, get the kind Word. A kernel that uses an `extern __shared__` array has one parameter more than its
// declaration: the last one, of kind Local, is the size of that array in bytes.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "device/backend.h"
#include "device/ptx/ptx.h"

namespace kymo::device::cuda {

// One for each entry, in their order: name, parameters and required group. `source` is empty for hand-written PTX.
std::vector<KernelInfo> reflect(const PtxProgram& program, std::string_view source);

// Checks that the program contains each of `kernels`, which a translator described, with the same number of parameters.
// Throws CompileError.
void check_translated(const PtxProgram& program, std::span<const KernelInfo> kernels);

}  // namespace kymo::device::cuda
