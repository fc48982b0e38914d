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
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "analyze/report/device_work.h"
#include "analyze/report/intervals.h"

namespace kymo::analyze {

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
