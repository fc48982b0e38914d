// The driver's own launch of `scale`, without Kymo: what a launch through the runtime is compared with.
//
// Each is made as a program would that knows one driver only: everything prepared, then nothing but the calls that a
// launch needs. Opened at run time; made() is false where the driver is not here.
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

// Null where there is none.
std::unique_ptr<RawLaunch> raw_cuda();
std::unique_ptr<RawLaunch> raw_opencl();

}  // namespace bench
