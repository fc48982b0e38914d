// A kernel that writes to an invalid address, on CUDA (KYMO_DEVICE). Prints what each later call throws: the wait that
// detects it, a second one, and reset().
#include <cstdio>
#include <string>

#include "kymo/device.h"

namespace {

using namespace kymo::device;

template <class F>
void say(const char* what, F&& call) {
  try {
    call();
    std::printf("%s: fine\n", what);
  } catch (const kymo::DeviceError& error) {
    std::printf("%s: DeviceError: %s\n", what, error.what());
  } catch (const kymo::Error& error) {
    std::printf("%s: Error: %s\n", what, error.what());
  }
}

}  // namespace

int main() try {
  const Tensor x = zeros({16});
  const ShaderLibrary library =
      compile_shader("extern \"C\" __global__ void stray(float* x) { x[threadIdx.x + (1ull << 40)] = 1; }");
  synchronize();
  library["stray"](x);
  say("synchronize", [] { synchronize(); });
  say("again", [&] { x.to_host<float>(); });
  say("reset", [] { reset(Device::current()); });
  say("after", [&] { x.to_host<float>(); });
  say("anew", [] { zeros({4}); });
  say("waiting", [] { synchronize(); });
  return 0;
} catch (const kymo::NotAvailable& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 77;
}
