// `kymo remote`: what ssh starts on a host for commands with --hosts. Not in the list of commands: nobody types it.
#include <unistd.h>

#include <filesystem>

#include "commands/ondemand/commands.h"
#include "hosts/connection.h"
#include "options/command_line.h"

namespace kymo::cli {

int remote_command(const Arguments& arguments) {
  if (!arguments.empty())
    throw options::UsageError("remote", "it takes no arguments; 'kymo trigger --hosts' starts it");
  return hosts::serve_far_end(STDIN_FILENO, STDOUT_FILENO, std::filesystem::read_symlink("/proc/self/exe").string());
}

}  // namespace kymo::cli
