// Finds out why a process is not connected to the daemon: checks all conditions from outside the process.
//
// Also works without a daemon: then it reports what would be wrong even with a daemon.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "wire/tool_messages.h"

namespace kymo::cli {

using Findings = std::vector<wire::Finding>;

// A daemon that answers: the facts that a process needs to find it.
struct DaemonPlace {
  std::string socket;
  uid_t uid = 0;                   // the user of the daemon
  std::string dynolog = {};        // where it serves programs with libkineto; empty: it does not
  uint64_t network_namespace = 0;  // 0: not known
};

// In the order in which to fix them. The caller knows that the process is not connected to any of `daemons`.
Findings examine_process(pid_t pid, const std::vector<DaemonPlace>& daemons);

// What prevents a trace of a process that is connected: it is stopped, or something else records it.
Findings examine_connected(pid_t pid);

// Finds processes of this user that have an agent, or were started to have one, and are not in `connected`. Returns a
// finding that names them, or nothing. The same for processes with libkineto.
Findings examine_others(const std::vector<pid_t>& connected);

}  // namespace kymo::cli
