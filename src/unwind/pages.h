// Memory straight from the system: what runs inside malloc cannot ask malloc.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace kymo::unwind {

// All zero, and there only as it is touched. Null: there is none.
inline void* take_pages(size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory != MAP_FAILED ? memory : nullptr;
}
inline void give_back_pages(void* memory, size_t bytes) noexcept {
  if (memory != nullptr) munmap(memory, bytes);
}

}  // namespace kymo::unwind
