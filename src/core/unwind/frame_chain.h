// Frame records: if a compiler keeps frame pointers, each frame has its caller's frame pointer and its own return
// address next to each other in memory. The records of one stack form a chain that ends with null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/stack_bounds.h"

namespace kymo::unwind {

// Walks the chain from the record at `frame`. Trusts nothing it reads: a record must be aligned, inside `bounds`, and
// above the previous one; otherwise the chain ends.
size_t walk_frame_chain(uintptr_t frame, StackBounds bounds, std::span<uintptr_t> addresses, size_t skip) noexcept;

}  // namespace kymo::unwind
