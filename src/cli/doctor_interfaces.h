// What `kymo record` would record of programs that do not know Kymo, one finding for each interface.
#pragma once

#include <sys/types.h>

#include "cli/doctor_process.h"

namespace kymo::cli {

// For programs that are started now.
Findings examine_interfaces();
// For this process, as far as it can be seen from outside. `is_connected`: it can be traced on demand without them, so
// an interface that is not recorded is no problem.
Findings examine_interfaces(pid_t pid, bool is_connected);

}  // namespace kymo::cli
