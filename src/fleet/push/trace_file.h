// The file of a trace: the number of its content, and whether it still is what it was then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_version.h"
#include "push/ranks.h"
#include "trace/reader.h"

namespace kymo::push {

// A number for the content of a file: the same content has the same number.
uint64_t trace_number(const std::string& path);

// The numbers of all traces that a file has or had in a store: those that it is divided into now, or that
// an older Kymo stored.
std::vector<uint64_t> all_trace_numbers(trace::Reader& reader, const std::string& path);

struct TraceFile {
  explicit TraceFile(std::string its_path);

  // True also if it is gone. What was read before belongs to `number` only if this is false afterwards.
  bool has_changed() const;

  // Finds the processes of its traces, of which the numbers are known, in a reader of the same file. A file of another
  // tool is imported each time it is opened, and its processes then have other writers. Throws kymo::Error if it has
  // other traces.
  void find_processes(trace::Reader& reader);

  std::string path;
  base::FileVersion version;  // before the number was computed
  uint64_t number = 0;
  // Set by who reads it.
  bool lacks_end = false;
  RanksOfFile ranks;
};

}  // namespace kymo::push
