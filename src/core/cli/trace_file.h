// Opens a trace for a command: first recovers what dead processes left in memory, then reads the file. A trace of
// another tool is imported first, by the program kymo-import (cli/programs.h).
#pragma once

#include <string>
#include <vector>

#include "base/temporary_file.h"
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

// A trace that a command writes must be a file: commands read it in any order, and recorders append to it. Throws
// options::UsageError for "-".
void refuse_standard_output(const char* command, const std::string& output);

// Throws kymo::Error if the output is one of the files that are read.
void refuse_input(const std::string& output, const std::vector<std::string>& inputs);

// A trace that a command writes: it appears under its name when it is complete.
//
//   TraceOutput output(path, {input});
//   trace::Writer writer(output.temporary_path(), trace::Writer::Mode::Append);
//   …
//   output.commit();
class TraceOutput {
 public:
  // An older trace is replaced. Throws kymo::Error if the file is one of `inputs`, or exists and is not a Kymo trace.
  TraceOutput(const std::string& path, const std::vector<std::string>& inputs);

  const std::string& temporary_path() const { return file_.temporary_path(); }
  void commit() { file_.commit(); }

 private:
  base::AtomicFile file_;
};

}  // namespace kymo::cli
