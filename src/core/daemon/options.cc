#include "daemon/options.h"

namespace kymo::daemon {

const char* const kDaemonDescription =
    "Connects the commands that request traces with the programs that record them.\n"
    "As root it serves all users, at /run/kymo. Otherwise it serves one user, at $XDG_RUNTIME_DIR/kymo.";

void add_options(options::CommandLine& line, DaemonOptions& options) {
  line.value("--socket", "PATH", options.socket, "listen at this path instead");
  line.flag("--user", options.is_for_user, "as root: serve only root, not all users");
  line.values("--output-folder", "FOLDER", options.output_folders,
              "allow traces only below this folder; can be repeated");
  line.flag("-q,--quiet", options.quiet, "print only problems");
  line.flag("--dynolog", options.dynolog, "also serve programs with libkineto (PyTorch) and the dyno command");
  line.value("--dynolog-dir", "FOLDER", options.dynolog_folder,
             "folder of the sockets; default: $KINETO_IPC_SOCKET_DIR");
  line.value("--dynolog-address", "ADDRESS[:PORT],…", options.dynolog_addresses,
             "where dyno connects; default: 127.0.0.1:1778 and\n[::1]:1778. An address that other hosts can reach\n"
             "needs --token");
  line.value("--token", "FILE", options.token_file, "file with the token that requests from the network must carry");
  line.value("--metrics", "PLACE", options.metrics,
             "serve metrics for Prometheus: 127.0.0.1:9463 or\nunix:/run/kymo/metrics");
}

}  // namespace kymo::daemon
