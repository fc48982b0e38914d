// A trace as rows of the tables: what fleets ask for, which src/core/analyze computes, and its events.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "push/store.h"
#include "push/tables.h"
#include "trace/reader.h"

namespace kymo::push {

// What the trace does not say about itself.
struct TraceLabels {
  std::string job;    // empty: from the environment of the recorded program, or its name
  int64_t rank = -1;  // -1: unknown
  std::string file;
  bool is_part = false;                 // of the file, which has other traces too
  std::string run{};                    // empty: from the environment
  std::set<trace::WriterId> helpers{};  // their iterations do not count
};

// The values that every row of a trace begins with.
struct RowHead {
  uint64_t trace = 0;
  uint32_t started = 0;  // seconds since 1970
  std::string job;
  int32_t rank = -1;                               // -1: unknown
  std::string run;                                 // of the job; empty: unknown
  bool lacks_end = false;                          // the end of the file or of a recording is missing
  uint64_t left_out = 0;                           // operations and calls that are too many for the rows of one trace
  uint64_t unnumbered = 0;                         // iterations without a usable number, although others have one
  uint64_t operation_calls = 0, operation_ns = 0;  // of all operations
  std::string damage;  // the first part before the end that cannot be read; empty: all can be read

  void add_to(Block& block) const;
};

struct SummaryBlocks {
  SummaryBlocks();
  Block iterations, operations, device_time, memory, waits;
  Block traces;  // the commit marks
  // All but the marks, in the order in which they are inserted.
  std::array<const Block*, 5> of_traces() const { return {&iterations, &operations, &device_time, &memory, &waits}; }
  size_t bytes() const;
  size_t rows() const;  // of of_traces()
  void clear() { *this = {}; }
  void append(const SummaryBlocks& other);
};

// True if the end of the file or of a recording is missing.
bool lacks_end(const trace::Reader& reader);

// True if the file may be a part of one that is still copied: its end is missing, or something in it cannot be read.
bool may_be_part(const trace::Reader& reader);

// Adds the rows of what the reader shows as those of a trace, and its mark. Never throws for a damaged trace: what is
// readable is added.
RowHead add_summary(SummaryBlocks& blocks, const trace::Reader& reader, uint64_t trace, const TraceLabels& labels);

// The job of all that the reader shows: what the environment of its processes says, or the name of the program.
std::string job_of(const trace::Reader& reader);

// The month of the partition, as the tables are divided: rows of one insert should have one. Throws
// kymo::Error for a trace that begins after the last date of the tables.
uint32_t month_of(const RowHead& head);

// What to say about a trace that is pushed and is not as it should be, one line each. The file is named in all of them.
std::vector<std::string> warnings_of(const RowHead& head, const std::string& path);

}  // namespace kymo::push
