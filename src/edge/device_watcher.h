// Operations on devices of Kymo's runtime, for the profilers that want them.
//
// The runtime tells of each operation twice (device/watcher.h): when a thread queues it, which says whose it is, and
// when it is known to have run, on whatever thread finds out, which says when. In between it is kept here; the logs of
// threads are not touched until nobody writes them any more.
//
//   profiler begins    DeviceWatch watch(log, DeviceWatch::Devices::All)
//   it stops           the log ends
//                      watch.finish()                  waits for what is still under way
//                      losses = watch.deliver()        ThreadLog::device_operations has them
//
// While there is one, each operation on a Vulkan device has times of its own, also where the device would time whole
// submissions (docs/device.md), unless KYMO_VULKAN_TIMES=submission insists: then those of a submission are given equal
// parts of its time, one after the other.
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

  // What threads queue from now on while `log` is their current one, on those devices, belongs to it. Any number of
  // them may be at the same time, one for each log.
  DeviceWatch(Log& log, Devices devices);
  ~DeviceWatch();  // finishes without waiting, where that was not done
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // Waits for all that was queued to run, some seconds at most, and listens no more.
  void finish() noexcept;
  // Once the log has ended: into the logs of the threads that asked. Returns what did not get in, in words.
  std::vector<std::string> deliver();

 private:
  struct State;
  class Shared;
  void stop() noexcept;
  std::shared_ptr<State> state_;
};

}  // namespace kymo::edge
