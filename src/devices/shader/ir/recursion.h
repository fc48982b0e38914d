// Recursion, which only CUDA has, without a stack. Two kinds are possible on every target:
//
//  - a function that calls itself as its last step becomes a loop;
//  - functions that call themselves or each other, but provably only a few times, become copies. For each call the
//    ranges of the arguments are known from constants and from the conditions around it (ranges.h). A copy is made for
//    these ranges, without the branches that they exclude, until no call is left:
//
//   float f(float x) {                            float f(float x) {
//     if (x < 0) return 1 / f(-x);        ->        if (x < 0) return 1 / f'(-x);
//     return sqrt(x);                               return sqrt(x);
//   }                                             }
//                                                 float f'(float x) { return sqrt(x); }   // x is from 0 to infinity
#pragma once

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// Copies that call each other, at most.
inline constexpr uint32_t kMaxRecursion = 32;

// Afterwards the functions of the module that kernels need are without recursion, and callees come before callers.
// Before, only calls along a cycle may lack this order, and those inside of the cycle must be statements: Evaluate, or
// Declare of their result. Throws Rejected for other recursion.
void resolve_recursion(Module& module);

}  // namespace kymo::shader::ir
