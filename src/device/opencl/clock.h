// The clock of a device's profiling times, read beside the host's.
//
// How depends on the driver, and is found out at the first reading:
//   a host clock   PoCL takes times from CLOCK_MONOTONIC_RAW: then both are read on the host, within some ten
//   nanoseconds.
//                  Held against a command of the device at every reading, and given up when that does not fit.
//   device timer   clGetDeviceAndHostTimer, where commands' times fall between two of its answers (they need not: some
//                  drivers answer in another clock).
//   bracket        a small command on an idle queue between two readings of the host's clock; the best of several.
#pragma once

#include <time.h>

#include <cstdint>
#include <mutex>
#include <optional>

#include "device/opencl/context.h"

namespace kymo::device::opencl {

class DeviceClock {
 public:
  explicit DeviceClock(const Context& context) : context_(context) {}
  ~DeviceClock();

  // From any thread. Some 20 µs to 1 ms: it runs small commands on a queue of its own. Throws DeviceError.
  ClockReading read();
  void forget();  // all that was found out: the device begins anew

 private:
  enum class Method : uint8_t { Undecided, HostClock, DeviceTimer, Bracket };

  // A command that ran between two moments of the host's clock `clock`.
  struct Sample {
    uint64_t before = 0, after = 0;  // of `clock`
    uint64_t start = 0, end = 0;     // of the device
  };

  Sample run_command(clockid_t clock);
  void decide();
  bool is_host_clock(clockid_t clock, int samples);
  bool device_timer_fits();
  std::optional<uint64_t> device_timer() const;
  ClockReading read_host_clock() const;
  std::optional<ClockReading> read_device_timer() const;
  ClockReading read_bracket();

  const Context& context_;
  std::mutex mutex_;  // of all that follows
  CommandQueue queue_;
  void* scratch_ = nullptr;  // what the commands write
  Method method_ = Method::Undecided;
  clockid_t host_clock_ = CLOCK_MONOTONIC;
};

}  // namespace kymo::device::opencl
