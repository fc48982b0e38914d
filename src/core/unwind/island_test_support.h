// For tests: memory between inaccessible pages.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "unwind/stack_bounds.h"

namespace kymo::unwind {

// Memory with inaccessible pages before and after it: a read outside of it crashes.
class Island {
 public:
  explicit Island(size_t words)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        all_(static_cast<char*>(mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        words_(words) {
    mprotect(all_ + page_, page_, PROT_READ | PROT_WRITE);
  }
  ~Island() { munmap(all_, 3 * page_); }
  Island(const Island&) = delete;
  Island& operator=(const Island&) = delete;

  // The words end exactly at the end of the page.
  uintptr_t* words() const { return reinterpret_cast<uintptr_t*>(all_ + 2 * page_) - words_; }
  uintptr_t address(size_t word) const { return reinterpret_cast<uintptr_t>(words() + word); }
  StackBounds bounds() const { return {address(0), address(words_)}; }
  size_t size() const { return words_; }

 private:
  size_t page_;
  char* all_;
  size_t words_;
};

}  // namespace kymo::unwind
