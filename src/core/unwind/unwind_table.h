// Finds the unwind rule of a code address in the tables of its loaded file. Costs about 200 ns to 2 µs. Takes no lock,
// allocates nothing, and reads only the segments of that file.
#pragma once

#include <cstdint>

#include "unwind/loaded_code.h"
#include "unwind/rule.h"

namespace kymo::unwind {

// The code that a signal handler returns to, of all C libraries, or of the kernel.
#if defined(__aarch64__)
inline constexpr uint8_t kSignalTrampoline[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};  // mov x8, 139; svc 0
#else
inline constexpr uint8_t kSignalTrampoline[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};  // mov $15, %rax; syscall
#endif

// `address` is inside the instruction: for a return address, one byte before it. `trampoline` is where the code
// continues: for a return address, the return address itself.
Rule find_rule(uintptr_t address, uintptr_t trampoline) noexcept;

// The same for a file that is known to contain the address.
Rule find_rule_in(const LoadedCode& code, uintptr_t address, uintptr_t trampoline) noexcept;

}  // namespace kymo::unwind
