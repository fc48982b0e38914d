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
  uint16_t lane = 0, depth = 0;
};

// A call in which a thread waits for a device: cudaStreamSynchronize and the like.
struct DeviceWait {
  int64_t begin = 0, end = 0;
  bool whole_device = true;  // and not for a stream or an event of it
};

// A flow that ends on a thread: work that another thread handed over.
struct Handover {
  int64_t time = 0;
  uint32_t from_track = 0;
  int64_t sent = 0;
};

struct ThreadActivity {
  std::vector<HostRange> ranges;    // by begin, outer ones first
  std::vector<Interval> busy;       // when it was in a range; see busy_times()
  std::vector<DeviceWait> waits;    // by begin
  std::vector<Handover> handovers;  // by time

  // The begin of the busy time around a time; the time itself if the thread was idle.
  int64_t busy_since(int64_t time) const;
  // The end of the last busy time that begins before a time.
  int64_t idle_since(int64_t time) const;
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
// For the name of such a call.
bool waits_for_whole_device(std::string_view name);

// The times of the outermost ranges, with those that overlap as one. A range that covers the whole window is the
// iteration itself or contains it. It says nothing about what the thread does in the window, so it does not count.
std::vector<Interval> busy_times(const std::vector<HostRange>& ranges, const Interval& window);

Activity read_activity(EventWalk& walk, DeviceWork work, const Interval& window);

// What a thread waits for in a call such as cudaDeviceSynchronize: the work that was launched before the call.
class WaitTargets {
 public:
  // Both must outlive this object.
  WaitTargets(const EventWalk& walk, const Activity& activity);

  // Of each queue that the call waits for, the last operation: the one that ended last comes first. A call for a whole
  // device waits for all of its queues. Which device, and which queue in a call for one stream or event, follows from
  // the operation that ended last: the call returned when it ended. If all had ended before the call, this is known
  // only if there is no choice. Empty: it waits for nothing that is known.
  std::vector<uint32_t> of(uint32_t track, const DeviceWait& wait) const;

 private:
  struct Queue {
    uint32_t writer_number;
    const std::string* device;
    std::vector<uint32_t> by_end;  // operations
  };

  uint32_t last_before(const Queue& queue, const DeviceWait& wait) const;

  const EventWalk& walk_;
  const Activity& activity_;
  std::vector<Queue> queues_;
};

}  // namespace kymo::analyze
