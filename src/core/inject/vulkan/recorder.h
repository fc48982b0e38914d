// Writes what the queues have run into the trace, when its times are there.
//
// Threads of the program only add what they submitted. One thread of the layer looks for times a hundred times per
// second while something is pending, and the end of a session does. It waits for nothing: what does not complete is
// counted as lost at the end of the session.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "inject/vulkan/objects.h"

namespace kymo::inject::vulkan {

class Recorder {
 public:
  // The number of the recording, never 0: what an earlier one submitted is not written.
  uint32_t recording() const noexcept { return recording_.load(std::memory_order_relaxed); }

  void add(DeviceState& device);
  // The device is destroyed: writes what has completed, and closes its queues. False: something is still pending.
  bool remove(DeviceState& device) noexcept;

  // Something is in the queue now.
  void add(QueueState& queue, Pending&& pending) noexcept;
  // True if these commands are pending in another queue: they cannot have times for this one.
  bool is_elsewhere(const RecordedCommands& commands, const QueueState& queue) noexcept;
  // The driver has no times for `count` submissions to this queue.
  void lose(QueueState& queue, uint64_t count) noexcept;

  // Waits for pending work as long as some completes, with a pause of at most `quiet_ns`. The rest is lost.
  void flush(uint64_t quiet_ns) noexcept;
  // The process exits: the driver may not be called from now on.
  void close() noexcept { closed_.store(true, std::memory_order_relaxed); }

 private:
  // All under the lock.
  void drain(bool pairs_now);
  bool drain(QueueState& queue);  // true: something was written
  void write_off(QueueState& queue);
  void write_pairs(DeviceState& device, bool now);
  bool has_pending() const;

  void wake() noexcept;
  void start_thread() noexcept;
  void run() noexcept;

  std::atomic<uint32_t> recording_{1};
  std::atomic<bool> closed_{false};

  mutable std::mutex mutex_;
  std::vector<DeviceState*> devices_;

  std::mutex wake_mutex_;
  std::condition_variable wake_;
  std::atomic<bool> awake_{false};
  bool started_ = false;
};

// The recorder of this process. Never destroyed. A forked child gets a new one, without devices.
Recorder& recorder() noexcept;

}  // namespace kymo::inject::vulkan
