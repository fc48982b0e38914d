// Compiled instead of the rest of this folder if the Vulkan headers were not found.
#include "device/backend.h"
#include "device/spirv.h"
#include "kymo/error.h"

namespace kymo::device {
namespace {

[[noreturn]] void say_absent() {
  throw NotAvailable(
      "vulkan: this Kymo was built without Vulkan: install its headers (Debian: libvulkan-dev) and build Kymo again");
}

}  // namespace

std::unique_ptr<Driver> load_vulkan() { say_absent(); }
std::vector<SpirvModule> compile_to_spirv(std::string_view, std::string_view) { say_absent(); }

}  // namespace kymo::device
