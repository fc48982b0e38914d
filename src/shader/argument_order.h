// The order in which a caller gives a kernel's arguments.
//
// In Metal an argument belongs to an index, [[buffer(n)]] or [[threadgroup(n)]], and each of the two counts for itself.
// Those of a kind come in the order of their indices, in the places that the source has for that kind:
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
