// Writes what the queues have run into the trace, when its times are there.
//
// Threads of the program only add what they submitted. One thread of the layer looks for times a hundred times per
// second while something is pending, and the end of a session does. It waits for nothing: what does not complete is
// counted as lost at the end of the session.
#pragma once

#include <cstdint>
#include <vector>

#include "inject/layer_recorder.h"
#include "inject/vulkan/objects.h"

namespace kymo::inject::vulkan {

class Recorder : public LayerRecorder<Recorder> {
 public:
  static constexpr record::Interface kInterface = record::Interface::Vulkan;
  static constexpr const char* kThreadName = "kymo-vulkan";

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

 private:
  friend class LayerRecorder<Recorder>;

  // All under the lock.
  void look() { drain(false); }
  void drain(bool pairs_now);
  bool drain(QueueState& queue);  // true: something was written
  void write_off(QueueState& queue);
  void write_pairs(DeviceState& device, bool now);
  bool has_pending() const;

  std::vector<DeviceState*> devices_;
};

inline Recorder& recorder() noexcept { return Recorder::of_process(); }

}  // namespace kymo::inject::vulkan
