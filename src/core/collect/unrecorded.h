// Says in a trace that a process could not record, so that the trace does not look complete.
#pragma once

#include <cstdint>
#include <string>

#include "trace/writer.h"

namespace kymo::collect {

struct Unrecorded {
  std::string session;  // in hex
  uint64_t pid = 0, parent_pid = 0;
  std::string why;
};

// The process becomes a writer of its own, with one loss. Throws kymo::Error if the file cannot be written.
void write_unrecorded(trace::Writer& file, const Unrecorded& process);

}  // namespace kymo::collect
