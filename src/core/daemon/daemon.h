// kymod: requests traces from the programs of a host or a user, for commands. docs/ondemand.md.
//
// One thread (others only check files on file systems that may hang: look_at in output.h), and no wake-up without a
// message. It may be killed and restarted at any time: programs reconnect, and their recordings continue.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options/command_line.h"

namespace kymo::daemon {

// The options of `kymod` and `kymo daemon`, which are the same.
struct DaemonOptions {
  std::string socket;        // empty: the host's as root, the user's otherwise
  bool is_for_user = false;  // the user's even as root
  std::vector<std::string> output_folders;
  bool quiet = false;

  bool dynolog = false;
  std::string dynolog_folder;     // empty: $KINETO_IPC_SOCKET_DIR, or the abstract namespace
  std::string dynolog_addresses;  // ADDRESS[:PORT],…; empty: this host alone
  std::string token_file;

  std::string metrics;  // empty: none
};

// Adds them to a command's options.
void add_options(options::CommandLine& line, DaemonOptions& options);

// One sentence or two for the command's help.
extern const char* const kDaemonDescription;

// Serves until SIGTERM or SIGINT. Throws kymo::Error if it cannot start: its socket is in use, other users can write to
// the folder, an option is wrong. Call it from the only thread of a process.
void serve(const DaemonOptions& options);

// Where it would listen.
std::string socket_path(const DaemonOptions& options);

}  // namespace kymo::daemon
