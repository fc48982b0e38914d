// Where traces may go, and when a recording ends: what can be said of a request's options before it is carried out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/agent_messages.h"

namespace kymo::daemon {

// Why a trace cannot go to this pattern (wire/output_pattern.h): it is relative, leads upwards, has places that are not
// known, or is not below one of `folders`, where there are any. Empty: it can.
std::string output_problem(const std::string& pattern, const std::vector<std::string>& folders);

// The pattern with its {time} filled in, so that all processes write the same one.
std::string with_time(const std::string& pattern, uint64_t realtime_ns);

// When the recording is over, CLOCK_REALTIME; 0: that depends on the program.
uint64_t end_of(const wire::TraceOptions& options);

}  // namespace kymo::daemon
