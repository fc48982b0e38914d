// A sampled stack as one line, innermost first: "memcpy < load < main".
#pragma once

#include <cstdint>
#include <string>

#include "trace/reader.h"

namespace kymo::convert {

// Frames without a function show their module and offset. Empty if the trace does not describe the stack.
std::string stack_text(const trace::WriterInfo& writer, uint64_t stack);

}  // namespace kymo::convert
