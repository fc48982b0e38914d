// Shared by the runtime's tests: all devices of this machine, and kernels in the language of each.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kymo/device.h"

namespace kymo::device::tests {

// The names of all devices of this machine. "none" if there is no device, so that the tests are shown as skipped.
inline std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const BackendReport& backend : list_devices())
    for (const auto& device : backend.devices) names.push_back(device.name);
  if (names.empty()) names.emplace_back("none");
  return names;
}

// One source for each language that a backend may compile.
struct Texts {
  const char* opencl;
  const char* cuda;
  const char* glsl;
};

// Runs each test on each device. The device is the current one, and is idle before and after the test.
class OnEveryDevice : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "none") {
      for (const BackendReport& backend : list_devices()) reasons_ += "\n" + backend.absent;
      GTEST_SKIP() << "no device here:" << reasons_;
    }
    set_device(Device(GetParam()));
    set_stream(default_stream());
  }
  void TearDown() override {
    if (GetParam() == "none") return;
    synchronize();
  }

  bool is(std::string_view backend) const { return GetParam().starts_with(backend); }

  std::string text(const Texts& texts) const {
    if (is("opencl")) return texts.opencl;
    if (is("cuda")) return texts.cuda;
    return texts.glsl;
  }
  ShaderLibrary compile(const Texts& texts) const { return compile_shader(text(texts)); }

  // The message of the InvalidArgument.
  template <class F>
  static std::string refusal(F&& call) {
    try {
      call();
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "nothing was refused";
  }

 private:
  std::string reasons_;
};

inline std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

#define KYMO_ON_EVERY_DEVICE(suite) \
  INSTANTIATE_TEST_SUITE_P(Every, suite, ::testing::ValuesIn(device_names()), test_name)

// x[i] *= factor
inline constexpr Texts kScale{
    "__kernel void scale(__global float* x, float factor) { x[get_global_id(0)] *= factor; }",
    R"(extern "C" __global__ void scale(float* x, float factor) { x[blockIdx.x * blockDim.x + threadIdx.x] *= factor; })",
    R"(#version 450
#pragma kernel scale
layout(local_size_x_id = 0) in;
layout(binding = 0) buffer X { float x[]; };
layout(push_constant) uniform P { float factor; };
void scale() { x[gl_GlobalInvocationID.x] *= factor; })"};

}  // namespace kymo::device::tests
