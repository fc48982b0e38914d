// kymod: requests traces from the programs of a host or a user, for commands. docs/ondemand.md.
//
// One thread (others only check files on file systems that may hang: file_look.h), and no wake-up without a message. It
// may be killed and restarted at any time: programs reconnect, and their recordings continue.
#pragma once

#include <string>

#include "daemon/options.h"

namespace kymo::daemon {

// Serves until SIGTERM or SIGINT. Throws kymo::Error if it cannot start: its socket is in use, other users can write to
// the folder, an option is wrong. Call it from the only thread of a process.
void serve(const DaemonOptions& options);

// Where it would listen.
std::string socket_path(const DaemonOptions& options);

}  // namespace kymo::daemon
