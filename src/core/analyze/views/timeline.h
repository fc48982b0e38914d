// A timeline of a trace for a screen of text: for each track and each column, how busy it was and with what.
//
// A large trace has many chunks in each column. Only the first of them is decoded, for the names; of the others only
// the summary in the head is read. So the time depends on the number of chunks and columns, not of events. The share of
// time is exact either way, except where ranges of several lanes overlap: a column is at most full.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

struct TimelineRow {
  std::string process, track;
  bool on_device = false;
  double busy = 0;                    // the share of the whole time, 0 to 1
  std::vector<double> columns;        // the same for each column
  std::vector<std::string> names;     // for each column: the class with the most time in it; may be empty
  std::vector<TimelineBlock> blocks;  // by time; they do not overlap
};

struct Timeline {
  std::vector<TimelineRow> rows;         // of tracks with events, by process, then devices
  uint64_t without_clock = 0;            // tracks whose clock cannot be converted: they are not in any row
  uint64_t decoded = 0, summarised = 0;  // chunks
  std::vector<trace::Problem> problems;
};

// The reader shows what is between the two times, as Reader::narrow() does; `times` are those of the whole trace. Never
// throws for a damaged trace.
Timeline make_timeline(const trace::Reader& reader, const convert::TraceTimes& times,
                       const convert::TrackChoice& choice, const TimelineOptions& options);

}  // namespace kymo::views
