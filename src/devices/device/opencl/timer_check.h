// Whether kernels can be timed by their own stamps (stamps.h) on a device: its driver takes PTX, a kernel may store to
// an address that it gets by value, and the driver's profiling times come from the timer that kernels read. Then both
// kinds of times are on the same clock, and no offset has to be measured.
//
// The check is done once, at the first use: a kernel that stores the timer, eight times. Each time must be between the
// start and the end that the driver reports for the kernel.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "device/opencl/context.h"

namespace kymo::device::opencl {

class TimerCheck {
 public:
  explicit TimerCheck(const Context& context) : context_(context) {}

  // Can be called from any thread. The first call waits for its own queue, some milliseconds in total.
  bool passes();
  void forget();  // the device starts again

 private:
  bool run() const;

  const Context& context_;
  std::mutex mutex_;
  std::optional<bool> passes_;
};

}  // namespace kymo::device::opencl
