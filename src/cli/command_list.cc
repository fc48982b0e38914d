#include "cli/command_list.h"

namespace kymo::cli {

std::span<const Command> all_commands() {
  static constexpr Command kCommands[] = {
      {"record", "run a program and record what it does", record},
      {"info", "show what a trace contains", info},
      {"report", "show on one page where the time went, and what would save time", report_command},
      {"stats", "show the time of each name, thread or category", stats},
      {"path", "show the critical path of an iteration, and what would shorten it", path_command},
      {"diff", "show what became slower or faster between traces", diff_command},
      {"flame", "show where the time went by path, as a flame graph", flame},
      {"hist", "show the distribution of the durations of a range", hist},
      {"timeline", "show the tracks of a trace as one screen of text", timeline},
      {"view", "show traces as a timeline in a browser", view_command},
      {"memory", "show where the memory went, and what was never freed", memory_command},
      {"query", "run SQL over traces", query_command},
      {"export", "convert a trace for other viewers", export_command},
      {"import", "convert traces of other tools", import_command},
      {"merge", "put the traces of several ranks on one clock", merge_command},
      {"push", "write the figures of traces into the tables of a ClickHouse server", push_command},
      {"watch", "push the traces of a folder as they arrive, and delete old ones", watch_command},
      {"fleet", "show what is slow in the traces of many ranks", fleet_command},
      {"cut", "write a part of a trace to another trace", cut},
      {"recover", "add events that crashed programs left in memory to their trace", recover},
      {"env", "print the environment that makes later programs traceable on demand", env_command},
      {"ps", "list the running programs that can be traced on demand", ps},
      {"trigger", "request traces from running programs", trigger},
      {"status", "show the outcomes of recent triggers", status_command},
      {"cancel", "cancel a trigger, or stop it and keep the traces", cancel},
      {"doctor", "find out why a program cannot be traced on demand", doctor},
      {"daemon", "run the daemon for traces on demand", daemon_command},
      {"devices", "list the accelerators of this machine", devices},
      {"sinks", "list the other tools that can receive annotations", sinks},
      {"shader", "translate a Metal shader, or list its kernels", shader_command},
      {"replay", "run the device work of a capture again", replay_command},
      {"capture-info", "show what a capture of device work contains", capture_info},
      {"completion", "print the completion script for a shell", completion},
      {"manual", "print the manual page of a command", manual},
  };
  return kCommands;
}

}  // namespace kymo::cli
