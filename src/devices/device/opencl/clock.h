// Reads the clock of a device's profiling times together with the host's clock.
//
// The method depends on the driver, and is chosen at the first reading:
//   a host clock   PoCL takes times from CLOCK_MONOTONIC_RAW. Then both clocks are read on the host, within some ten
//                  nanoseconds. Each reading is compared with a command of the device; if they do not match, the method
//                  is no longer used.
//   device timer   clGetDeviceAndHostTimer, if the times of commands are between two of its readings (with some drivers
//                  they are not, because the timer uses another clock).
//   bracket        a small command on an idle queue between two readings of the host's clock; the best of several.
#pragma once

#include <time.h>

#include <cstdint>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "device/opencl/context.h"

namespace kymo::device::opencl {

class DeviceClock {
 public:
  explicit DeviceClock(const Context& context) : context_(context) {}
  ~DeviceClock();

  // Can be called from any thread. Takes some 20 µs to 1 ms: it runs small commands on its own queue. Throws
  // DeviceError.
  base::ClockPair read();
  void forget();  // resets the method: the device starts again

 private:
  enum class Method : uint8_t { Undecided, HostClock, DeviceTimer, Bracket };

  // A command that ran between two readings of the host's clock `clock`.
  struct Sample {
    uint64_t before = 0, after = 0;  // of `clock`
    uint64_t start = 0, end = 0;     // of the device
  };

  Sample run_command(clockid_t clock);
  void decide();
  bool is_host_clock(clockid_t clock, int samples);
  bool device_timer_fits();
  std::optional<uint64_t> device_timer() const;
  base::ClockPair read_host_clock() const;
  std::optional<base::ClockPair> read_device_timer() const;
  base::ClockPair read_bracket();

  const Context& context_;
  std::mutex mutex_;  // for all members below
  CommandQueue queue_;
  void* scratch_ = nullptr;  // the commands write here
  Method method_ = Method::Undecided;
  clockid_t host_clock_ = CLOCK_MONOTONIC;
};

// Whether kernels can be timed by their own stamps (stamps.h) on a device: its driver takes PTX, a kernel may store to
// an address that it gets by value, and the driver's profiling times come from the timer that kernels read. Then both
// kinds of times are on the same clock, and no offset has to be measured.
//
// The check is done once, at the first use: a kernel that stores the timer, eight times. Each time must be between the
// start and the end that the driver reports for the kernel.
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
