// Takes what threads do together out of larger expressions: behind it, each simdgroup operation, group barrier and call
// of a function that has such is a statement of its own, `T t = simd_sum(x)` or just itself.
#pragma once

#include <unordered_set>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// `together`: the functions that have simdgroup operations or group barriers. A && B, A || B and A ? B : C whose B or C
// does something together become an If; a loop's condition moves to its `before`.
void split_collectives(Module& module, Function& function, const std::unordered_set<const Function*>& together);

// Whether this node is one of those.
bool is_together(const Expression& expression, const std::unordered_set<const Function*>& together);

}  // namespace kymo::shader::ir
