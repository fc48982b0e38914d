// Why each operation of a device did not begin earlier, and what the calls that launch and wait do with its queues.
//
// An operation begins after the one before it on its queue, after its launch has arrived, and after what an event made
// it wait for. Of these, the cause is the one that came last. Which operation an event is about is what the trace says
// (PyTorch's records of cuda_sync). If it says nothing, and there was a cudaStreamWaitEvent before the launch, and
// neither queue nor launch explain why the operation did not begin, it is the last operation to end on another queue.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyze/report/activity.h"
#include "analyze/report/host_calls.h"

namespace kymo::analyze {

// A launch into a queue that holds only so many operations: it returns after this operation has ended.
struct RoomWait {
  uint32_t launch = 0;     // in DeviceWork::launches
  uint32_t operation = 0;  // in Activity::operations
  int64_t own_ns = 0;      // what the call takes if there is room
};

// What the trace says about a call that synchronizes.
struct SyncRecord {
  uint32_t track = 0;         // the queue that waits, or that a thread waits for
  uint32_t other = kNone;     // the queue that has the event
  uint64_t event_record = 0;  // the correlation of the call that recorded the event; 0: unknown
};

struct DeviceCalls {
  std::vector<RoomWait> rooms;
  std::map<std::pair<uint32_t, uint64_t>, SyncRecord> syncs;  // by writer and correlation of the call
};

// Fills the operations, starts and collectives of the activity.
DeviceCalls find_starts(EventWalk& walk, const HostCalls& calls, Activity& activity);

}  // namespace kymo::analyze
