// Which row of a viewer an event stands on.
//
// A thread has a row, and each queue of a device has one. Viewers take the events of one row for a nest: one that
// overlaps another without being inside it is dropped or drawn wrong. So what does not nest on its row (an operation
// that ended on another thread, an event as a backend measured it) goes to a lane beside it, and the events inside it
// follow it there. Nothing is left out. Both files that are written use this.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "edge/result_data.h"

namespace kymo::edge {

// A thread, or a queue of a device.
struct RowTrack {
  bool on_device = false;
  uint64_t thread = 0;  // a thread's
  std::string name;
  DeviceId device;  // a queue's
  uint64_t queue = 0;
  uint32_t lanes = 1;
};

struct RowPlace {
  uint32_t track = 0;
  uint32_t lane = 0;   // 0: the row itself
  uint32_t depth = 0;  // how many events are around it in its lane
};

struct Rows {
  std::vector<RowTrack> tracks;  // those of threads first, as in ResultData::threads; then what else there is
  std::vector<RowPlace> places;  // of each event

  std::unordered_map<uint64_t, uint32_t> of_threads;  // the track of a thread that has events or allocations
};

// Linear, and allocates 12 bytes an event.
Rows arrange_rows(const ResultData& result);

// An event's length, of whatever times.
inline uint64_t length_ns(const EdgeEvent& event) {
  return event.end_ns > event.start_ns ? event.end_ns - event.start_ns : 0;
}

}  // namespace kymo::edge
