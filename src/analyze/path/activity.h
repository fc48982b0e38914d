// Everything that happened in one window of a trace, as the nodes that a critical path goes through.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyze/report/device_work.h"
#include "analyze/report/events.h"
#include "analyze/report/intervals.h"

namespace kymo::analyze {

struct HostRange {
  int64_t begin = 0, end = 0;
  uint32_t class_id = 0;
  uint16_t depth = 0;
};

// A call in which a thread waits for a device: cudaStreamSynchronize and the like.
struct DeviceWait {
  int64_t begin = 0, end = 0;
};

// A flow that ends on a thread: work that another thread handed over.
struct Handover {
  int64_t time = 0;
  uint32_t from_track = 0;
  int64_t sent = 0;
};

struct ThreadActivity {
  std::vector<HostRange> ranges;    // by begin, outer ones first
  std::vector<Interval> outermost;  // the outermost ones
  std::vector<DeviceWait> waits;    // by begin
  std::vector<Handover> handovers;  // by time
};

struct QueueActivity {
  std::vector<uint32_t> operations;  // indices, by begin
};

struct Activity {
  Interval window;
  std::map<uint32_t, ThreadActivity> threads;  // by track
  std::vector<DeviceOperation> operations;     // by begin
  std::map<uint32_t, QueueActivity> queues;    // by track
  std::vector<uint32_t> peers;                 // by operation: the one of a collective that began last, or itself
  DeviceWork work;                             // for launch_of()
  uint64_t left_out = 0;                       // ranges beyond kMostRanges

  static constexpr size_t kMostRanges = 8 << 20;
};

bool is_device_wait(std::string_view category, std::string_view name);

Activity read_activity(EventWalk& walk, DeviceWork work, const Interval& window);

}  // namespace kymo::analyze
