// The logs and profilers of a thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kymo/edge_module.h"

namespace kymo::edge {

class ThreadRecorder;

struct ThreadState {
  Log* current = nullptr;  // receives its operations
  Log* own = nullptr;      // the log of its own profiler, until that stops

  // Its recorders for the logs that it used recently. The entry of a destroyed log is never used: no other log has the
  // same id.
  struct Known {
    uint64_t log = 0;
    ThreadRecorder* recorder = nullptr;
  };
  static constexpr size_t kKnown = 4;
  std::array<Known, kKnown> known{};
  bool making = false;  // it is creating a recorder: allocations during that are not recorded

  uint64_t number = 0;                      // unique; 0: not set yet
  uintptr_t stack_low = 0, stack_high = 0;  // 0: not read yet (stack_object.cc)
};

// Initial-exec: access costs one instruction, also in a shared library.
extern thread_local constinit ThreadState this_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Of the calling thread.
uint64_t number_of_this_thread() noexcept;

}  // namespace kymo::edge
