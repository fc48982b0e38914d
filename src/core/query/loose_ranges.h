// The ranges of a trace that are not in the list of ranges of a chunk: ranges across threads, whose two ends are points
// of different tracks, and ranges that have no end.
//
// One thread reads them in file order, because a range that is open after a chunk may end in the next one. It reads
// only the heads of the chunks, and their points. Memory does not grow with the trace. The rows are the same as those
// of convert/events.h.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "convert/async_ranges.h"
#include "query/event_texts.h"
#include "query/loaded_traces.h"
#include "query/table.h"

namespace kymo::query {

class LooseRanges : private convert::EventVisitor {
 public:
  LooseRanges(LoadedTraces& traces, const LoadedTrace& trace, bool wants_args);

  // Writes rows of the table "ranges"; 0: there are no more.
  size_t next(Output& output);

 private:
  struct Row {
    const TrackInfo* track = nullptr;
    uint32_t name = 0, category = 0;
    std::string full_name, args;
    int64_t start_ns = 0, end_ns = 0;
    bool across_threads = false, finished = true;
    uint16_t depth = 0;
    uint64_t correlation = 0;
  };
  struct Track {
    std::vector<trace::OpenRange> open;  // after its last chunk, outermost first
    uint64_t last = 0;                   // ticks of its last event
  };

  void find_ends();
  void read(const trace::EventChunk& chunk);
  void read_points(const TrackInfo& track, const trace::Points& points);
  void add_unfinished(const TrackInfo& track, const trace::OpenRange& open, size_t depth, int64_t end_ns);
  void finish();
  void async_range(const convert::AsyncRange& range) override;
  Row& add_row(const convert::Event& event, const TrackInfo& track);
  void write(Output& output, size_t row, const Row& from) const;

  LoadedTraces& traces_;
  const LoadedTrace& trace_;
  const bool wants_args_;
  size_t next_chunk_ = 0;
  bool finished_ = false;
  std::map<uint32_t, int64_t> ends_ns_;  // by writer: when the process was last seen alive
  std::map<const TrackInfo*, Track> tracks_;
  std::map<const convert::Place*, const TrackInfo*> by_place_;
  trace::EventBatch batch_;
  EventTexts texts_, open_texts_;
  trace::Values open_values_;
  convert::AsyncRanges async_;
  std::deque<Row> rows_;
};

}  // namespace kymo::query
