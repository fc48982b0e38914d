// The programs of an unwind table. Run up to a code address, they give the rule to leave the frame at that address.
#pragma once

#include <cstdint>

#include "unwind/byte_reader.h"
#include "unwind/rule.h"

namespace kymo::unwind {

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
