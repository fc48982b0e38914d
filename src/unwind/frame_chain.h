// Frame records: where a compiler keeps frame pointers, each frame has its caller's frame pointer and its own return
// address side by side in memory, and the records of one stack form a chain that ends with null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/stack_bounds.h"

namespace kymo::unwind {

// Walks the chain from the record at `frame`. Trusts nothing it reads: a record must be aligned, lie within `bounds`
// and above the one before it, or the chain ends there.
size_t walk_frame_chain(uintptr_t frame, StackBounds bounds, std::span<uintptr_t> addresses, size_t skip) noexcept;

}  // namespace kymo::unwind
