// A function that calls itself as its last step needs no stack: it becomes a loop. No target but CUDA has recursion.
//
//   int f(int n, int sum) {                 int f(int n, int sum) {
//     if (n == 0) return sum;                 loop {
//     return f(n - 1, sum + n);      ->         if (n == 0) return sum;
//   }                                           n' = n - 1; sum' = sum + n; n = n'; sum = sum'; continue;
#pragma once

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// Why a function cannot be such a loop. `call` is null if there is no reason.
struct TailCallFault {
  const Expression* call = nullptr;
  const char* why = "";
};

// For recursion.h. Replaces all calls of the function by itself. Each must be a statement: Evaluate, or Declare of its
// result. After a fault, the function has been changed in part.
TailCallFault replace_tail_calls(Module& module, Function& function);

}  // namespace kymo::shader::ir
