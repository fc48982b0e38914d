// The backends that this Kymo was built without, because the headers of their APIs were not found.
#include "device/backend.h"
#include "kymo/error.h"

namespace kymo::device {

#if !KYMO_HAVE_CUDA
std::unique_ptr<Driver> load_cuda() {
  throw NotAvailable("CUDA: this Kymo was built without CUDA; install CUDA's headers (cuda.h) and build Kymo again");
}
#endif

#if !KYMO_HAVE_OPENCL
std::unique_ptr<Driver> load_opencl() {
  throw NotAvailable(
      "OpenCL is not available: this Kymo was built without it; install its headers (Debian: opencl-headers) and build "
      "Kymo again");
}
#endif

#if !KYMO_HAVE_VULKAN
std::unique_ptr<Driver> load_vulkan() {
  throw NotAvailable(
      "vulkan: this Kymo was built without Vulkan: install its headers (Debian: libvulkan-dev) and build Kymo again");
}
#endif

}  // namespace kymo::device
