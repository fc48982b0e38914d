// Finds the unwind rule of a code address in the tables of its loaded file. Costs about 200 ns to 2 µs. Takes no lock,
// allocates nothing, and reads only the segments of that file.
#pragma once

#include <cstdint>

#include "unwind/byte_reader.h"
#include "unwind/loaded_code.h"
#include "unwind/rule_table.h"

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

// A program of an unwind table. Run up to a code address, it gives the rule to leave the frame at that address.
struct CfaProgram {
  ByteReader common;    // the start of all functions of one kind
  ByteReader function;  // of this function
  uint64_t code_factor = 1;
  int64_t data_factor = 1;
  uint8_t address_encoding = 0;  // of DW_CFA_set_loc
  uintptr_t begin = 0;           // the function's first address
};

// The rule at `address`. A program that is damaged or too complex for a rule gives Kind::FramePointer.
Rule run_cfa_program(const CfaProgram& program, uintptr_t address) noexcept;

}  // namespace kymo::unwind
