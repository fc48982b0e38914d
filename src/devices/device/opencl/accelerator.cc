// OpenCL as a backend of the device runtime: load_opencl().

#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "device/opencl/api.h"
#include "device/opencl/clock.h"
#include "device/opencl/context.h"
#include "device/opencl/program.h"
#include "device/opencl/queue.h"
#include "kymo/error.h"

namespace kymo::device {
namespace opencl {
namespace {

// One opened OpenCL device, with its own context.
class OpenClAccelerator final : public Accelerator {
 public:
  OpenClAccelerator(std::shared_ptr<const Api> api, FoundDevice device)
      : context_(std::move(api), std::move(device)), memory_(context_), clock_(context_), timer_(context_) {}

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
  std::unique_ptr<Queue> make_queue() override { return std::make_unique<OpenClQueue>(context_, timer_); }
  std::unique_ptr<Marker> make_marker(bool timing) override { return std::make_unique<OpenClMarker>(context_, timing); }

  std::unique_ptr<Program> compile(const Source& source) override {
    if (source.language != Language::OpenClC)
      throw NotAvailable(base::format(
          "{} is not available on {}: its OpenCL driver compiles OpenCL C; write the kernel in OpenCL C or Metal",
          language_name(source.language), info().name));
    return OpenClProgram::compile(context_, source);
  }
  std::unique_ptr<Program> load(std::span<const std::byte> binary, std::vector<KernelInfo> kernels) override {
    return OpenClProgram::load(context_, binary, std::move(kernels));
  }

  base::ClockPair read_clock() override { return clock_.read(); }

  void reset() override {
    clock_.forget();
    timer_.forget();
    memory_.forget();
    context_.host_memory.forget();
    context_.renew();
  }

 private:
  Context context_;
  Memory memory_;
  DeviceClock clock_;
  TimerCheck timer_;
};

class OpenClDriver final : public Driver {
 public:
  explicit OpenClDriver(std::shared_ptr<const Api> api) : api_(std::move(api)), devices_(find_devices(*api_)) {}

  std::string_view name() const override { return "opencl"; }
  int device_count() const override { return static_cast<int>(devices_.size()); }
  DeviceInfo describe(int index) override { return at(index).info; }
  std::unique_ptr<Accelerator> open(int index) override { return std::make_unique<OpenClAccelerator>(api_, at(index)); }

 private:
  const FoundDevice& at(int index) const {
    if (index < 0 || index >= device_count())
      throw InvalidArgument(
          base::format("OpenCL device {} not found: there are {}, numbered from 0", index, device_count()));
    return devices_[static_cast<size_t>(index)];
  }

  std::shared_ptr<const Api> api_;
  std::vector<FoundDevice> devices_;
};

}  // namespace
}  // namespace opencl

std::unique_ptr<Driver> load_opencl() { return std::make_unique<opencl::OpenClDriver>(opencl::load_api()); }

}  // namespace kymo::device
