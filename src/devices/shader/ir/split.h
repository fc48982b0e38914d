// Moves collective operations out of larger expressions. After it, each simdgroup operation, group barrier and call of
// a function that contains such is its own statement: `T t = simd_sum(x)`, or just the operation.
#pragma once

#include <unordered_set>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// `together`: the functions that have simdgroup operations or group barriers. A && B, A || B and A ? B : C become an
// If, if B or C contains a collective operation; the condition of a loop moves to its `before`.
void split_collectives(Module& module, Function& function, const std::unordered_set<const Function*>& together);

// Whether this node is a collective operation.
bool is_together(const Expression& expression, const std::unordered_set<const Function*>& together);

}  // namespace kymo::shader::ir
