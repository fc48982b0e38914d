// Exact arithmetic on floats: a * b + c stays two operations, on every device.
//
// GLSL has a keyword for this, `precise`. But glslang propagates it through the text in a way that does not end if a
// structure is computed from its own members (s = f(s.a)). So the result of every operation is marked in the module
// instead.
#pragma once

#include <vector>

#include "device/vulkan/spirv_module.h"

namespace kymo::device::vulkan::spirv {

// The module's words, with NoContraction for each operation on floats. Pure.
std::vector<uint32_t> without_contraction(const Module& module);

}  // namespace kymo::device::vulkan::spirv
