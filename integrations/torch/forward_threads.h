// libtorch has its own numbers for threads; a trace has the system's numbers. A backward function names the thread of
// its forward function by libtorch's number.
#pragma once

#include <cstdint>

namespace kymo::edge {

// Remembers the calling thread with both numbers. After the first call this costs a thread-local load.
void note_new_thread() noexcept;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local bool thread_is_noted;
inline void note_forward_thread() noexcept {
  if (!thread_is_noted) note_new_thread();
}

// The system's number of a thread that was noted; for other threads, libtorch's own number.
uint64_t forward_thread(uint64_t torch_thread) noexcept;

}  // namespace kymo::edge
