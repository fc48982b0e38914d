// Libraries of translated kernels, on every device.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "device/test_metal.h"
#include "kymo/translate.h"

namespace kymo::device::tests {
namespace {

using testing::HasSubstr;

class MetalLoadTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalLoadTest);

constexpr std::string_view kSource = R"(
#include <metal_stdlib>
using namespace metal;
kernel void square(device float* x, uint i [[thread_position_in_grid]]) { x[i] = x[i] * x[i]; }
kernel void add(device float* x, constant float& by, constant int2& more, uint i [[thread_position_in_grid]]) {
  x[i] += by + float(more.x + more.y);
}
)";

std::string library_for(const std::vector<shader::Target>& targets) {
  shader::KernelLibrary library;
  for (const shader::Target target : targets) {
    const shader::Translation translation = shader::translate(kSource, {.target = target});
    EXPECT_TRUE(translation.ok()) << translation.log;
    library.parts.push_back({target, translation.text, translation.kernels});
  }
  return shader::encode_library(library);
}

std::string library_for_all() {
  return library_for({shader::Target::OpenCl, shader::Target::Cuda, shader::Target::Glsl});
}

std::string error_of_loading(std::string_view bytes) {
  try {
    load_metallib(std::as_bytes(std::span(bytes)));
  } catch (const Error& error) {
    return error.what();
  }
  return "it was loaded";
}

TEST_P(MetalLoadTest, KernelsOfAFileAndOfBytesRun) {
  const std::string bytes = library_for_all();
  const std::string path = testing::TempDir() + "kymo_load_test_" + std::to_string(getpid()) + ".kymolib";
  std::ofstream(path, std::ios::binary) << bytes;
  for (const ShaderLibrary& library : {load_metallib(std::as_bytes(std::span(bytes))), load_metallib(path)}) {
    EXPECT_EQ(library.kernel_names(), (std::vector<std::string>{"add", "square"}));
    const Tensor x = from_host(std::vector<float>{1, 2, 3, 4});
    library["square"](x);
    library["add"](x, 0.5, std::vector<int32_t>{10, 20});
    EXPECT_EQ(x.to_host<float>(), (std::vector<float>{31.5f, 34.5f, 39.5f, 46.5f}));
    EXPECT_THROW(library["add"](x, 0.5, 1), InvalidArgument);
  }
  std::filesystem::remove(path);
}

TEST_P(MetalLoadTest, WhatCannotBeLoadedSaysWhy) {
  EXPECT_THAT(error_of_loading("kernel void f() {}"), HasSubstr("this is not a library of kernels"));
  EXPECT_THAT(error_of_loading(""), HasSubstr("this is not a library of kernels"));
  EXPECT_THAT(error_of_loading("MTLB"), HasSubstr("Apple's compiler"));
  std::string damaged = library_for_all();
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_THAT(error_of_loading(damaged), HasSubstr("its checksum is wrong"));
  EXPECT_THAT(error_of_loading(damaged.substr(0, 40)), HasSubstr("damaged"));
  try {
    load_metallib("/nonexistent/x.kymolib");
    ADD_FAILURE() << "it was loaded";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/x.kymolib"));
  }
}

TEST_P(MetalLoadTest, ALibraryForAnotherBackendIsRefused) {
  const std::string backend(Device::current().name().substr(0, Device::current().name().find(':')));
  const auto other = backend == "cuda" ? shader::Target::Glsl : shader::Target::Cuda;
  EXPECT_THAT(error_of_loading(library_for({other})), HasSubstr("only, and this device needs"));
}

TEST_P(MetalLoadTest, PushConstantsThatAreTooSmallAreRefused) {
  if (!Device::current().name().starts_with("vulkan")) GTEST_SKIP() << "only Vulkan has push constants";
  constexpr std::string_view kGrid = "kernel void f(device int* x, uint n [[threads_per_grid]]) { x[0] = n; }";
  const auto error_with = [&](std::string_view member, std::string_view smaller) {
    shader::Translation translation = shader::translate(kGrid, {.target = shader::Target::Glsl});
    translation.text.replace(translation.text.find(member), member.size(), smaller);
    const shader::KernelLibrary library{{{shader::Target::Glsl, translation.text, translation.kernels}}};
    return error_of_loading(shader::encode_library(library));
  };
  EXPECT_THAT(error_with("uint64_t x;", "uint x;"), HasSubstr("push constant 1 of the kernel f has 4 bytes, not 8"));
  EXPECT_THAT(error_with("kymo_grid[6];", "kymo_grid[3];"), HasSubstr("push constant 2 of the kernel f has 12 bytes"));
}

TEST_P(MetalLoadTest, TheSameBytesAreCompiledOnce) {
  const std::string bytes = library_for_all();
  const ShaderLibrary library = compile_shader(bytes);  // the bytes of a library are a source too
  EXPECT_EQ(library.kernel_names().size(), 2u);
  EXPECT_THROW(compile_shader(bytes, {.options = {"-DN=1"}}), InvalidArgument);
}

}  // namespace
}  // namespace kymo::device::tests
