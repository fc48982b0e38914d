// A trace as rows of the tables: what fleets ask for, which src/core/analyze computes, and its events.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
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
  std::string host;                                // empty: unknown
  bool lacks_end = false;                          // the end of the file or of a recording is missing
  uint64_t left_out = 0;                           // calls that are too many for one trace
  bool is_whole = false;                           // it has no iterations, and counts as one
  uint64_t unknown_calls = 0;                      // collectives whose name does not say which one it is
  std::string unknown_call;                        // the name of one
  uint64_t operation_calls = 0, operation_ns = 0;  // of all operations
  std::string damage;  // the first part before the end that cannot be read; empty: all can be read

  // Adds a row of the trace.
  template <typename... Values>
  void add(Block& block, const Values&... values) const {
    block.add(trace, started, job, rank, values...);
  }
};

// True if the end of the file or of a recording is missing.
bool lacks_end(const trace::Reader& reader);

// True if the file may be a part of one that is still copied: its end is missing, or something in it cannot be read.
bool may_be_part(const trace::Reader& reader);

// Adds the rows of what the reader shows as those of a trace, and its mark. Never throws for a damaged trace: what is
// readable is added.
RowHead add_summary(SummaryBlocks& blocks, const trace::Reader& reader, uint64_t trace, const TraceLabels& labels);

// From when to when traces of it may begin, in seconds since 1970, with a day on both sides for clocks that are merged.
std::pair<uint32_t, uint32_t> times_of(const trace::Reader& reader);

// When it began, in days since 1970: the tables are divided by days, and so are inserts. Throws kymo::Error for a trace
// that begins after the last date of the tables.
uint32_t day_of(const RowHead& head);

// What to say about a trace that is pushed and is not as it should be, one line each. The file is named in all of them.
std::vector<std::string> warnings_of(const RowHead& head, const std::string& path);

}  // namespace kymo::push
