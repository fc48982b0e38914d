// From a recording with allocations to a profile of memory, in the form that its name says (memory/export.h).
#pragma once

#include <string>

#include "kymo/error.h"
#include "ondemand/output_file.h"
#include "ondemand/trace_output.h"

namespace kymo::ondemand {

// Nothing was allocated that anybody told of; says what to do to have more.
class NothingAllocated : public Error {
 public:
  NothingAllocated();
};

// Throws kymo::InvalidArgument for an ending that means nothing here.
void check_memory_name(const std::string& path);

// file.part() becomes file.path(), and the clients write theirs beside it: where nothing is in ours, the first of
// theirs is the result. Throws NothingAllocated where there is none either, and kymo::Error; file.part() is still there
// then.
WrittenTrace write_memory_profile(OutputFile& file);

}  // namespace kymo::ondemand
