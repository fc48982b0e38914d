// Operations on devices of Kymo's runtime, for the profilers that want them.
//
// The runtime reports each operation twice (device/watcher.h): when a thread queues it, which gives its owner, and when
// it is known to have run, on any thread, which gives its times. In between it is kept here. The logs of the threads
// are not changed until they are no longer written.
//
//   profiler begins    DeviceWatch watch(log, DeviceWatch::Devices::All)
//   it stops           the log ends
//                      watch.finish()                  waits for pending operations
//                      losses = watch.deliver()        ThreadLog::device_operations has them
//
// While there is one, each operation on a Vulkan device has its own times, even if the device would time whole
// submissions (docs/device.md). If KYMO_VULKAN_TIMES=submission is set, the operations of a submission get equal parts
// of its time, one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "edge/log.h"

namespace kymo::edge {

class DeviceWatch {
 public:
  enum class Devices : uint8_t { Vulkan, All };

  // Operations on those devices belong to `log`, if a thread queues them from now on while `log` is its current log.
  // There may be several at the same time, one for each log.
  DeviceWatch(Log& log, Devices devices);
  ~DeviceWatch();  // finishes without waiting, if finish() was not called
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // Waits, at most some seconds, until all queued operations have run. Then it stops watching.
  void finish() noexcept;
  // Call it once the log has ended: writes to the logs of the threads that queued the operations. Returns texts about
  // what was lost.
  std::vector<std::string> deliver();

 private:
  struct State;
  class Shared;
  void stop() noexcept;
  std::shared_ptr<State> state_;
};

}  // namespace kymo::edge
