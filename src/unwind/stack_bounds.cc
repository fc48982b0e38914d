#include "unwind/stack_bounds.h"

#include <pthread.h>

#include <cstddef>

namespace kymo::unwind {

StackBounds find_own_stack() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  size_t bytes = 0;
  const bool found = pthread_attr_getstack(&attributes, &low, &bytes) == 0;
  pthread_attr_destroy(&attributes);
  if (!found) return {};
  const auto begin = reinterpret_cast<uintptr_t>(low);
  return {begin, begin + bytes};
}

}  // namespace kymo::unwind
