// Writes the events of one track of a Kymo trace: in the order of the program, cut into chunks, each of which says what
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

// Where a trace's chunks go, and what all tracks share.
struct TraceTarget {
  trace::Writer& writer;
  trace::WriterId id;
  const ResultData& result;
  const Rows& rows;
  TraceClasses& classes;
  std::vector<bool> launches;  // events that asked a device for something
};

class TrackWriter {
 public:
  TrackWriter(TraceTarget& target, uint32_t track) : target_(target) { batch_.track = batch_.ring = track; }

  // The next event of the row. By its depth it ends those before it that it is not in.
  void begin(uint32_t event);
  // An allocation (an index), the stack of an event, the end of the recording. Not before what came until now.
  void allocation(uint32_t index);
  void stack_of(uint32_t event);
  void window_end();
  // Ends what is open, but those of it that never ended.
  void finish();

  // After that: events of lanes above 0, each lane's in the order of their beginnings. `first_lane` becomes lane 1.
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
