// What a thread knows of logs and profilers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kymo/edge_module.h"

namespace kymo::edge {

class ThreadRecorder;

struct ThreadState {
  Log* current = nullptr;  // where its operations go
  Log* own = nullptr;      // that of its own profiler, until that stops

  // What it writes to, of the logs it wrote to lately. One whose log is gone is never looked at: no other has its id.
  struct Known {
    uint64_t log = 0;
    ThreadRecorder* recorder = nullptr;
  };
  static constexpr size_t kKnown = 4;
  std::array<Known, kKnown> known{};
  bool making = false;  // it makes one: what an allocator reports of that is not recorded

  uint64_t number = 0;                      // of no other thread, ever; 0: not given yet
  uintptr_t stack_low = 0, stack_high = 0;  // 0: not asked yet (stack_object.cc)
};

// Initial-exec: one instruction away, also in a shared library.
extern thread_local constinit ThreadState this_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Of the calling thread.
uint64_t number_of_this_thread() noexcept;

}  // namespace kymo::edge
