// The driver's own launch of `scale`, without Kymo. A launch through the runtime is compared with it.
//
// Each is written like a program that uses only one driver: everything is prepared, then only the calls that a launch
// needs are made. The driver is opened at run time; made() is false if it is not available.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace bench {

class RawLaunch {
 public:
  virtual ~RawLaunch() = default;
  virtual void launch() = 0;  // of 16 threads
  virtual void synchronize() = 0;
  // Copies `bytes` of page-locked memory to the device, and waits; seconds.
  virtual double upload_seconds(size_t bytes) = 0;
};

// Null if the driver is not available.
std::unique_ptr<RawLaunch> raw_cuda();
std::unique_ptr<RawLaunch> raw_opencl();

}  // namespace bench
