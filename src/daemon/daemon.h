// kymod: asks the programs of a host or a user for traces, when a command says so. docs/ondemand.md.
//
// One thread (others only look at files that may not answer: file_look.h), and no wake-up while nobody says anything.
// It may be killed and started again at any moment: programs find it again, and what they record meanwhile goes on.
#pragma once

#include <string>

#include "daemon/options.h"

namespace kymo::daemon {

// Serves until SIGTERM or SIGINT. Throws kymo::Error where it cannot begin: someone else has its socket, a folder that
// others can write, an option that makes no sense. Call it from a process's only thread.
void serve(const DaemonOptions& options);

// Where it would listen.
std::string socket_path(const DaemonOptions& options);

}  // namespace kymo::daemon
