#include "cli/command_list.h"

namespace kymo::cli {

std::span<const Command> all_commands() {
  static constexpr Command kCommands[] = {
      {"record", "run a program and record what it does", record},
      {"info", "show what a trace holds", info},
      {"stats", "show where the time went", stats},
      {"memory", "show where the memory went, and what was never given back", memory_command},
      {"export", "convert a trace for other viewers", export_command},
      {"recover", "bring what crashed programs left into their trace", recover},
      {"ps", "list the running programs that can be asked for a trace", ps},
      {"trigger", "ask running programs for a trace", trigger},
      {"cancel", "take back what trigger asked for", cancel},
      {"doctor", "say why a program cannot be asked", doctor},
      {"daemon", "serve programs that can be asked for a trace", daemon_command},
      {"devices", "list the accelerators of this machine", devices},
      {"sinks", "list the other tools that can hear programs", sinks},
      {"shader", "translate a Metal shader, or list its kernels", shader_command},
      {"replay", "run the device work of a capture again", replay_command},
      {"capture-info", "show what a capture of device work holds", capture_info},
      {"completion", "print the completion script of a shell", completion},
      {"manual", "print the manual page of a command", manual},
  };
  return kCommands;
}

}  // namespace kymo::cli
