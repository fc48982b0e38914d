// Time statistics: one row for each name, thread (or queue) or category of a trace.
//
// Reads only the columns it needs (durations, classes, depths). All cores decode chunks ahead of the thread that sums:
// tens of millions of ranges per second. Memory is limited by the number of names, not of events. Quantiles are exact
// while a name has few enough durations to keep them all; after that they come from a histogram with a stated error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/thread_states.h"
#include "trace/reader.h"

namespace kymo::analyze {

enum class GroupBy : uint8_t { Name, Thread, Category };

struct StatsOptions {
  GroupBy group_by = GroupBy::Name;
  // Groups by the text of an event ("step 7") instead of its operation ("step {}"). Slower, and limited to the first
  // 65,536 texts of a process: ranges with other texts are added up under "(other names)".
  bool full_text = false;
  // The max number of durations kept for exact quantiles, for one name in one process and in total. Above either limit,
  // the largest sets become histograms.
  uint64_t exact_per_name = 1'000'000;
  uint64_t exact_in_total = 2'000'000;
  // What the threads did: for RangeRow::in_state. Null, or not placed: no row has it.
  const StatesOfThreads* states = nullptr;
};

// Quantiles are those of base/quantile.h, or, if approximate, within relative_error of a duration that occurred.
struct RangeRow {
  std::string name;  // of the class, the text, the thread or the category
  std::string category;
  uint64_t pid = 0, tid = 0;    // of the thread, if grouped by thread
  std::string device;           // Track::device_id() of the queue, if grouped by thread
  bool across_threads = false;  // started and ended by handle: it nests in nothing, so all its time is self time
  bool on_device = false;       // on a device's queue, not host time; separate from thread ranges of the same name
  // Ranges that are open at the end of the trace have their own row. They lasted at least until their process was last
  // seen alive. Their full length is not known, so there is no min, median, p99 or max.
  bool unfinished = false;
  uint64_t count = 0;
  uint64_t total_ns = 0;
  uint64_t self_ns = 0;          // total without the ranges directly inside
  bool has_states = false;       // some of these ranges are on sampled threads
  StateTimes::Times in_state{};  // of the total; the rest is not known
  uint64_t min_ns = 0, median_ns = 0, p99_ns = 0, max_ns = 0;
  bool approximate = false;   // only median and p99; everything else is always exact
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
  uint64_t unfinished = 0;            // ranges that are open at the end of the trace
  uint64_t unfinished_in_no_row = 0;  // of those: not in any row, because too many were open across threads
  uint64_t unmatched_ends = 0;        // ends of ranges across threads whose start is not in the trace
  uint64_t other_points = 0;          // flows, allocations and samples; they are not in any row
  // What could not be read: the problems of the reader, and damaged chunks that were found here.
  std::vector<trace::Problem> problems;
};

// Never throws for a damaged trace: everything that is readable is counted.
Statistics compute_statistics(const trace::Reader& reader, const StatsOptions& options = {});

}  // namespace kymo::analyze
