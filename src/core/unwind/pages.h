// Memory directly from the system, for code inside malloc, which cannot call malloc.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace kymo::unwind {

// All zero; physical memory is allocated when it is used. Null: no memory.
inline void* take_pages(size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory != MAP_FAILED ? memory : nullptr;
}
inline void give_back_pages(void* memory, size_t bytes) noexcept {
  if (memory != nullptr) munmap(memory, bytes);
}

}  // namespace kymo::unwind
