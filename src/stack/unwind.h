// Walks a stack by unwind tables, from registers outwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "stack/frame_chain.h"

namespace kymo::stack {

struct Machine {
  uintptr_t instruction = 0, stack_pointer = 0, frame_pointer = 0;
  uintptr_t link = 0;  // the return address, where the processor has a register for it
};

struct Unwound {
  size_t count = 0;
  bool whole = false;  // up to the outermost frame, or as many as were asked for
};

// The callers of the frame that `machine` is in. Rules are remembered in a table that all threads share; a new one
// costs about a microsecond. Reads nothing outside `bounds` but tables: where a stack does not fit its tables it ends.
Unwound unwind(Machine machine, StackBounds bounds, std::span<uintptr_t> addresses, size_t skip) noexcept;

}  // namespace kymo::stack
