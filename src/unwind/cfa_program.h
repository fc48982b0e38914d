// The little programs of an unwind table: run up to one code address, they say how that address's frame is left.
#pragma once

#include <cstdint>

#include "unwind/byte_reader.h"
#include "unwind/rule.h"

namespace kymo::unwind {

struct CfaProgram {
  ByteReader common;    // what all functions of a kind begin with
  ByteReader function;  // this function's
  uint64_t code_factor = 1;
  int64_t data_factor = 1;
  uint8_t address_encoding = 0;  // of DW_CFA_set_loc
  uintptr_t begin = 0;           // the function's first address
};

// The rule at `address`. A program that is damaged or uses what a rule cannot hold gives Kind::FramePointer.
Rule run_cfa_program(const CfaProgram& program, uintptr_t address) noexcept;

}  // namespace kymo::unwind
