// Is an object on the calling thread's stack?
#pragma once

namespace kymo::edge {

// `object` belongs to a caller. The bounds of a stack that the program created itself (for a coroutine or a signal
// handler) are unknown. There an object counts as on the stack if it is not far above the caller's frame. Objects that
// AddressSanitizer moved to detect uses after a return count as if they were in their original place. Takes some µs the
// first time.
bool is_on_this_stack(const void* object) noexcept;

}  // namespace kymo::edge
