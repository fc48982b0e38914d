// The fills' kernels as text, ready for a device's compiler.
#pragma once

#include <string>

#include "device/backend.h"
#include "device/random/fill.h"

namespace kymo::device::random {

// One family's kernels, under the names that name_of gives. OpenCL C, CUDA C++ and GLSL; for others throws
// InvalidArgument. GLSL names its entry points in lines `#pragma kernel NAME`. About 23 KB of text, 41 KB with the
// normal's table.
//
// kNarrow, for GLSL alone, has the shader multiply in pieces of 16 bits, with the same results: slower, but a way
// around Mesa's llvmpipe on 64-bit Arm, which compiles a 64-bit product to SVE instructions even where the processor or
// a virtual machine has none, and dies of it (Mesa 22.3 with LLVM 15). Give it to Vulkan devices that are processors.
enum class Products : uint8_t { kWide, kNarrow };
std::string fill_source(Language language, Family family, Products products = Products::kWide);

}  // namespace kymo::device::random
