// Finds the row of a viewer for each event.
//
// A thread has a row, and each queue of a device has one. Viewers expect that the events of one row nest: an event that
// overlaps another without being inside it is dropped or drawn wrong. So an event that does not nest in its row (an
// operation that ended on another thread, an event with a backend's times) goes to a lane next to it, with all events
// inside it. Nothing is left out. Both output files use this.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "edge/result.h"

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
  uint32_t lane = 0;  // 0: the row itself
};

struct Rows {
  std::vector<RowTrack> tracks;  // threads first, as in ResultData::threads; then the others
  std::vector<RowPlace> places;  // of each event

  std::unordered_map<uint64_t, uint32_t> of_threads;  // the track of a thread that has events or allocations
};

// Linear; allocates 8 bytes per event.
Rows arrange_rows(const ResultData& result);

// The length of an event; its times may be invalid.
inline uint64_t length_ns(const EdgeEvent& event) {
  return event.end_ns > event.start_ns ? event.end_ns - event.start_ns : 0;
}

// "Vulkan 0"; "device 42:0" for a kind without a name.
std::string device_text(const DeviceId& device);

}  // namespace kymo::edge
