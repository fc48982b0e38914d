// One opened OpenCL device, with its own context.
#pragma once

#include <memory>

#include "base/clock.h"
#include "device/opencl/api.h"
#include "device/opencl/clock.h"
#include "device/opencl/context.h"

namespace kymo::device::opencl {

class OpenClAccelerator final : public Accelerator {
 public:
  OpenClAccelerator(std::shared_ptr<const Api> api, FoundDevice device);

  const DeviceInfo& info() const override { return context_.device.info; }
  Address allocate(size_t bytes) override { return memory_.allocate(bytes); }
  void release(Address address, size_t) noexcept override { memory_.release(address); }
  std::optional<size_t> driver_allocated() const override { return std::nullopt; }  // OpenCL does not report it
  void* allocate_host(size_t bytes) override { return context_.host_memory.allocate(bytes); }
  void release_host(void* memory) noexcept override { context_.host_memory.release(memory); }
  // An address is a pointer. If the device's memory is the host's, both sides may use it; a CPU uses any memory.
  void* host_address(Address address) noexcept override {
    return context_.device.fine_grained ? reinterpret_cast<void*>(address) : nullptr;
  }
  Address share_host(void* memory, size_t) override {
    return context_.device.fine_grained && context_.device.is_cpu ? reinterpret_cast<Address>(memory) : 0;
  }
  std::unique_ptr<Queue> make_queue() override;
  std::unique_ptr<Marker> make_marker(bool timing) override;
  std::unique_ptr<Program> compile(const Source& source) override;
  std::unique_ptr<Program> load(std::span<const std::byte> binary, std::vector<KernelInfo> kernels) override;
  base::ClockPair read_clock() override { return clock_.read(); }
  void reset() override;

 private:
  Context context_;
  Memory memory_;
  DeviceClock clock_;
  TimerCheck timer_;
};

}  // namespace kymo::device::opencl
