// The commands of `kymo`, one file each, and the way in.
//
// A command takes the arguments behind its name and returns the exit code; it throws kymo::Error for what went wrong
// and options::UsageError for a wrong command line. All of it runs on the main thread.
#pragma once

#include <string>
#include <vector>

namespace kymo::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kWrongUsage = 2,
  kLossOrDamage = 3,    // with --strict
  kNothingMatched = 3,  // no process is what was asked for
  kCannotRun = 126,     // as shells have it: the program is there but cannot be run
  kNotFound = 127,      // … and is not there
  kDiedOfSignal = 128   // plus the signal's number
};

using Arguments = std::vector<std::string>;

int record(const Arguments&);          // runs a program and records it
int info(const Arguments&);            // what a trace holds
int stats(const Arguments&);           // where the time went
int memory_command(const Arguments&);  // where the memory went
int export_command(const Arguments&);  // to other tools' formats
int recover(const Arguments&);         // what dead processes left, into their trace
int devices(const Arguments&);         // which accelerators there are
int sinks(const Arguments&);           // which other tools can hear programs
int shader_command(const Arguments&);  // what a Metal source becomes
int replay_command(const Arguments&);  // captured device work, once more
int capture_info(const Arguments&);    // what a capture holds
int ps(const Arguments&);              // which programs can be asked for a trace
int trigger(const Arguments&);         // asks them
int cancel(const Arguments&);          // takes that back
int doctor(const Arguments&);          // why a program cannot be asked
int daemon_command(const Arguments&);  // serves programs that can be asked for a trace
int completion(const Arguments&);      // completion scripts for shells
int manual(const Arguments&);          // manual pages

// The whole command line, without the program's own name: finds the command, runs it, reports what it throws.
int run(const Arguments&);

}  // namespace kymo::cli
