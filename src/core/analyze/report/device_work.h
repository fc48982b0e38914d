// The work of the devices of a trace, and the calls that launched it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/report/events.h"
#include "analyze/report/intervals.h"
#include "analyze/report/profiler_times.h"

namespace kymo::analyze {

inline constexpr uint32_t kNone = UINT32_MAX;

enum class WorkKind : uint8_t { Compute, Communication, Copy, Wait };  // Wait: a queue waits for an event
std::string_view text_of(WorkKind kind);                               // "compute", "communication", "copy", "wait"

struct DeviceOperation {
  int64_t begin = 0, end = 0;
  uint64_t correlation = 0;  // of its writer; 0: none
  uint32_t track = 0;
  uint32_t class_id = 0;
  uint32_t launch = kNone;  // the call that launched it, in DeviceWork::launches; kNone: it is not in the trace
  WorkKind kind = WorkKind::Compute;
  // Of a CUDA graph: the correlation of the call that was captured, or of a whole graph the number of what was captured
  // (inject/cuda/graphs.h). 0: not known, or in no graph.
  uint64_t captured = 0;
};

struct Launch {
  uint32_t writer_number = 0;
  uint32_t track = 0;
  uint64_t correlation = 0;
  int64_t begin = 0, end = 0;
  uint32_t class_id = 0;
};

struct Device {
  std::string name;
  std::string rank;                         // of its first process: rank_name()
  std::vector<DeviceOperation> operations;  // by begin
  // What it takes to begin an operation if nothing else is in the way. These are short ones of the trace, because
  // something that is not in the trace may be in the way of many.
  int64_t latency_ns = 0;  // from the begin of the call to the begin of the operation
  int64_t gap_ns = 0;      // from the end of an operation to the begin of the next one on its queue

  // Why an operation did not begin earlier than at `begin`, if its queue was free at `free`. Every answer has this
  // rule.
  struct Start {
    // When its launch had arrived: after the usual time, and when the call had returned. If the call had not returned
    // and nothing else explains a long time, it is when the operation began.
    int64_t arrived = 0;
    // When it could have begun. That is when it began, unless it began much later (50 µs and four times the usual
    // latency): then it was queued and not started, and waited for something else.
    int64_t ready = 0;
    bool is_late = false;  // it began much later than after the usual time
  };
  Start start(const Launch& launch, int64_t free, int64_t begin) const;
};

struct DeviceWork {
  std::vector<Device> devices;
  std::vector<Launch> launches;  // by writer and correlation
  uint64_t left_out = 0;         // operations beyond kMostOperations

  static constexpr size_t kMostOperations = 4 << 20;  // 160 MB

  // The call with this correlation; kNone: it is not in the trace.
  uint32_t find_launch(uint32_t writer_number, uint64_t correlation) const;
  // The call that launched an operation; null: it is not in the trace.
  const Launch* launch_of(const DeviceOperation& operation) const {
    return operation.launch == kNone ? nullptr : &launches[operation.launch];
  }
};

// How people call a process of a distributed program: "rank 3", or its program and its number.
std::string rank_name(const trace::WriterInfo& process);
// "3"; empty: its trace does not say it.
std::string rank_number(const trace::WriterInfo& process);

// By category and name; nothing for ranges on a device that are not work, such as annotations.
std::optional<WorkKind> work_kind(std::string_view category, std::string_view name);

// Reads the device tracks, and the correlations of the host's. Nothing is read if there is no device.
DeviceWork read_device_work(EventWalk& walk);

// The thread that launches the most, of those that count; nothing: there are no launches.
std::optional<uint32_t> launching_track(const DeviceWork& work, const std::function<bool(uint32_t track)>& counts = {});

// How a device spent a window of time: each nanosecond is counted once.
//
// The queues of a device are looked at together. Time is compute if any queue computes; else communication, if any
// queue communicates: that part of the communication is not hidden; else copies, likewise. The rest is idle, and each
// idle time before an operation has one cause:
//
//   late launch     the call that launched the operation had not begun yet: the host was busy with something else
//   launch latency  from the begin of that call until the operation could begin (Device::Start)
//   waiting         the operation could have begun, and a queue waited for an event
//   queued          the operation could have begun, and the device did not begin it
//   nothing left    no operation follows
//   unknown         the call is not in the trace
enum class IdleCause : uint8_t { LateLaunch, LaunchLatency, Waiting, Queued, NothingLeft, Unknown };
inline constexpr size_t kIdleCauses = 6;
std::string_view text_of(IdleCause cause);

// A part of the idle time, in front of an operation.
struct IdleGap {
  int64_t begin = 0;
  uint64_t ns = 0;
  uint32_t next = kNone;   // index in Device::operations; kNone: no operation follows
  uint32_t track = kNone;  // of the thread that launched it; kNone: it is not in the trace
  IdleCause cause = IdleCause::Unknown;

  Interval interval() const { return {begin, begin + static_cast<int64_t>(ns)}; }
};

struct DeviceTime {
  uint64_t window_ns = 0;
  uint64_t compute_ns = 0, exposed_communication_ns = 0, exposed_copies_ns = 0;
  std::array<uint64_t, kIdleCauses> idle_ns{};
  uint64_t communication_ns = 0, copies_ns = 0;  // hidden or not
  uint64_t busy_outside_ns = 0;                  // outside of the window
  uint64_t profiling_ns = 0;                     // idle, because a profiler delayed the launch; not in idle_ns
  uint64_t exposed_waiting_ns = 0;               // of the exposed communication: until the last rank arrived
  std::vector<IdleGap> gaps;                     // in order of time
  uint64_t operations = 0;
  uint64_t most_outstanding = 0;  // launched and not finished
  double mean_outstanding = 0;

  uint64_t idle_total_ns() const;
};

// When the queues of a device did this kind of work.
Intervals times_of(const Device& device, WorkKind kind);

DeviceTime device_time(const DeviceWork& work, const Device& device, const Intervals& window,
                       const ProfilerTimes& profiler);

}  // namespace kymo::analyze
