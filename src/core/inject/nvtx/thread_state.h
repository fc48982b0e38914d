// What the adapter knows about a thread: how many ranges of each domain it has pushed and not popped.
//
// The depths are correct over all images of the process, because they are kept here and not in the image. While the
// adapter is dormant it gets no calls, so they start again at 0 when it becomes active. Safe in a signal handler.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::inject::nvtx {

// A message that the thread has pushed recently, and the word of its record. Found by the address of the message, which
// is mostly a constant of the program; then the text is compared.
struct RecentMessage {
  static constexpr uint32_t kMaxWords = 7;
  const void* message;  // the text, or the registered string; null: empty
  const void* domain;
  uint32_t colour;
  uint32_t word;       // record::on_stack
  uint32_t words;      // of the text with its NUL; 0: a registered string, which does not change
  uint64_t last_mask;  // the bytes of the last word that belong to the text
  uint64_t text[kMaxWords];
};
inline constexpr uint32_t kRecentMessages = 32;

struct ThreadState {
  uint32_t epoch;     // of the last look at what other threads have to say to this one
  uint32_t activity;  // the period of activity to which the depths belong
  uint32_t capacity;  // depths that there is space for
  uint32_t bytes;     // of this object with its depths
  RecentMessage recent[kRecentMessages];
  // By Domain::index; they follow this object.
  int32_t& depth(uint32_t domain) noexcept { return reinterpret_cast<int32_t*>(this + 1)[domain]; }
};

// Initial-exec: one instruction to access. Null: the thread has no state yet.
extern thread_local constinit ThreadState* this_state __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern constinit std::atomic<uint32_t> state_epoch __attribute__((visibility("hidden")));

// The state of this thread if it is up to date: then it has space for the depths of all domains. Null: call
// renew_state().
__attribute__((always_inline)) inline ThreadState* current_state() noexcept {
  ThreadState* const state = this_state;
  const bool is_current = state != nullptr && state->epoch == state_epoch.load(std::memory_order_relaxed);
  return __builtin_expect(is_current, 1) ? state : nullptr;
}

// Creates, enlarges or resets the state, and gives the thread the name that another thread has set for it. Null: no
// memory.
ThreadState* renew_state() noexcept;

// All threads must look: there is a new domain.
void announce_domain() noexcept;

// The adapter becomes active after a time without calls: all depths are 0 now. `from_start`: it has had every call of
// the process, so a pop without a push is a mistake of the program.
void begin_activity(bool from_start) noexcept;
bool has_every_call() noexcept;

// Names the thread with this id. If it is another thread, that thread takes the name with its next call.
void name_thread(uint32_t tid, const char* name) noexcept;

}  // namespace kymo::inject::nvtx
