// Writes the events of one track of a Kymo trace: in the order of the program, split into chunks. Each chunk lists what
// is open at its ends (docs/format.md).
//
//   for the track's row     begin(event), point(…), … in the order of time; finish()
//   for its other lanes     lanes(events)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edge/rows.h"
#include "edge/trace_classes.h"
#include "trace/writer.h"

namespace kymo::edge {

// The output for the chunks of a trace, and the data that all tracks share.
struct TraceTarget {
  trace::Writer& writer;
  trace::WriterId id;
  const ResultData& result;
  const Rows& rows;
  TraceClasses& classes;
  std::vector<bool> launches;  // events that requested device operations
};

class TrackWriter {
 public:
  TrackWriter(TraceTarget& target, uint32_t track) : target_(target) { batch_.track = batch_.ring = track; }

  // The next event of the row. Its depth shows which earlier events have ended before it.
  void begin(uint32_t event);
  // An allocation (an index), the stack of an event, the end of the recording. In order of time.
  void allocation(uint32_t index);
  void stack_of(uint32_t event);
  void window_end();
  // Ends all open events, except those that never ended.
  void finish();

  // After finish(): events of lanes above 0, each lane in the order of begin. `first_lane` becomes lane 1.
  void lanes(std::span<const uint32_t> events, uint32_t first_lane);

 private:
  void end_down_to(size_t depth);
  void end_before(uint64_t time);
  uint64_t end_of(uint32_t event) const;
  void append_range(uint32_t event, uint32_t depth, uint16_t lane);
  void append_point(uint64_t time, trace::PointKind kind, uint32_t class_id, uint64_t id);
  uint64_t correlation_of(uint32_t event) const;
  trace::OpenRange open_range(uint32_t event, size_t& text_left);
  void flush_if_large();
  void flush();

  TraceTarget& target_;
  std::vector<uint32_t> open_;  // events, outermost first
  trace::EventBatch batch_;
};

}  // namespace kymo::edge
