// Walks a stack by unwind tables and gives its return addresses, from the inside out.
//
// A frame costs about 10 ns. A frame of new code costs 1 µs, once for all threads (rule_table.h). It walks across
// signal handlers. Reads nothing outside the given stacks, takes no lock and allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/registers.h"
#include "unwind/stack_bounds.h"

namespace kymo::unwind {

enum class WalkEnd : uint8_t {
  Outermost,  // the last one has no caller
  Full,       // no space for more
  NoRule,     // code without unwind tables, or a frame that is not valid
  Elsewhere,  // not a stack of the thread
};

struct Walked {
  size_t count = 0;
  WalkEnd end = WalkEnd::Elsewhere;
};

// What to do in code without tables, or with tables that a rule cannot represent: end there, or assume that the frame
// pointer points to a frame record, which is usually correct.
enum class WithoutTable : uint8_t { End, Guess };

// Stores `at.pc` and its callers in `addresses`, without the innermost `skip`.
Walked walk(const Registers& at, const ThreadStacks& stacks, std::span<uintptr_t> addresses, size_t skip,
            WithoutTable without) noexcept;

}  // namespace kymo::unwind
