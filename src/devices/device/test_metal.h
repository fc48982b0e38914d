// Runs Metal kernels on every device. Tests compare the results with values that the host computes.
//
//   const ShaderLibrary library = metal(R"(kernel void twice(device int* out, device const int* in, uint i [[…]]) …)");
//   EXPECT_EQ(run<int>(library["twice"], 4, in), each(4, [&](int i) { return 2 * in[i]; }));
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "device/test_device.h"

namespace kymo::device::tests {

// The values of a function for 0, 1, … count - 1.
template <class F>
auto each(int count, F&& value) {
  std::vector<decltype(value(0))> values;
  for (int i = 0; i < count; ++i) values.push_back(value(i));
  return values;
}

// The distance of a float from the wanted value, in units in the last place.
inline double ulps(float got, double wanted) {
  if (std::isnan(wanted)) return std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  const auto nearest = static_cast<float>(wanted);
  if (got == nearest) return 0;
  if (std::isinf(nearest) || std::isinf(got) || std::isnan(got)) return std::numeric_limits<double>::infinity();
  int exponent = 0;
  std::frexp(std::fabs(wanted), &exponent);
  return std::fabs(static_cast<double>(got) - wanted) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

class MetalTest : public OnEveryDevice {
 protected:
  static ShaderLibrary metal(std::string_view source, const CompileOptions& options = {}) {
    return compile_shader("#include <metal_stdlib>\nusing namespace metal;\n" + std::string(source), options);
  }

  // Runs `count` threads of a kernel and returns one value per thread. The kernel's first argument is the output.
  // Vectors are copied to the device.
  template <class T, class... Args>
  static std::vector<T> run(const Kernel& kernel, int64_t count, const Args&... args) {
    const Tensor out = zeros({count}, dtype_of<T>());
    kernel.threads(static_cast<uint64_t>(count))(out, on_device(args)...);
    return out.to_host<T>();
  }
  template <class T>
  static Tensor on_device(const std::vector<T>& values) {
    return from_host(values);
  }
  static const Tensor& on_device(const Tensor& tensor) { return tensor; }
  template <class T>
  requires std::is_arithmetic_v<T>
  static T on_device(T value) { return value; }

  // The complete message of the CompileError.
  static std::string errors_of(std::string_view source) {
    try {
      compile_shader("#include <metal_stdlib>\nusing namespace metal;\n" + std::string(source));
    } catch (const CompileError& error) {
      return error.what();
    }
    return "it compiled";
  }
};

}  // namespace kymo::device::tests
