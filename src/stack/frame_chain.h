// Frame records: where a compiler keeps frame pointers, each frame has its caller's frame pointer and its own return
// address side by side in memory, and the records of one stack form a chain that ends with null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kymo::stack {

struct StackBounds {
  uintptr_t low = 0, high = 0;  // [low, high)
};

// Of the calling thread, found once a thread. Empty where it cannot be found, and while it is being found.
StackBounds thread_stack_bounds() noexcept;

// The return address without what pointer authentication put into its upper bits.
inline uintptr_t plain_return_address(uintptr_t address) noexcept {
#if defined(__aarch64__)
  register uintptr_t link asm("x30") = address;
  asm("hint #7" : "+r"(link));  // xpaclri, which older processors take for no operation
  return link;
#else
  return address;
#endif
}

// Walks the chain from the record at `frame`. Trusts nothing it reads: a record must be aligned, lie within `bounds`
// and above the one before it, or the chain ends there.
size_t walk_frame_chain(uintptr_t frame, StackBounds bounds, std::span<uintptr_t> addresses, size_t skip) noexcept;

}  // namespace kymo::stack
