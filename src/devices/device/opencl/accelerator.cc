#include "device/opencl/accelerator.h"

#include "base/text.h"
#include "device/opencl/api.h"
#include "device/opencl/program.h"
#include "device/opencl/queue.h"
#include "kymo/error.h"

namespace kymo::device::opencl {

OpenClAccelerator::OpenClAccelerator(std::shared_ptr<const Api> api, FoundDevice device)
    : context_(std::move(api), std::move(device)), memory_(context_), clock_(context_), timer_(context_) {}

std::unique_ptr<Queue> OpenClAccelerator::make_queue() { return std::make_unique<OpenClQueue>(context_, timer_); }

std::unique_ptr<Marker> OpenClAccelerator::make_marker(bool timing) {
  return std::make_unique<OpenClMarker>(context_, timing);
}

std::unique_ptr<Program> OpenClAccelerator::compile(const Source& source) {
  if (source.language != Language::OpenClC)
    throw NotAvailable(base::format(
        "{} is not available on {}: its OpenCL driver compiles OpenCL C; write the kernel in OpenCL C or Metal",
        language_name(source.language), info().name));
  return OpenClProgram::compile(context_, source);
}

std::unique_ptr<Program> OpenClAccelerator::load(std::span<const std::byte> binary, std::vector<KernelInfo> kernels) {
  return OpenClProgram::load(context_, binary, std::move(kernels));
}

void OpenClAccelerator::reset() {
  clock_.forget();
  timer_.forget();
  memory_.forget();
  context_.host_memory.forget();
  context_.renew();
}

}  // namespace kymo::device::opencl

namespace kymo::device {
namespace opencl {
namespace {

// OpenCL as a backend of the device runtime.
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
