// One opened device: its primary context, its clock, and the objects that are created on it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/clock.h"
#include "device/backend.h"
#include "device/cuda/api.h"
#include "device/cuda/context.h"
#include "device/cuda/event_clock.h"
#include "device/cuda/queue.h"

namespace kymo::device::cuda {

// The properties of a device, as the driver reports them, without opening it.
int attribute_of(const Api& api, CUdevice device, CUdevice_attribute which);
int architecture_of(const Api& api, CUdevice device);  // 90 for compute capability 9.0

// `nvrtc_version`: 13000 for 13.0; 0 if there is no NVRTC: then CUDA C++ is not among the languages.
DeviceInfo describe_device(const Api& api, CUdevice device, int nvrtc_version);

// The device memory that this process holds, from NVML (libnvidia-ml.so.1, part of the driver, opened at run time).
// CUDA itself reports only the free memory of the whole device, which other processes use too.
//
// `uuid` as in DeviceInfo. Empty if there is no NVML, or if NVML does not know this process (in a container with its
// own process ids). The first call takes about 10 ms, later ones 0.4 ms.
std::optional<size_t> process_memory(const std::string& uuid);

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
