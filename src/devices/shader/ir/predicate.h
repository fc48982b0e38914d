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
// Code that is already uniform stays unchanged (see uniform.h), as far as the rules allow it.
#pragma once

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

struct CollectiveRules {
  // Whether barriers, and simdgroup operations, may be in a branch that all threads of a group take, or after a jump
  // that all of them could have taken. OpenCL allows it, but PoCL does not execute it correctly: it divides a kernel at
  // its barriers into parts that it executes for one thread after the other, and some of these parts are then executed
  // for the wrong threads. Otherwise they are only outside of branches, and in loops that all threads execute equally
  // often and leave in one place. Such a loop ends with a barrier, so that PoCL sees one end of its rounds.
  bool may_be_in_branches = true;
  // Whether a pointer into the memory of a thread or group may have no value in threads that are not active. Targets
  // that trace such pointers to their variables need this. In C it is undefined to pass such a pointer to a function:
  // a compiler then concludes that every thread is active.
  bool may_leave_pointers_unset = true;
};

void make_collectives_uniform(Module& module, const CollectiveRules& rules = {});

}  // namespace kymo::shader::ir
