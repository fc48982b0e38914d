// load_cuda(): the driver as a whole.

#include "device/backend.h"
#include "device/cuda/accelerator.h"
#include "device/cuda/api.h"
#include "device/cuda/device_info.h"
#include "device/cuda/errors.h"
#include "device/cuda/nvrtc.h"
#include "kymo/error.h"

namespace kymo::device {
namespace cuda {
namespace {

class CudaDriver final : public Driver {
 public:
  explicit CudaDriver(const Api& api) : api_(api) {
    check(api_, api_.device_count(&count_), "cuDeviceGetCount");
    if (count_ == 0)
      throw NotAvailable("CUDA: the driver is installed but has no device; does CUDA_VISIBLE_DEVICES hide it?");
  }

  std::string_view name() const override { return "cuda"; }
  int device_count() const override { return count_; }
  DeviceInfo describe(int index) override { return describe_device(api_, device(index), nvrtc_version()); }
  std::unique_ptr<Accelerator> open(int index) override {
    return std::make_unique<CudaAccelerator>(api_, device(index), describe(index));
  }

 private:
  CUdevice device(int index) const {
    CUdevice device = 0;
    check(api_, api_.device_get(&device, index), "cuDeviceGet");
    return device;
  }

  int nvrtc_version() const {
    try {
      return Nvrtc::load(api_.version).version();
    } catch (const NotAvailable&) {
      return 0;  // compile() reports what is missing
    }
  }

  const Api& api_;
  int count_ = 0;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Driver> load_cuda() { return std::make_unique<cuda::CudaDriver>(cuda::load_api()); }

}  // namespace kymo::device
