// `kymo`: the commands of this program, and the list of the programs beside it.
#include "cli/run.h"
#include "cli/shell_commands.h"
#include "commands/convert/commands.h"
#include "commands/ondemand/commands.h"
#include "commands/read/commands.h"
#include "commands/record/commands.h"
#include "program_list.h"

int main(int argc, char** argv) {
  using namespace kymo::cli;
  static constexpr Command kListed[] = {
      {"record", Group::Record, "run a program and record what it does"},
      {"env", Group::Record, "print the environment that makes later programs traceable on demand"},
      {"recover", Group::Record, "add events that crashed programs left in memory to their trace"},
      {"report", Group::Read, "show on one page where the time went, and what would save time"},
      {"stats", Group::Read, "show the time of each name, thread or category"},
      {"annotate", Group::Read, "show the source of a function with the time of each line"},
      {"info", Group::Read, "show what a trace or a capture contains"},
      {"path", Group::Read, "show the critical path of an iteration, and what would shorten it"},
      {"diff", Group::Read, "show what became slower or faster between traces"},
      {"flame", Group::Read, "show where the time went by path, as a flame graph"},
      {"hist", Group::Read, "show the distribution of the durations of a range"},
      {"roofline", Group::Read, "show what kernels compute and move against the peaks of their GPU"},
      {"timeline", Group::Read, "show the tracks of a trace as one screen of text"},
      {"memory", Group::Read, "show where the memory went, and what was never freed"},
      {"query", Group::Read, "run SQL over traces"},
      {"export", Group::Convert, "convert a trace for other viewers"},
      {"merge", Group::Convert, "put the traces of several ranks on one clock"},
      {"cut", Group::Convert, "write a part of a trace to another trace"},
      {"trigger", Group::OnDemand, "request traces from running programs, show or cancel requests"},
      {"ps", Group::OnDemand, "list the running programs that can be traced on demand"},
      {"stack", Group::OnDemand, "show where the threads of a running process are, and what they wait for"},
      {"doctor", Group::OnDemand, "find out what can be recorded here, and why a program cannot be traced"},
      {"daemon", Group::OnDemand, "run the daemon for traces on demand"},
      {"completion", Group::Shell, "print the completion script for a shell"},
      {"manual", Group::Shell, "print the manual page of a command"},
  };
  static constexpr Implementation kOwn[] = {
      {"record", record},
      {"env", env_command},
      {"recover", recover},
      {"report", report_command},
      {"stats", stats},
      {"annotate", annotate},
      {"info", info},
      {"path", path_command},
      {"diff", diff_command},
      {"flame", flame},
      {"hist", hist},
      {"roofline", roofline},
      {"timeline", timeline},
      {"memory", memory_command},
      {"query", query_command},
      {"export", export_command},
      {"merge", merge_command},
      {"cut", cut},
      {"trigger", trigger},
      {"ps", ps},
      {"stack", stack_command},
      {"doctor", doctor},
      {"daemon", daemon_command},
      {"completion", completion},
      {"manual", manual},
      {"remote", remote_command},  // nobody types it
  };
  return run_kymo(argc, argv, kListed, kOwn, kProgramsBeside);
}
