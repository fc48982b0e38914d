// Stacks of allocations, as `kymo memory` reads them: each thread tells a tree of return addresses, a node an instant,
// and the files that the code is in; an allocation names a node.
#pragma once

#include <cstdint>

namespace kymo::libtorch {

// From now on, for a recording that begins or has begun; or no more.
void record_allocation_stacks(bool on) noexcept;

// The node of the calling thread's stack, told before it returns; 0: none is wanted, or there is no memory.
uint64_t allocation_stack() noexcept;

}  // namespace kymo::libtorch
