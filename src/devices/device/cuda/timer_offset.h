// Converts %globaltimer, which kernels read, to the event clock. Both are the same timer of the device, but the driver
// reports only differences between events.
//
// The offset is measured once, at the first use: a kernel that stores the timer, and an event after it, sixteen times.
// In the best case the event follows the store by less than a microsecond, and the best case is taken.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "device/cuda/context.h"
#include "device/cuda/event_clock.h"

namespace kymo::device::cuda {

class TimerOffset {
 public:
  TimerOffset(const Context& context, EventClock& clock) : context_(context), clock_(clock) {}
  // With a known offset, for tests.
  TimerOffset(const Context& context, EventClock& clock, int64_t offset)
      : context_(context), clock_(clock), tried_(true), offset_(offset) {}

  // The timer minus the clock's ticks. Waits for its own stream, a millisecond in total. Empty if the device rejects
  // the kernel.
  std::optional<int64_t> get();  // the context must be current

 private:
  std::optional<int64_t> measure();

  const Context& context_;
  EventClock& clock_;
  std::mutex mutex_;
  bool tried_ = false;
  std::optional<int64_t> offset_;
};

}  // namespace kymo::device::cuda
