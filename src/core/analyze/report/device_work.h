// The work of the devices of a trace, and the calls that launched it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/report/events.h"
#include "analyze/report/intervals.h"

namespace kymo::analyze {

enum class WorkKind : uint8_t { Compute, Communication, Copy, Wait };  // Wait: a queue waits for an event
std::string_view text_of(WorkKind kind);                               // "compute", "communication", "copy", "wait"

struct DeviceOperation {
  int64_t begin = 0, end = 0;
  uint64_t correlation = 0;  // of its writer; 0: none
  uint32_t track = 0;
  uint32_t class_id = 0;
  WorkKind kind = WorkKind::Compute;
};

struct Launch {
  uint32_t writer_number = 0;
  uint32_t track = 0;
  uint64_t correlation = 0;
  int64_t begin = 0, end = 0;
};

struct Device {
  std::string name;
  std::vector<DeviceOperation> operations;  // by begin
};

struct DeviceWork {
  std::vector<Device> devices;
  std::vector<Launch> launches;  // by writer and correlation
  uint64_t left_out = 0;         // operations beyond kMostOperations

  static constexpr size_t kMostOperations = 4 << 20;  // 160 MB

  // The call that launched an operation; null: it is not in the trace.
  const Launch* launch_of(const EventWalk& walk, const DeviceOperation& operation) const;
};

// By category and name; nothing for ranges on a device that are not work, such as annotations.
std::optional<WorkKind> work_kind(std::string_view category, std::string_view name);

// Reads the device tracks, and the correlations of the host's. Nothing is read if there is no device.
DeviceWork read_device_work(EventWalk& walk);

// The thread that launches the most; nothing: there are no launches.
std::optional<uint32_t> launching_track(const DeviceWork& work);

// How a device spent a window of time: each nanosecond is counted once.
//
// The queues of a device are looked at together. Time is compute if any queue computes; else communication, if any
// queue communicates: that part of the communication is not hidden; else copies, likewise. The rest is idle, and each
// idle time before an operation has one cause:
//
//   late launch     the call that launched the operation had not begun yet: the host was busy with something else
//   launch latency  from the begin of that call to the begin of the operation, if the call had not ended before the gap
//   waiting         the operation was queued, and a queue waited for an event
//   queued          the operation was queued, and the device did not begin it
//   nothing left    no operation follows
//   unknown         the call is not in the trace
enum class IdleCause : uint8_t { LateLaunch, LaunchLatency, Waiting, Queued, NothingLeft, Unknown };
inline constexpr size_t kIdleCauses = 6;
std::string_view text_of(IdleCause cause);

struct DeviceTime {
  uint64_t window_ns = 0;
  uint64_t compute_ns = 0, exposed_communication_ns = 0, exposed_copies_ns = 0;
  std::array<uint64_t, kIdleCauses> idle_ns{};
  uint64_t communication_ns = 0, copies_ns = 0;    // hidden or not
  uint64_t busy_outside_ns = 0;                    // outside of the window
  std::map<uint32_t, std::vector<Interval>> late;  // idle time by late launch, by the track of the launch
  uint64_t operations = 0;
  uint64_t most_outstanding = 0;  // launched and not finished
  double mean_outstanding = 0;

  uint64_t idle_total_ns() const;
};

DeviceTime device_time(const EventWalk& walk, const DeviceWork& work, const Device& device, const Intervals& window);

}  // namespace kymo::analyze
