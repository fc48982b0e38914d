// What a compiled program's kernels take, put together from the PTX (sizes, exactly), the mangled names (types) and the
// source (types of extern "C" kernels, names).
//
// Where they disagree, PTX is right: a parameter whose declared type has another size is of kind Unknown, and a
// declaration with another number of parameters is not used at all; eight bytes of which nothing else is known, as of a
// kernel that a macro declares, are a Word. A kernel that uses an `extern __shared__` array has
// one parameter more than its declaration, the last, of kind Local: the bytes of that array.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "device/backend.h"
#include "device/cuda/ptx.h"

namespace kymo::device::cuda {

// One for each entry, in their order: name, parameters and required group. `source` is empty for hand-written PTX.
std::vector<KernelInfo> reflect(const PtxProgram& program, std::string_view source);

// Whether each of `kernels`, which a translator described, is in the program with as many parameters. Throws
// CompileError.
void check_translated(const PtxProgram& program, std::span<const KernelInfo> kernels);

}  // namespace kymo::device::cuda
