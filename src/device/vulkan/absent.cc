// Compiled instead of the rest of this folder where the Vulkan headers were not found.
#include "device/backend.h"
#include "kymo/error.h"

namespace kymo::device {

std::unique_ptr<Driver> load_vulkan() {
  throw NotAvailable(
      "vulkan: this Kymo was built without it: install the Vulkan headers (Debian: libvulkan-dev) and build again");
}

}  // namespace kymo::device
