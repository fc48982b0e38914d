// One opened device: its primary context, its clock, and the objects that are created on it.
#pragma once

#include <optional>

#include "base/clock.h"
#include "device/backend.h"
#include "device/cuda/context.h"
#include "device/cuda/event_clock.h"
#include "device/cuda/fill.h"
#include "device/cuda/timer_offset.h"

namespace kymo::device::cuda {

class CudaAccelerator final : public Accelerator {
 public:
  CudaAccelerator(const Api& api, CUdevice device, DeviceInfo info);
  ~CudaAccelerator() override;

  const DeviceInfo& info() const override { return info_; }
  Address allocate(size_t bytes) override;
  void release(Address address, size_t bytes) noexcept override;
  std::optional<size_t> driver_allocated() const override;
  void* allocate_host(size_t bytes) override;
  void release_host(void* memory) noexcept override;
  bool uses_foreign_memory() const override { return true; }  // the context is the one of all libraries
  std::unique_ptr<Queue> make_queue() override;
  std::unique_ptr<Marker> make_marker(bool timing) override;

  // CUDA C++, or PTX. Text whose first directive is .version is PTX: it is assembled directly and needs no NVRTC.
  std::unique_ptr<Program> compile(const Source& source) override;
  std::unique_ptr<Program> load(std::span<const std::byte> binary, std::vector<KernelInfo> kernels) override;

  base::ClockPair read_clock() override;
  // Throws DeviceError if the driver keeps the fault until the process ends, as the driver of CUDA 13 does.
  void reset() override;

 private:
  void open();

  Context context_;
  DeviceInfo info_;
  bool pageable_lingers_;
  std::optional<EventClock> clock_;
  std::optional<TimerOffset> timer_;
  std::optional<PatternFill> fill_;
};

}  // namespace kymo::device::cuda
