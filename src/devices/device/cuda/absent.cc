// Compiled instead of the rest of this folder if CUDA's headers were not found.
#include "device/backend.h"
#include "kymo/error.h"

namespace kymo::device {

std::unique_ptr<Driver> load_cuda() {
  throw NotAvailable("CUDA: this Kymo was built without CUDA; install CUDA's headers (cuda.h) and build Kymo again");
}

}  // namespace kymo::device
