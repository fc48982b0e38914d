// What the allocation functions and the operators of C++ have in common: they record, and keep errno.
#pragma once

#include <errno.h>

#include <cstddef>
#include <cstdint>

#include "heap/heap_recorder.h"
#include "heap/preload/next_allocator.h"

#define KYMO_EXPORTED extern "C" __attribute__((visibility("default")))
#define KYMO_RECORDED __attribute__((noinline)) static

namespace kymo::heap {

inline uintptr_t address_of(const void* memory) noexcept { return reinterpret_cast<uintptr_t>(memory); }

// Operators of an allocator may use its malloc and free: then only one of the two records. No destructors, because an
// exception of an operator passes them by.
extern thread_local constinit uint32_t noted_count __attribute__((tls_model("initial-exec")));
extern thread_local constinit const void* being_deleted __attribute__((tls_model("initial-exec")));

// Records the allocation, and returns it.
inline void* noted(void* memory, size_t bytes, const unwind::Registers& caller) noexcept {
  if (memory == nullptr || is_from_start(memory)) return memory;
  const int error = errno;
  ++noted_count;
  heap_allocated(address_of(memory), bytes, caller);
  errno = error;
  return memory;
}

// Records a free that is about to happen. Keeps errno, because recording may make system calls.
inline bool returning(const void* memory) noexcept {
  if (__builtin_expect(memory == being_deleted, 0)) return false;
  const int error = errno;
  const bool is_recorded = heap_returns(address_of(memory));
  errno = error;
  return is_recorded;
}

}  // namespace kymo::heap
