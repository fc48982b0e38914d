// Does an object live on the calling thread's stack?
#pragma once

namespace kymo::edge {

// `object` is one of a caller's. On a stack that the program made itself (a coroutine's, a signal handler's), whose
// bounds nobody knows, an object counts as on it where it lies not far above the caller's frame. Objects that
// AddressSanitizer keeps apart to find uses after a return count as where they belong. Some µs the first time.
bool is_on_this_stack(const void* object) noexcept;

}  // namespace kymo::edge
