// Compiled instead of this folder where CUDA's headers were not found.
#include "device/backend.h"
#include "kymo/error.h"

namespace kymo::device {

std::unique_ptr<Driver> load_cuda() {
  throw NotAvailable("CUDA: this Kymo was built without it; install CUDA's headers (cuda.h) and build Kymo anew");
}

}  // namespace kymo::device
