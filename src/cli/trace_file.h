// Opens a trace for a command: first recovers what dead processes left in memory, then reads the file. A trace of
// another tool is imported first (import/import.h).
#pragma once

#include <string>

#include "trace/reader.h"

namespace kymo::cli {

// Prints to standard error what was recovered. If recovery fails, this is a warning, because the file can still be
// read. Throws kymo::Error if the file cannot be read.
trace::Reader open_trace(const std::string& path);
// The same for a command that also shows what is recorded later.
trace::Reader open_trace_to_follow(const std::string& path);

// A trace that a command writes must be a file: commands read it in any order, and recorders append to it. Throws
// options::UsageError for "-".
void refuse_standard_output(const char* command, const std::string& output);

}  // namespace kymo::cli
