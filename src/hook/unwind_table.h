// The unwind rule of a code address, from the tables of the file it was loaded from. Some 200 ns to 2 µs; takes no lock
// and no memory, and reads nothing beyond the segments of that file.
#pragma once

#include <cstdint>

#include "hook/loaded_code.h"
#include "hook/unwind_rule.h"

namespace kymo::hook {

// `address` lies inside the instruction that is meant: for a return address, one byte before it. `trampoline` is where
// the code goes on: for a return address, itself.
UnwindRule find_unwind_rule(uintptr_t address, uintptr_t trampoline) noexcept;

// The same of a file that is known to hold the address.
UnwindRule find_unwind_rule_in(const LoadedCode& code, uintptr_t address, uintptr_t trampoline) noexcept;

}  // namespace kymo::hook
