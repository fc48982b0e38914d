// Where the time went: one row for each name, thread (or queue) or category of a trace.
//
// Reads only the columns it needs (durations, classes, depths), decoding chunks on all cores ahead of the one that adds
// up; tens of millions of ranges a second. Memory is bounded by the number of names, not of events: quantiles are exact
// as long as a name has few enough durations to keep them all, and come from a histogram of stated error beyond that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace kymo::analyze {

enum class GroupBy : uint8_t { Name, Thread, Category };

struct StatsOptions {
  GroupBy group_by = GroupBy::Name;
  // Group by the text an event shows ("step 7") rather than by its class ("step {}"). Slower, and limited to the first
  // 65,536 texts of a process: ranges of further ones are added up under "(other names)".
  bool full_text = false;
  // Durations kept for exact quantiles: for one name in one process, and over all. Beyond either, the largest sets
  // become histograms.
  uint64_t exact_per_name = 1'000'000;
  uint64_t exact_in_total = 2'000'000;
};

// Nearest-rank quantiles: each is a duration that occurred (or, when approximate, within relative_error of one).
struct RangeRow {
  std::string name;  // of the class, the text, the thread or the category
  std::string category;
  uint64_t pid = 0, tid = 0;    // of the thread, when grouped by thread
  std::string device;           // of the queue, likewise
  bool across_threads = false;  // begun and ended by handle: nests in nothing, so all its time is its own
  bool on_device = false;       // on a device's queue, and not the host's time; apart from a thread's of the same name
  // Open where the trace ends, in a row of their own: they lasted at least until their process was last seen alive. How
  // long each would have been is not known, so there is no min, median, p99 or max.
  bool unfinished = false;
  uint64_t count = 0;
  uint64_t total_ns = 0;
  uint64_t self_ns = 0;  // total without the ranges nested directly inside
  uint64_t min_ns = 0, median_ns = 0, p99_ns = 0, max_ns = 0;
  bool approximate = false;   // median and p99 only; everything else is always exact
  double relative_error = 0;  // of those two
};

struct InstantRow {
  std::string name, category;
  uint64_t count = 0;
};

struct CounterRow {
  std::string name, category;
  uint64_t count = 0;
  double min = 0, max = 0, last = 0, mean = 0;
};

struct Statistics {
  std::vector<RangeRow> ranges;       // longest total first
  std::vector<InstantRow> instants;   // most frequent first
  std::vector<CounterRow> counters;   // by name
  uint64_t unfinished = 0;            // ranges still open where the trace ends
  uint64_t unfinished_in_no_row = 0;  // of those: there were too many across threads
  uint64_t unmatched_ends = 0;        // ends of ranges across threads whose beginning is not in the trace
  uint64_t other_points = 0;          // flows, allocations and samples, which are in no row
  std::vector<trace::Problem>
      problems;  // what could not be read: the reader's own, and damaged chunks found on the way
};

// Never throws for a damaged trace; what is readable is counted.
Statistics compute_statistics(const trace::Reader& reader, const StatsOptions& options = {});

}  // namespace kymo::analyze
