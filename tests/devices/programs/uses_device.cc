// Uses a device in the shortest way. Also linked with -static: then it must report that it has no device.
#include <cstdio>

#include "kymo/device.h"

int main() {
  using namespace kymo::device;
  std::printf("available: %d\n", is_available() ? 1 : 0);
  try {
    const Tensor x = zeros({16});
    compile_shader(R"(kernel void full(device float* out, constant float& val, uint i [[thread_position_in_grid]]) {
      out[i] = val;
    })")["full"](x, 0.5);
    std::printf("value: %g\n", static_cast<double>(x.to_host<float>()[15]));
  } catch (const kymo::NotAvailable& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
