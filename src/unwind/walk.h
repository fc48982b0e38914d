// A stack as its return addresses, from the inside out, by unwind tables.
//
// A frame costs some 10 ns, one of code that was not met before a microsecond, once for all threads (rule_table.h).
// Handlers of signals are crossed. Reads nothing outside the stacks it is given, takes no lock and no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/registers.h"
#include "unwind/stack_bounds.h"

namespace kymo::unwind {

enum class WalkEnd : uint8_t {
  Outermost,  // nobody called the last one
  Full,       // there was room for no more
  NoRule,     // code without unwind tables, or a frame that makes no sense
  Elsewhere,  // a stack that is none of the thread's
};

struct Walked {
  size_t count = 0;
  WalkEnd end = WalkEnd::Elsewhere;
};

// What to do in code without tables, or with such as a rule cannot hold: end there, or take it that the frame pointer
// points to a frame record, which is right more often than not.
enum class WithoutTable : uint8_t { End, Guess };

// Puts `at.pc` and its callers into `addresses`, without the innermost `skip`.
Walked walk(const Registers& at, const ThreadStacks& stacks, std::span<uintptr_t> addresses, size_t skip,
            WithoutTable without) noexcept;

}  // namespace kymo::unwind
