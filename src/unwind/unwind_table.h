// The unwind rule of a code address, from the tables of the file it was loaded from. Some 200 ns to 2 µs; takes no lock
// and no memory, and reads nothing beyond the segments of that file.
#pragma once

#include <cstdint>

#include "unwind/loaded_code.h"
#include "unwind/rule.h"

namespace kymo::unwind {

// `address` lies inside the instruction that is meant: for a return address, one byte before it. `trampoline` is where
// the code goes on: for a return address, itself.
Rule find_rule(uintptr_t address, uintptr_t trampoline) noexcept;

// The same of a file that is known to hold the address.
Rule find_rule_in(const LoadedCode& code, uintptr_t address, uintptr_t trampoline) noexcept;

}  // namespace kymo::unwind
