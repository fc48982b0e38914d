// Stamps on one queue of OpenCL. The copies run in a queue of their own.
#pragma once

#include <vector>

#include "device/opencl/context.h"
#include "device/opencl/timer_check.h"
#include "device/stamps/stamp_driver.h"

namespace kymo::device::opencl {

class OpenClStampDriver final : public StampDriver {
 public:
  // `queue` may be replaced by another queue, if work on the new one waits for the work on the old one.
  OpenClStampDriver(Context& context, TimerCheck& timer, const CommandQueue& queue)
      : context_(context), timer_(timer), queue_(queue) {}
  ~OpenClStampDriver() override;
  OpenClStampDriver(const OpenClStampDriver&) = delete;
  OpenClStampDriver& operator=(const OpenClStampDriver&) = delete;

  std::optional<int64_t> timer_offset() override;
  std::optional<StampBlock> allocate(size_t bytes) override;
  void fence() override;
  void copy(const StampBlock& block, size_t offset, size_t bytes) override;
  void end_copies() override;
  StampProgress look() override;
  void wait() override;

  cl_int failure() const { return failure_; }  // after look() returned Failed: the error

 private:
  Event marker_in(const CommandQueue& queue) const;

  Context& context_;
  TimerCheck& timer_;
  const CommandQueue& queue_;
  CommandQueue reader_;  // made when it is needed first
  Event event_;          // of the last fence, or after the last copy
  cl_int failure_ = CL_SUCCESS;
  std::vector<StampBlock> blocks_;
};

}  // namespace kymo::device::opencl
