#include "daemon/options.h"

namespace kymo::daemon {

const char* const kDaemonDescription =
    "Serves the programs of this host or user that can be asked for a trace, and the commands that ask.\n"
    "As root for all users at /run/kymo, otherwise for one at $XDG_RUNTIME_DIR/kymo.";

void add_options(options::CommandLine& line, DaemonOptions& options) {
  line.value("--socket", "PATH", options.socket, "listen here instead");
  line.flag("--user", options.is_for_user, "as root: for root alone, not for all users");
  line.values("--output-folder", "FOLDER", options.output_folders, "traces go below this folder only; may be repeated");
  line.flag("-q,--quiet", options.quiet, "say only what is wrong");
  line.flag("--dynolog", options.dynolog, "also serve libkineto's programs (PyTorch) and the dyno command");
  line.value("--dynolog-dir", "FOLDER", options.dynolog_folder,
             "sockets in this folder, as KINETO_IPC_SOCKET_DIR says");
  line.value("--dynolog-address", "ADDRESS[:PORT],…", options.dynolog_addresses,
             "where dyno connects; 127.0.0.1:1778 and [::1]:1778 unless\ngiven, one that other hosts reach only "
             "with --token");
  line.value("--token", "FILE", options.token_file, "a file with the word that requests from the network must carry");
}

}  // namespace kymo::daemon
