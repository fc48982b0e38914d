// Fills device memory with patterns of 8 and 16 bytes. The driver has no function for that (its two-dimensional memset,
// one word at a time, takes 280 times as long). It uses a small kernel in PTX, assembled on first use.
#pragma once

#include <mutex>

#include "device/cuda/context.h"

namespace kymo::device::cuda {

class PatternFill {
 public:
  explicit PatternFill(const Context& context) : context_(context) {}

  // `pattern_bytes` is 8 or 16; `bytes` is a multiple of it, and `to` is aligned to it. The context must be current.
  // Throws DeviceError.
  void operator()(CUdeviceptr to, const void* pattern, uint32_t pattern_bytes, size_t bytes, CUstream stream);

 private:
  void load();

  const Context& context_;
  std::once_flag loaded_;
  CUfunction fill_8_ = nullptr, fill_16_ = nullptr;
  unsigned groups_ = 0;  // number of groups that fill the device
};

}  // namespace kymo::device::cuda
