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
namespace {

[[noreturn]] void say_vulkan_is_absent() {
  throw NotAvailable(
      "vulkan: this Kymo was built without Vulkan: install its headers (Debian: libvulkan-dev) and build Kymo again");
}

}  // namespace

std::unique_ptr<Driver> load_vulkan() { say_vulkan_is_absent(); }
std::vector<SpirvModule> compile_to_spirv(std::string_view, std::string_view) { say_vulkan_is_absent(); }
#endif

}  // namespace kymo::device
