#include "edge/stack_object.h"

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "edge/thread_state.h"

// Defined only if the program was built with AddressSanitizer.
extern "C" {
__attribute__((weak)) void* __asan_get_current_fake_stack(void);
__attribute__((weak)) void* __asan_addr_is_in_fake_stack(void* fake_stack, void* address, void** begin, void** end);
}

namespace kymo::edge {

namespace {

constexpr uintptr_t kNotFar = 256 << 10;  // the limit on a stack with unknown bounds

bool is_in_fake_stack(const void* object) noexcept {
  if (__asan_get_current_fake_stack == nullptr || __asan_addr_is_in_fake_stack == nullptr) return false;
  void* const fake = __asan_get_current_fake_stack();
  return fake != nullptr && __asan_addr_is_in_fake_stack(fake, const_cast<void*>(object), nullptr, nullptr) != nullptr;
}

void ask_for_bounds() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    this_thread.stack_low = reinterpret_cast<uintptr_t>(low);
    this_thread.stack_high = this_thread.stack_low + size;
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace

// Not inlined, so that its frame is below all variables of its caller.
[[gnu::noinline]] bool is_on_this_stack(const void* object) noexcept {
  if (this_thread.stack_high == 0) ask_for_bounds();
  const auto at = reinterpret_cast<uintptr_t>(object);
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (is_in_fake_stack(object)) return true;
  if (at < frame) return false;  // stacks grow downwards
  const bool known = frame >= this_thread.stack_low && frame < this_thread.stack_high;
  return known ? at < this_thread.stack_high : at - frame < kNotFar;
}

}  // namespace kymo::edge
