// What each thread and each device queue did in a window of a trace, and what each of them waited for.
//
//   a thread   its ranges, also those that never end, and its waits (thread_waits.h)
//   a queue    its operations, and what each of them needed to begin (operation_starts.h)
//
// `kymo path` follows the causes backwards, and its what-if replays them forwards. Costs about n log n, and 50 bytes
// for each range and 70 for each operation of the window.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyze/report/device_work.h"
#include "analyze/report/events.h"
#include "analyze/report/intervals.h"
#include "analyze/thread_states.h"

namespace kymo::analyze {

struct HostRange {
  int64_t begin = 0, end = 0;  // inside of the window. A range that never ends lasts until the end of the trace
  uint32_t class_id = 0;
};

// Something that had to happen first: an operation had to end, or a thread had to come to a time.
struct Cause {
  int64_t time = 0;            // when it had happened
  uint32_t operation = kNone;  // in Activity::operations; kNone: it was a thread
  uint32_t track = 0;          // of the thread
};

enum class WaitKind : uint8_t {
  Device,   // a call that waits for a device: cudaStreamSynchronize, a copy into pageable memory
  Room,     // a launch that waits until its queue has room
  Message,  // of a flow from another thread
  Thread,   // the trace does not say it, but another thread worked meanwhile
};

// A time in which a thread did nothing, until its causes had happened. A call that need not have waited is one too: its
// causes had happened before it began.
struct ThreadWait {
  int64_t begin = 0, end = 0;
  int64_t own_ns = 0;                    // what it would take without waiting
  uint32_t first_cause = 0, causes = 0;  // in Activity::causes. The first one is the one that happened last
  WaitKind kind = WaitKind::Device;
};

struct ThreadActivity {
  std::vector<HostRange> ranges;  // by end, the last one first, and outer ones before inner ones
  std::vector<ThreadWait> waits;  // in order of time; they do not overlap
};

// Why an operation did not begin earlier.
enum class StartCause : uint8_t { Unknown, Launch, Queue, Event };

struct OperationStart {
  uint32_t launch = kNone;       // in DeviceWork::launches
  uint32_t before = kNone;       // the operation that ended last on its queue
  uint32_t event = kNone;        // the operation of another queue that it had to wait for
  uint32_t collective = kNone;   // in Activity::collectives
  int64_t arrival_ns = 0;        // it could not begin earlier than this after the begin of its launch
  int64_t arrived = INT64_MIN;   // when its launch had arrived
  int64_t gap_ns = 0;            // nor earlier than this after the end of another operation, if it began later
  int64_t unknown_ns = 0;        // before it began, it waited for something that is not in the trace
  bool is_late = false;          // it began much later than its launch and its queue explain (Device::Start)
  bool waits_for_event = false;  // a cudaStreamWaitEvent before its launch does not say what for
  StartCause cause = StartCause::Unknown;
};

// The operations of several ranks that wait for each other.
struct Collective {
  std::vector<uint32_t> members;
  uint32_t last = 0;  // the one that began last; then the transfer begins
};

struct Activity {
  Interval window;
  std::map<uint32_t, ThreadActivity> threads;  // by track
  std::vector<DeviceOperation> operations;     // by begin; those that overlap the window
  std::vector<OperationStart> starts;          // by operation
  std::vector<Collective> collectives;
  std::vector<Cause> causes;
  DeviceWork work;        // of the whole trace
  uint64_t left_out = 0;  // ranges beyond kMostRanges

  static constexpr size_t kMostRanges = 8 << 20;

  // Whether the wait took time, and ended because of its first cause.
  bool waited(const ThreadWait& wait) const {
    return wait.begin < wait.end && causes[wait.first_cause].time >= wait.begin;
  }
  // The thread with the most time in ranges; kNone: no thread has any.
  uint32_t busiest_thread() const;
};

// `states`, if it is not null, says which thread ended the wait of which other one. Its threads are on the tracks that
// tracks_of_threads() names.
Activity read_activity(EventWalk& walk, DeviceWork work, const Interval& window,
                       const StatesOfThreads* states = nullptr);

// By thread (StatesOfThreads::keys) its track: the one with the most ranges in the window; kNone: it has none.
std::vector<uint32_t> tracks_of_threads(const EventWalk& walk, const Activity& activity, const StatesOfThreads& states);

}  // namespace kymo::analyze
