// Stacks of allocations, as `kymo memory` reads them. Each thread reports a tree of return addresses, one instant per
// node, and the files that contain the code. An allocation refers to a node.
#pragma once

#include <cstdint>

namespace kymo::libtorch {

// Starts or stops recording stacks, for a recording that starts or has started.
void record_allocation_stacks(bool on) noexcept;

// The node of the calling thread's stack. The node is reported before this returns. 0: stacks are not wanted, or there
// is no memory.
uint64_t allocation_stack() noexcept;

}  // namespace kymo::libtorch
