// For targets whose simdgroups are made of barriers for whole groups (OpenCL, GLSL): there every thread of a group must
// come to every simdgroup operation, while in Metal those come that the flow of control leads there.
//
// The pass rewrites functions so that each simdgroup operation is met by all threads of a group or by none. Where
// threads may go different ways around one, both ways are walked by all, and a bool says whether a thread is really
// there:
//
//   if (lane < n) {                        bool active = lane < n;
//     float v = in[lane];                  float v = 0;
//     s = simd_sum(v);            ->       if (active) v = in[lane];
//     out[lane] = s;                       float t = simd_sum(v, active);
//   }                                      if (active) { s = t; out[lane] = s; }
//
// A loop goes on while any thread of the group is in it (GroupAny); break, continue and return make a thread inactive
// instead of leaving. A function that is called from such a place gets a variant with a parameter `active`, the first.
//
// Group barriers in such places are for all threads too. Others stay where they are: Metal itself wants them to be met
// by all. What is uniform already stays as it was written (uniform.h says what is), and so does a module without
// simdgroup operations.
#pragma once

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

void make_collectives_uniform(Module& module);

}  // namespace kymo::shader::ir
