// The commands of `kymo`, and the programs that contain them.
//
// A command takes the arguments after its name and returns the exit code. It throws kymo::Error for a failure and
// options::UsageError for a wrong command line. All of it runs on the main thread.
//
// `kymo` is a small program. Commands with many dependencies are in programs of their own, which `kymo` starts as git
// starts its commands: the web server, the import of other tools' traces, and the commands of the parts devices and
// fleet. Such a program describes itself by a constexpr PartProgram in a header, and kymo_program() in CMake adds it to
// the list that `kymo` has. So help, completion and manual pages show one command, and a part that is not built is not
// in the list.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kymo::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,  // also: a limit that was given is exceeded
  kWrongUsage = 2,
  kIncomplete = 3,      // the data is not enough for an answer; with --strict, something was lost or is damaged
  kNothingMatched = 3,  // no process matched
  kCannotRun = 126,     // as in shells: the program exists but cannot be run
  kNotFound = 127,      // … the program is not found
  kDiedOfSignal = 128   // plus the signal's number
};

using Arguments = std::vector<std::string>;

enum class Group : uint8_t { Record, Read, Convert, OnDemand, Devices, Fleet, Shell };  // in the order of the help

struct Command {
  const char* name;
  Group group;
  const char* summary;
};

struct Implementation {
  const char* command;
  int (*run)(const Arguments&);
};

// A kind of folder that is not a trace, and the command of the program that describes it for `kymo info`.
struct FileKind {
  const char* ending;   // of its name, or
  const char* content;  // a file in it
  const char* command;
};

// A program beside `kymo`.
struct PartProgram {
  const char* file;                        // "kymo-view"
  std::span<const Command> commands = {};  // that the help lists
  std::span<const FileKind> file_kinds = {};
  const char* checks = nullptr;  // its command that prints findings for `kymo doctor`
};

}  // namespace kymo::cli
