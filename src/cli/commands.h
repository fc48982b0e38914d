// The commands of `kymo`, one file each, and the entry point.
//
// A command takes the arguments after its name and returns the exit code. It throws kymo::Error for a failure and
// options::UsageError for a wrong command line. All of it runs on the main thread.
#pragma once

#include <string>
#include <vector>

namespace kymo::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kWrongUsage = 2,
  kLossOrDamage = 3,    // with --strict
  kNothingMatched = 3,  // no process matched
  kCannotRun = 126,     // as in shells: the program exists but cannot be run
  kNotFound = 127,      // … the program is not found
  kDiedOfSignal = 128   // plus the signal's number
};

using Arguments = std::vector<std::string>;

int record(const Arguments&);          // runs a program and records it
int env_command(const Arguments&);     // the environment that loads Kymo into later programs
int info(const Arguments&);            // what a trace holds
int report_command(const Arguments&);  // where the time went, on one page
int stats(const Arguments&);           // the same by name
int path_command(const Arguments&);    // the critical path of an iteration
int diff_command(const Arguments&);    // what became slower or faster
int flame(const Arguments&);           // where the time went, by path
int hist(const Arguments&);            // the distribution of durations
int timeline(const Arguments&);        // the tracks as text
int view_command(const Arguments&);    // the tracks in a browser
int memory_command(const Arguments&);  // where the memory went
int query_command(const Arguments&);   // SQL
int export_command(const Arguments&);  // to other tools' formats
int merge_command(const Arguments&);   // several ranks on one clock
int push_command(const Arguments&);    // into the tables of a database
int watch_command(const Arguments&);   // the same for a folder, as traces arrive
int fleet_command(const Arguments&);   // questions about many traces
int import_command(const Arguments&);  // from other tools' formats
int cut(const Arguments&);             // a part of a trace
int recover(const Arguments&);         // adds what dead processes left to their trace
int devices(const Arguments&);         // which accelerators there are
int sinks(const Arguments&);           // which other tools can receive annotations
int shader_command(const Arguments&);  // translates a Metal source
int replay_command(const Arguments&);  // runs captured device work again
int capture_info(const Arguments&);    // what a capture holds
int ps(const Arguments&);              // lists programs that can be traced on demand
int trigger(const Arguments&);         // requests traces from them
int status_command(const Arguments&);  // what became of triggers
int cancel(const Arguments&);          // cancels a trigger
int doctor(const Arguments&);          // why a program cannot be traced on demand
int daemon_command(const Arguments&);  // the daemon for traces on demand
int completion(const Arguments&);      // completion scripts for shells
int manual(const Arguments&);          // manual pages

int remote_command(const Arguments&);  // the far end of --hosts; in no list, because nobody types it

// The whole command line, without the program's own name: finds the command, runs it, reports what it throws.
int run(const Arguments&);

}  // namespace kymo::cli
