// Stamps on one stream of CUDA. The copies run in a stream of their own.
#pragma once

#include <vector>

#include "device/cuda/context.h"
#include "device/cuda/timer_offset.h"
#include "device/stamps/stamp_driver.h"

namespace kymo::device::cuda {

// The context must be current in every call, except of the destructor.
class CudaStampDriver final : public StampDriver {
 public:
  CudaStampDriver(const Context& context, TimerOffset& timer, CUstream stream)
      : context_(context), timer_(timer), stream_(stream) {}
  ~CudaStampDriver() override;
  CudaStampDriver(const CudaStampDriver&) = delete;
  CudaStampDriver& operator=(const CudaStampDriver&) = delete;

  std::optional<int64_t> timer_offset() override;
  std::optional<StampBlock> allocate(size_t bytes) override;
  void fence() override;
  void copy(const StampBlock& block, size_t offset, size_t bytes) override;
  void end_copies() override;
  StampProgress look() override;
  void wait() override;

 private:
  bool open();

  const Context& context_;
  TimerOffset& timer_;
  const CUstream stream_;
  CUstream reader_ = nullptr;
  CUevent event_ = nullptr;  // of the last fence, or after the last copy
  std::vector<StampBlock> blocks_;
};

}  // namespace kymo::device::cuda
