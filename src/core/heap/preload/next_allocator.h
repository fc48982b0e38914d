// The functions of the real allocator, which the program would call without Kymo. The linker finds them.
//
// The lookup itself may allocate; that memory comes from a small buffer and is never freed. The first call of any
// function finds them all, so later calls are only a jump.
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

// Its malloc, of which it is known now where it is.
const void* next_malloc() noexcept;

// True if the address is in the small buffer; then it must not be freed.
bool is_from_start(const void* address) noexcept;
// Copies such a block to a new block of `bytes`.
void* moved_from_start(const void* address, size_t bytes) noexcept;

}  // namespace kymo::heap
