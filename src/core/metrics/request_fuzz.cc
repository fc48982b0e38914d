// A request for metrics, which may be anything.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "metrics/endpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)kymo::metrics::answer(std::string_view(reinterpret_cast<const char*>(data), size), "x 1\n");
  return 0;
}
