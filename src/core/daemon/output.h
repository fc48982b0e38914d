// Where traces may be written, and when a recording ends: checks of the options before a request runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/agent_messages.h"

namespace kymo::daemon {

// Whether a trace can be written to this pattern (wire/output_pattern.h). Refused: it is relative, contains "..", has
// unknown placeholders, or is not below one of `folders` (if there are any).
base::Check check_output(const std::string& pattern, const std::vector<std::string>& folders);

// Whether an absolute path is in this folder, or in a folder in it. Looks only at the text.
bool is_below(const std::string& path, std::string folder);

// The pattern with its {time} filled in, so that all processes write the same one.
std::string with_time(const std::string& pattern, uint64_t realtime_ns);

// When the recording ends, in CLOCK_REALTIME; 0: that depends on the program.
uint64_t end_of(const wire::TraceOptions& options);

}  // namespace kymo::daemon
