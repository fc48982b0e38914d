// OpenCL as a backend of the device runtime.

#include "base/text.h"
#include "device/opencl/accelerator.h"
#include "kymo/error.h"

namespace kymo::device {
namespace opencl {
namespace {

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
