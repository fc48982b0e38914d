// Why one process does not hear the daemon: everything that has to be right, looked at from outside.
//
// Works without a daemon too: then it tells what would still be wrong if there was one.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "wire/tool_messages.h"

namespace kymo::cli {

using Findings = std::vector<wire::Finding>;

// A daemon that answers, as far as a process must find it.
struct DaemonPlace {
  std::string socket;
  uid_t uid = 0;  // whose it is
};

// In the order in which they are to be mended. It is known not to be connected to any of `daemons`.
Findings examine_process(pid_t pid, const std::vector<DaemonPlace>& daemons);

// Processes of this user that have an agent or were started so that they would have, without those in `connected`; a
// finding that names them, or nothing.
Findings examine_others(const std::vector<pid_t>& connected);

}  // namespace kymo::cli
