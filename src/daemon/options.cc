#include "daemon/options.h"

namespace kymo::daemon {

const char* const kDaemonDescription =
    "Serves the programs of this host or user that can be asked for a trace, and the commands that ask.\n"
    "As root for all users at /run/kymo, otherwise for one at $XDG_RUNTIME_DIR/kymo.";

void add_options(CLI::App& command, DaemonOptions& options) {
  command.add_option("--socket", options.socket, "listen here instead")->type_name("PATH");
  command.add_flag("--user", options.is_for_user, "as root: for root alone, not for all users");
  command.add_option("--output-folder", options.output_folders, "traces go below this folder only; may be repeated")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
  command.add_flag("-q,--quiet", options.quiet, "say only what is wrong");
  command.add_flag("--dynolog", options.dynolog, "also serve libkineto's programs (PyTorch) and the dyno command");
  command.add_option("--dynolog-dir", options.dynolog_folder, "sockets in this folder, as KINETO_IPC_SOCKET_DIR says")
      ->type_name("FOLDER");
  command
      .add_option("--dynolog-address", options.dynolog_addresses,
                  "where dyno connects; 127.0.0.1:1778 and [::1]:1778 unless\ngiven, one that other hosts reach only "
                  "with --token")
      ->type_name("ADDRESS[:PORT],…");
  command.add_option("--token", options.token_file, "a file with the word that requests from the network must carry")
      ->type_name("FILE");
}

}  // namespace kymo::daemon
