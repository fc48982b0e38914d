// Opens a trace for a command: first recovers what dead processes left in memory, then reads the file. A trace of
// another tool is imported first (import/import.h).
#pragma once

#include <string>

#include "import/import.h"
#include "trace/reader.h"

namespace kymo::cli {

struct OpenOptions {
  bool range_values = true;  // false: the command does not use them, and an import need not read them
};

// Prints to standard error what was recovered. If recovery fails, this is a warning, because the file can still be
// read. Throws kymo::Error if the file cannot be read.
trace::Reader open_trace(const std::string& path);
trace::Reader open_trace_with(const std::string& path, const OpenOptions& options);
// The same for a command that also shows what is recorded later, or that says itself that somebody still records.
trace::Reader open_trace_to_follow(const std::string& path);

// Appends the events of another tool's trace to a Kymo trace, which messages call `output_name`, with a progress bar.
// Throws as import::import_trace().
kymo::import::Imported import_file(const std::string& path, const std::string& output, const std::string& output_name,
                                   const OpenOptions& options = {});

// A trace that a command writes must be a file: commands read it in any order, and recorders append to it. Throws
// options::UsageError for "-".
void refuse_standard_output(const char* command, const std::string& output);

}  // namespace kymo::cli
