// The order in which a caller passes the arguments of a kernel.
//
// In Metal an argument has an index, [[buffer(n)]] or [[threadgroup(n)]], and the two kinds are counted separately. The
// arguments of a kind are sorted by index, and fill the positions that the source has for that kind:
//
//   kernel void f(device float* b [[buffer(1)]], threadgroup float* t, device float* a [[buffer(0)]])      f(a, t, b)
#pragma once

#include <cstdint>
#include <vector>

#include "shader/shader.h"

namespace kymo::shader {

// Argument i is for parameters[order[i]].
std::vector<uint32_t> argument_order(const Kernel& kernel);

}  // namespace kymo::shader
