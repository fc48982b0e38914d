// What a code object of CPython says of itself: lines and names, from its bytes, which are untrusted.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace kymo::python_code {

// The line of an instruction, in bytes from the first one, by the table of lines of CPython 3.`minor`. 0: not known.
uint32_t python_line(unsigned minor, base::Bytes table, uint32_t first_line, int64_t instruction);

// Characters of 1, 2 or 4 bytes, as UTF-8.
std::string python_text(base::Bytes bytes, unsigned width);

}  // namespace kymo::python_code
