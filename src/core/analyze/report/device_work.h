// The work of the devices of a trace, and the calls that launched it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/report/events.h"

namespace kymo::analyze {

enum class WorkKind : uint8_t { Compute, Communication, Copy, Wait };  // Wait: a queue waits for an event

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

}  // namespace kymo::analyze
