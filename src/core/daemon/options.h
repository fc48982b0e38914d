// The options of `kymod` and `kymo daemon`, which are the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options/command_line.h"

namespace kymo::daemon {

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

}  // namespace kymo::daemon
