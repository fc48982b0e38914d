// The source texts of the fill kernels.
#pragma once

#include <string>

#include "device/backend.h"
#include "device/random/fill.h"

namespace kymo::device::random {

// The kernels of one family, with the names of name_of. Supports OpenCL C, CUDA C++ and GLSL; throws InvalidArgument
// for other languages. GLSL names its entry points in lines `#pragma kernel NAME`. The text has about 23 KB, or 41 KB
// with the table for normal numbers.
//
// kNarrow is for GLSL only: the shader multiplies in pieces of 16 bits, with the same results. It is slower, but it
// avoids a crash of Mesa's llvmpipe on 64-bit Arm. llvmpipe compiles a 64-bit product to SVE instructions even if the
// processor or the virtual machine has none (Mesa 22.3 with LLVM 15). Use it for Vulkan devices that are processors.
enum class Products : uint8_t { kWide, kNarrow };
std::string fill_source(Language language, Family family, Products products = Products::kWide);

}  // namespace kymo::device::random
