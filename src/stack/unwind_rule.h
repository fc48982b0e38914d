// How to leave a frame: where its caller's stack pointer, frame pointer and return address are, as the unwind tables of
// the code say (.eh_frame, in the form of DWARF).
//
// Kept are the rules that compilers write for ordinary functions: everything at a fixed distance from the stack pointer
// or the frame pointer. They fit into 64 bits, so that a table of them can be shared by threads without a lock.
#pragma once

#include <cstdint>

namespace kymo::stack {

struct UnwindRule {
  enum class Kind : uint8_t {
    Unknown,    // there are no tables, or a rule of another form
    Outermost,  // nobody called it
    FromStackPointer,
    FromFramePointer,
  };
  Kind kind = Kind::Unknown;
  bool frame_pointer_saved = false;  // else the caller's is still in its register
  int32_t caller_stack_at = 0;       // words from the register `kind` names to the caller's stack pointer
  int32_t return_address_at = 0;     // words from the caller's stack pointer; 0: still in its register
  int32_t frame_pointer_at = 0;      // words from the caller's stack pointer

  bool operator==(const UnwindRule&) const = default;
};

// Of the function that is at the instruction before `return_address`. Reads the tables: about a microsecond. Takes no
// memory, and no lock where the C library finds tables without (glibc 2.35).
UnwindRule find_unwind_rule(uintptr_t return_address) noexcept;

// A rule whose distances do not fit becomes an unknown one.
uint64_t packed(const UnwindRule& rule) noexcept;
UnwindRule unpacked(uint64_t bits) noexcept;

}  // namespace kymo::stack
