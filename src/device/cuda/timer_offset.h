// What kernels read as %globaltimer, in terms of the event clock: both are the same timer of the device, but the driver
// tells only differences between events.
//
// Measured once, at the first use: a kernel that stores the timer, and an event behind it, sixteen times. The event
// follows the store by less than a microsecond at best, and the best is taken.
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
  // One that is known, for tests.
  TimerOffset(const Context& context, EventClock& clock, int64_t offset)
      : context_(context), clock_(clock), tried_(true), offset_(offset) {}

  // The timer minus the clock's ticks. Waits for a stream of its own, a millisecond in all. Nothing where the device
  // does not take the kernel.
  std::optional<int64_t> get();  // current

 private:
  std::optional<int64_t> measure();

  const Context& context_;
  EventClock& clock_;
  std::mutex mutex_;
  bool tried_ = false;
  std::optional<int64_t> offset_;
};

}  // namespace kymo::device::cuda
