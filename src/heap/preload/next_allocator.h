// The functions that a program would have called without us: those of the allocator behind, found by the linker.
//
// Looking for them may itself allocate; that comes from a small buffer and is never given back. The first call of each
// finds them all, so that a call after that is a jump.
#pragma once

#include <stddef.h>

namespace kymo::heap {

struct NextAllocator {
  void* (*malloc)(size_t) noexcept;
  void (*free)(void*) noexcept;
  void* (*calloc)(size_t, size_t) noexcept;
  void* (*realloc)(void*, size_t) noexcept;
  int (*posix_memalign)(void**, size_t, size_t) noexcept;
  void* (*aligned_alloc)(size_t, size_t) noexcept;
  void* (*memalign)(size_t, size_t) noexcept;
  void* (*valloc)(size_t) noexcept;
  void* (*pvalloc)(size_t) noexcept;
  void* (*reallocarray)(void*, size_t, size_t) noexcept;
  size_t (*malloc_usable_size)(void*) noexcept;
  int (*dlclose)(void*) noexcept;
};

extern NextAllocator next_allocator;

// Is this from the small buffer? Then nobody can take it back.
bool is_from_start(const void* address) noexcept;
// Its contents, somewhere else.
void* moved_from_start(const void* address, size_t bytes) noexcept;

}  // namespace kymo::heap
