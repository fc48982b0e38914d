#include "stack/frame_chain.h"

#include <pthread.h>

#include <cstring>

namespace kymo::stack {

namespace {

struct FrameRecord {
  uintptr_t caller;
  uintptr_t return_address;
};

StackBounds find_stack_bounds() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  size_t size = 0;
  const bool found = pthread_attr_getstack(&attributes, &low, &size) == 0;
  pthread_attr_destroy(&attributes);
  if (!found) return {};
  return {reinterpret_cast<uintptr_t>(low), reinterpret_cast<uintptr_t>(low) + size};
}

}  // namespace

StackBounds thread_stack_bounds() noexcept {
  thread_local StackBounds bounds;
  thread_local bool asked = false;
  if (!asked) {
    asked = true;  // first: the C library may allocate on the way, and whoever watches that may come here again
    bounds = find_stack_bounds();
  }
  return bounds;
}

__attribute__((no_sanitize("address"))) size_t walk_frame_chain(uintptr_t frame, StackBounds bounds,
                                                                std::span<uintptr_t> addresses, size_t skip) noexcept {
  size_t count = 0;
  uintptr_t above = bounds.low;
  while (count < addresses.size()) {
    if (frame < above || frame >= bounds.high || bounds.high - frame < sizeof(FrameRecord)) break;
    if (frame % alignof(FrameRecord) != 0) break;
    const FrameRecord record = *reinterpret_cast<const FrameRecord*>(frame);
    const uintptr_t address = plain_return_address(record.return_address);
    if (address == 0) break;
    if (skip != 0)
      --skip;
    else
      addresses[count++] = address;
    above = frame + sizeof(FrameRecord);
    frame = record.caller;
  }
  return count;
}

}  // namespace kymo::stack
