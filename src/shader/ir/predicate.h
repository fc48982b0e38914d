// For targets that implement simdgroups with barriers for whole groups (OpenCL, GLSL). There every thread of a group
// must reach every simdgroup operation, but in Metal only those threads do that the control flow leads there. The same
// is true for group barriers: Metal requires that all threads reach them, but Apple's devices do not wait for threads
// that took another way, and kernels rely on it.
//
// The pass rewrites functions so that each of them is executed by all threads of a group or by none. If
// threads may take different ways around one, all threads take both ways, and a bool says whether a thread is active:
//
//   if (lane < n) {                        bool active = lane < n;
//     float v = in[lane];                  float v = 0;
//     s = simd_sum(v);            ->       if (active) v = in[lane];
//     out[lane] = s;                       float t = simd_sum(v, active);
//   }                                      if (active) { s = t; out[lane] = s; }
//
// A loop continues while any thread of the group is in it (GroupAny); break, continue and return make a thread inactive
// instead of leaving. A function that is called from such code gets a variant with a first parameter `active`.
//
// Code that is already uniform stays unchanged (see uniform.h).
#pragma once

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

void make_collectives_uniform(Module& module);

}  // namespace kymo::shader::ir
