// Converts a recording with allocations to a memory profile, in the format of its file name (memory/export.h).
#pragma once

#include <string>

#include "kymo/error.h"
#include "ondemand/output_file.h"
#include "ondemand/trace_output.h"

namespace kymo::ondemand {

// No allocations were recorded; the message says how to record some.
class NothingAllocated : public Error {
 public:
  NothingAllocated();
};

// Throws kymo::InvalidArgument for a file extension that is not supported.
void check_memory_name(const std::string& path);

// file.part() becomes file.path(), and the clients write their files next to it. If Kymo recorded nothing, the first
// file of a client is the result. Throws NothingAllocated if there is none either, and kymo::Error; then file.part()
// still exists.
WrittenTrace write_memory_profile(OutputFile& file);

}  // namespace kymo::ondemand
