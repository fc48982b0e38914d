// The options of commands that also run on other hosts: --hosts, --hosts-from, --slurm, and how to reach them.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"
#include "hosts/connection.h"
#include "options/command_line.h"

namespace kymo::cli {

struct HostsOptions {
  std::vector<std::string> hosts;  // in the order given, each once
  hosts::SshOptions ssh;
  bool is_given = false;
  std::string needs_hosts;  // the last option that was given which says how to reach them
};

// The targets must live until line.read() has returned.
void add_hosts(options::CommandLine& line, HostsOptions& options);

// True if the command runs on other hosts. Throws options::UsageError if an option says how to reach hosts, and there
// are none.
bool is_for_hosts(const char* command, const HostsOptions& options);

// The arguments that the command on each host gets: all but those of add_hosts, and but `--fetch`.
Arguments without_hosts(const Arguments& arguments);

}  // namespace kymo::cli
