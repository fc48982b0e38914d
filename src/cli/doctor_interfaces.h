// What `kymo record` would record of programs that do not know Kymo, one finding for each interface.
#pragma once

#include <sys/types.h>

#include <optional>

#include "cli/doctor_process.h"

namespace kymo::cli {

// For programs that are started now; with a pid: for this process, as far as it can be seen from outside.
Findings examine_interfaces(std::optional<pid_t> pid);

}  // namespace kymo::cli
