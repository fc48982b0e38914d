// The interfaces of other tools that `kymo record` records in programs that were not written for Kymo.
//
// A program that uses one of them loads libkymo_inject.so, because an environment variable of the interface names it. A
// program that uses none of them is not changed in any way.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "options/command_line.h"
#include "record/interfaces.h"

namespace kymo::cli {

// The user's choice: --with and --without.
struct InterfaceChoice {
  std::vector<record::Interface> with, without;
  // --with node, java: these write the names of the functions that they compile, so that samples have them.
  std::vector<std::string> compilers;
  // --without gpu-counters: no counters of GPUs beside the work that CUDA records.
  bool without_gpu_counters = false;
  // --python-stacks off: operators and launches do not say which line of Python they are from.
  bool without_python_stacks = false;
  // What is recorded: the interfaces that are recorded by default, with these changes.
  std::vector<record::Interface> selected() const;
};
// `of_recorder`: also what the recorder reads itself, outside of the program.
void add_interface_options(options::CommandLine& line, InterfaceChoice& choice, bool of_recorder = false);

using Variables = std::vector<std::pair<std::string, std::string>>;

// The environment that makes programs load the library for these interfaces. A variable that has place for one tool and
// names another one keeps it. Throws kymo::NotAvailable if the library is not installed.
Variables interface_environment(const std::vector<record::Interface>& selected);
// The same; prints a line for each interface that another tool has. If the library is not there, prints one line that
// says why, and returns nothing.
Variables interface_environment_or_warning(const std::vector<record::Interface>& selected);

// What else the choice says to the libraries in programs.
Variables settings_environment(const InterfaceChoice& choice);

// The environment that makes these compilers write names. Options of the user stay.
Variables compiler_environment(const std::vector<std::string>& compilers);

inline constexpr const char* kInjectedLibrary = "libkymo_inject.so";

// For `kymo doctor`.
struct InterfaceDescription {
  record::Interface interface;
  std::string title;
  bool by_default;
  std::string variable;    // the first one that names the library
  std::string other_tool;  // that has the only place; empty: none
  std::string value;       // what the variable contains if a program loads the library
};
std::vector<InterfaceDescription> interface_descriptions();

// "NVTX", or "NVTX or OpenCL".
std::string interface_titles(const std::vector<record::Interface>& selected);

}  // namespace kymo::cli
