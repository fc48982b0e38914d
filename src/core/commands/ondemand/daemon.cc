// `kymo daemon`: kymod in the foreground, to try it out or for a machine without systemd.
#include "daemon/daemon.h"

#include "commands/ondemand/commands.h"
#include "options/command_line.h"

namespace kymo::cli {

int daemon_command(const Arguments& arguments) {
  daemon::DaemonOptions options;
  options::CommandLine line("daemon", "kymo daemon [options]", daemon::kDaemonDescription,
                            "kymo daemon --output-folder /data/traces");
  daemon::add_options(line, options);
  if (!line.read(arguments)) return kDone;

  try {
    daemon::serve(options);
  } catch (const InvalidArgument& error) {
    throw options::UsageError("daemon", error.what());
  }
  return kDone;
}

}  // namespace kymo::cli
