// Where traces may be written, and when a recording ends: checks of the options before a request runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/agent_messages.h"

namespace kymo::daemon {

// Why a trace cannot be written to this pattern (wire/output_pattern.h): it is relative, contains "..", has unknown
// placeholders, or is not below one of `folders` (if there are any). Empty: it can.
std::string output_problem(const std::string& pattern, const std::vector<std::string>& folders);

// The pattern with its {time} filled in, so that all processes write the same one.
std::string with_time(const std::string& pattern, uint64_t realtime_ns);

// When the recording ends, in CLOCK_REALTIME; 0: that depends on the program.
uint64_t end_of(const wire::TraceOptions& options);

}  // namespace kymo::daemon
