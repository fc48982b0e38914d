// For targets that implement simdgroups with barriers for whole groups (OpenCL, GLSL). There every thread of a group
// must reach every simdgroup operation, but in Metal only those threads do that the control flow leads there.
//
// The pass rewrites functions so that each simdgroup operation is executed by all threads of a group or by none. If
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
// Group barriers in such code are executed by all threads too. Other barriers stay unchanged: Metal itself requires
// that all threads reach them. Code that is already uniform stays unchanged (see uniform.h), and so does a module
// without simdgroup operations.
#pragma once

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

void make_collectives_uniform(Module& module);

}  // namespace kymo::shader::ir
