// Compiled instead of the rest of this folder if the OpenCL headers are missing.
#include "device/backend.h"
#include "kymo/error.h"

namespace kymo::device {

std::unique_ptr<Driver> load_opencl() {
  throw NotAvailable(
      "OpenCL is not available: this Kymo was built without it; install its headers (Debian: opencl-headers) and build "
      "Kymo again");
}

}  // namespace kymo::device
