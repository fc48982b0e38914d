// The programs beside `kymo`: where they are, and what they say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.h"

namespace kymo::cli {

// Where it is. Throws kymo::NotAvailable if it is not installed.
std::string program_path(const std::string& file);

// Becomes the program `file` with these arguments; the first one is a command of it. Throws kymo::Error if it is not
// installed or cannot be started.
[[noreturn]] void become_program(const std::string& file, const Arguments& arguments);

struct ProgramOutput {
  int exit_code = 0;   // 128 plus its number, if a signal ended it
  std::string output;  // what it wrote to standard output; standard error is the caller's
};

// Runs it and waits. Throws as become_program().
ProgramOutput run_beside(const std::string& file, const Arguments& arguments);

// Traces of other tools, which the program kymo-import reads.

struct Imported {
  uint64_t events = 0;
  uint64_t lost = 0;  // counted in the ledger of the trace
};

struct ImportRequest {
  std::string path;          // the trace of another tool
  std::string output;        // the Kymo trace that its events are appended to
  std::string output_name;   // the output in messages
  bool range_values = true;  // false: the reader may leave out the values of ranges
};

// Whether the file is a trace that kymo-import reads, by its content. Throws kymo::Error if kymo-import is missing.
bool is_foreign_trace(const std::string& path);

// Imports the file, with a progress bar. Nothing: it is not a trace of another tool. Throws kymo::Error with the path
// and the reason if it cannot be read or written, or if kymo-import is missing.
std::optional<Imported> import_file(const ImportRequest& request);

// A program that contains the importer, and reads many files, sets it: then no other program is started for each file.
using Importer = std::optional<Imported> (*)(const ImportRequest&);
void set_importer(Importer importer);

}  // namespace kymo::cli
