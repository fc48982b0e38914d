// Exact arithmetic on floats: a * b + c stays two operations, int(float(i)) rounds to float, and infinity * 0 is NaN,
// on every device.
//
// GLSL has a keyword for this, `precise`. But glslang propagates it through the text in a way that does not end if a
// structure is computed from its own members (s = f(s.a)). So the result of every operation is marked in the module
// instead.
#pragma once

#include <vector>

#include "device/vulkan/spirv_module.h"

namespace kymo::device::vulkan::spirv {

// The module's words, with NoContraction for each operation on floats and each conversion between floats and integers.
// Pure.
std::vector<uint32_t> without_contraction(const Module& module);

// The widths in bits of the floats for which a device has SignedZeroInfNanPreserve.
using FloatWidths = std::vector<uint32_t>;

// The module's words, with this mode for these widths: the compiler must not assume that there are no infinities, NaNs
// and negative zeros. A module that sets the mode itself, and one before SPIR-V 1.4, is not changed. Pure.
std::vector<uint32_t> with_special_numbers(const Module& module, const FloatWidths& widths);

// Zeros that Mesa's driver for the CPU cannot see.
//
// Its compiler folds x + 0, x * 0, x / 0 and 0 / x to x or to 0 if it sees a constant zero, also in operations that are
// exact and with SignedZeroInfNanPreserve: infinity * 0 is 0, and x / 0 is undefined. So each zero of a module that may
// reach an operation on floats is computed from the position of the group in the grid, which the compiler does not
// know: position >> 16 is 0, because a dispatch has at most 65535 groups in a dimension.
//
// Numbers that are converted from integers may become zeros too when a loop is unrolled, so 0 is added to them.
// Zeros that only comparisons use stay constants, and so do those in tables (arrays with other numbers).

// The words of the module, which has one entry point and is patched already (spirv_patch.h). Pure.
std::vector<uint32_t> hide_zeros(const Module& module);

}  // namespace kymo::device::vulkan::spirv
