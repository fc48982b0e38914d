// libtorch numbers threads itself; a trace has the system's numbers. A backward function names the thread of its
// forward one by the former.
#pragma once

#include <cstdint>

namespace kymo::edge {

// The calling thread is remembered by both its numbers. After the first time: a thread-local load.
void note_new_thread() noexcept;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local bool thread_is_noted;
inline void note_forward_thread() noexcept {
  if (!thread_is_noted) note_new_thread();
}

// The system's number of a thread that was noted; libtorch's own for any other.
uint64_t forward_thread(uint64_t torch_thread) noexcept;

}  // namespace kymo::edge
