// Somebody's program that uses a device if there is one.
#include <kymo/device.h>

#include <cstdio>

int main() {
  if (!kymo::device::is_available()) return std::puts("no device"), 0;
  const kymo::device::Tensor x = kymo::device::full({16}, 3);
  const float first = x.to_host<float>()[0];
  std::printf("%s: %g\n", kymo::device::Device::current().name().c_str(), static_cast<double>(first));
  return first == 3.0f ? 0 : 1;
}
