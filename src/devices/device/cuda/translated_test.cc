// Metal translated to CUDA, tested without a device: with the real compiler and its PTX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "device/cuda/nvrtc.h"
#include "device/cuda/reflection.h"
#include "device/language.h"
#include "device/ptx/ptx.h"

namespace kymo::device::cuda {
namespace {

constexpr const char* kMetalSource = R"(
#include <metal_stdlib>
using namespace metal;
struct Settings { int radius; float3 tint; };
kernel void plain(device float* out, constant float& value, uint i [[thread_position_in_grid]]) { out[i] = value; }
kernel void grouped(device float* out, threadgroup float* first, constant Settings& settings, threadgroup int* second,
                    uint i [[thread_position_in_grid]], uint lane [[thread_position_in_threadgroup]],
                    uint size [[threads_per_threadgroup]], uint grid [[threads_per_grid]]) {
  first[lane] = settings.tint.y;
  second[lane] = settings.radius;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = first[size - 1 - lane] + second[0] + grid;
}
kernel void summed(device float* out, uint i [[thread_position_in_grid]]) { out[i] = simd_sum(out[i]); }
)";

TEST(CudaTranslatedTest, KernelsHaveTheParametersOfTheTranslator) {
  DeviceInfo device;
  device.languages = {Language::Metal, Language::CudaCpp};
  const MetalTranslation translation = translate_metal(kMetalSource, {}, device);
  ASSERT_EQ(translation.language, Language::CudaCpp);
  std::string ptx;
  try {
    ptx = Nvrtc::load(0).compile(translation.text, "translation", 90, translation.options);
  } catch (const NotAvailable& error) {
    GTEST_SKIP() << error.what();
  }
  const PtxProgram program = prepare_ptx(ptx);
  check_translated(program, translation.kernels);
  const auto kernel = [&](std::string_view name) {
    return *std::ranges::find(translation.kernels, name, &KernelInfo::name);
  };
  EXPECT_FALSE(kernel("plain").takes_grid);
  EXPECT_TRUE(kernel("grouped").takes_grid) << "it asks for the size of its group";
  EXPECT_TRUE(kernel("summed").takes_grid && kernel("summed").uses_simdgroups) << "it may be launched in pieces";
  for (const PtxEntry& entry : program.entries) EXPECT_EQ(entry.dynamic_shared, entry.name == kernel("grouped").symbol);

  const PtxEntry& grouped = *std::ranges::find(program.entries, kernel("grouped").symbol, &PtxEntry::name);
  EXPECT_EQ(grouped.parameters[1].bytes, 4u) << "an offset";
  EXPECT_EQ(grouped.parameters[2].bytes, kernel("grouped").parameters[2].inline_bytes);
  EXPECT_EQ(grouped.parameters.back().bytes, sizeof(Grid));
}

TEST(CudaTranslatedTest, MissingKernelIsATranslationFault) {
  PtxProgram program;
  program.entries.push_back({"f", {PtxParameter{}}, {}, false});
  KernelInfo kernel;
  kernel.is_translated = true;
  kernel.symbol = "f";
  kernel.parameters.resize(1);
  check_translated(program, std::span(&kernel, 1));
  kernel.takes_grid = true;
  EXPECT_THROW(check_translated(program, std::span(&kernel, 1)), CompileError);
  kernel.symbol = "g";
  EXPECT_THROW(check_translated(program, std::span(&kernel, 1)), CompileError);
}

}  // namespace
}  // namespace kymo::device::cuda
