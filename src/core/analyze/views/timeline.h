// A timeline of a trace for a screen of text: for each track and each column, how busy it was and with what.
//
// A sampled thread without ranges, other than recorded waits, is busy while it runs on a processor
// (analyze/thread_states.h).
//
// All cores decode. A track with ranges that overlap is read a second time (analyze/nesting.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/thread_states.h"
#include "convert/places.h"
#include "convert/trace_times.h"
#include "trace/reader.h"

namespace kymo::views {

struct TimelineOptions {
  size_t columns = 60;
  uint16_t depth = 0;  // of the ranges: 0 is the outermost
  // Counted from the first event of the trace.
  uint64_t from_ns = 0, to_ns = 0;
  size_t block_columns = 6;  // a range over at least so many columns has a block of its own
};

// A range that is wide enough to be seen, from one column to another. Both are inside.
struct TimelineBlock {
  size_t first = 0, last = 0;
  std::string name;  // with its "{}" filled
  bool unfinished = false;
};

// A range that has not ended when its process was last seen alive. Counted from the first event of the trace.
struct TimelineUnfinished {
  std::string name;
  int64_t begin_ns = 0, end_ns = 0;
};

struct TimelineRow {
  std::string process, track;
  bool on_device = false;
  bool is_sampled = false;            // it has no ranges: it is busy while it runs on a processor
  double busy_ns = 0;                 // the time inside of ranges at the depth
  double busy = 0;                    // the same as a share of the whole time, 0 to 1
  std::vector<double> columns;        // the same for each column
  std::vector<double> ready;          // of a sampled thread: others ran in this share of a column, and it could have
  std::vector<double> unknown;        // of a sampled thread: what it did in this share of a column is not known
  std::vector<std::string> names;     // for each column: the class with the most time in it; may be empty
  std::vector<TimelineBlock> blocks;  // by time; they do not overlap
  std::vector<TimelineUnfinished> unfinished;  // of all depths, outermost first
};

struct Timeline {
  std::vector<TimelineRow> rows;  // of tracks with events, by process, then devices
  uint64_t without_clock = 0;     // tracks whose clock cannot be converted: they are not in any row
  std::vector<trace::Problem> problems;
};

// The length of a trace, from its first event to the last, or until the last process with unfinished ranges was last
// seen alive: what hangs lasts longer than the events. Reads a chunk header for each track.
uint64_t length_with_unfinished(const trace::Reader& reader, const convert::TraceTimes& times);

// The reader shows what is between the two times, as Reader::narrow() does; `times` and `threads` are those of the
// whole trace. Never throws for a damaged trace.
Timeline make_timeline(const trace::Reader& reader, const convert::TraceTimes& times,
                       const convert::TrackChoice& choice, const TimelineOptions& options,
                       const std::vector<analyze::ThreadStates>& threads = {});

}  // namespace kymo::views
