// Kernels from text, on every device: compilation, reflection, launches.
#include <numeric>

#include "device/test_device.h"

namespace kymo::device::tests {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KernelTest : public OnEveryDevice {
 protected:
  static std::string driver() {
    for (const BackendReport& backend : list_devices())
      for (const auto& device : backend.devices)
        if (device.name == GetParam()) return device.driver;
    return "";
  }
};
KYMO_ON_EVERY_DEVICE(KernelTest);

// Three kernels that mark where they ran, in one, two and three dimensions, without a bounds check.
constexpr Texts kMark{
    R"(__kernel void mark1(__global uint* out) { out[get_global_id(0)] += 1; }
__kernel void mark2(__global uint* out, uint width) { out[get_global_id(1) * width + get_global_id(0)] += 1; }
__kernel void mark3(__global uint* out, uint width, uint height) {
  out[(get_global_id(2) * height + get_global_id(1)) * width + get_global_id(0)] += 1;
})",
    R"(#define ID(d) (blockIdx.d * blockDim.d + threadIdx.d)
extern "C" __global__ void mark1(unsigned* out) { out[ID(x)] += 1; }
extern "C" __global__ void mark2(unsigned* out, unsigned width) { out[ID(y) * width + ID(x)] += 1; }
extern "C" __global__ void mark3(unsigned* out, unsigned width, unsigned height) {
  out[(ID(z) * height + ID(y)) * width + ID(x)] += 1;
})",
    R"(#version 450
#pragma kernel mark1
#pragma kernel mark2
#pragma kernel mark3
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(binding = 0) buffer Out { uint marks[]; };
#ifndef mark1
layout(push_constant) uniform P { uint width;
#ifdef mark3
uint height;
#endif
};
#endif
#ifdef mark1
void mark1() { marks[gl_GlobalInvocationID.x] += 1; }
#elif defined(mark2)
void mark2() { marks[gl_GlobalInvocationID.y * width + gl_GlobalInvocationID.x] += 1; }
#else
void mark3() { marks[(gl_GlobalInvocationID.z * height + gl_GlobalInvocationID.y) * width + gl_GlobalInvocationID.x] += 1; }
#endif)"};

TEST_P(KernelTest, KernelsAreCalledByName) {
  const Tensor x = arange(0, 1000);
  const ShaderLibrary library = compile(kScale);
  library["scale"](x, 2.0f);
  const auto values = x.to_host<float>();
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], 2.0f * static_cast<float>(i));
}

TEST_P(KernelTest, IntegerIsConvertedToTheDeclaredFloat) {
  const Tensor x = full({10}, 1.5);
  compile(kScale)["scale"](x, 2);
  compile(kScale)["scale"](x, 3u);
  compile(kScale)["scale"](x, 0.5);
  EXPECT_THAT(x.to_host<float>(), Each(4.5f));
}

TEST_P(KernelTest, NamesAndAttributesAreKnown) {
  const ShaderLibrary library = compile(kMark);
  EXPECT_THAT(library.kernel_names(), ElementsAre("mark1", "mark2", "mark3"));
  const Kernel kernel = library["mark1"];
  EXPECT_EQ(kernel.name(), "mark1");
  EXPECT_GE(kernel.max_threads_per_threadgroup(), 128u);
  EXPECT_GE(kernel.thread_execution_width(), 1u);
  EXPECT_EQ(kernel.static_thread_group_memory_length(), 0u);
}

TEST_P(KernelTest, ExactlyTheRequestedThreadsRunInOneDimension) {
  const ShaderLibrary library = compile(kMark);
  for (const int64_t threads : {1, 7, 64, 65, 127, 1000, 4097}) {
    for (const uint64_t group : {1, 32, 100, 128}) {
      const Tensor out = zeros({threads + 300}, DType::U32);
      library["mark1"].threads(static_cast<uint64_t>(threads)).group(group)(out);
      EXPECT_THAT(out.slice(0, 0, threads).to_host<uint32_t>(), Each(1u)) << threads << " in groups of " << group;
      EXPECT_THAT(out.slice(0, threads, threads + 300).to_host<uint32_t>(), Each(0u))
          << threads << " in groups of " << group;
    }
  }
}

TEST_P(KernelTest, ExactlyTheRequestedThreadsRunInTwoAndThreeDimensions) {
  const ShaderLibrary library = compile(kMark);
  Tensor out = zeros({40, 50}, DType::U32);
  library["mark2"].threads(37, 29).group(8, 4)(out, 50);
  EXPECT_THAT(out.slice(0, 0, 29).slice(1, 0, 37).to_host<uint32_t>(), Each(1u));
  EXPECT_THAT(out.slice(1, 37, 50).to_host<uint32_t>(), Each(0u));
  EXPECT_THAT(out.slice(0, 29, 40).to_host<uint32_t>(), Each(0u));

  out = zeros({12, 12, 12}, DType::U32);
  library["mark3"].threads(11, 7, 5).group(4, 4, 2)(out, 12, 12);
  EXPECT_THAT(out.slice(0, 0, 5).slice(1, 0, 7).slice(2, 0, 11).to_host<uint32_t>(), Each(1u));
  const auto all = out.to_host<uint32_t>();
  EXPECT_EQ(std::accumulate(all.begin(), all.end(), 0u), 11u * 7 * 5);
}

// Each group sums its own values in group memory, with barriers, and writes the number of the group.
constexpr Texts kGroupSum{
    R"(__kernel void group_sum(__global const float* in, __global float* out) {
  __local float part[128];
  const uint local_id = get_local_id(0);
  part[local_id] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (local_id == 0) {
    float sum = 0;
    for (uint i = 0; i < get_local_size(0); ++i) sum += part[i];
    out[get_group_id(0)] = sum;
  }
})",
    R"(extern "C" __global__ void group_sum(const float* in, float* out) {
  __shared__ float part[128];
  part[threadIdx.x] = 0;
  const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = in[id];
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0;
    for (unsigned i = 0; i < blockDim.x; ++i) if (blockIdx.x * blockDim.x + i < 1000) sum += part[i];
    out[blockIdx.x] = sum;
  }
})",
    R"(#version 450
#pragma kernel group_sum
layout(local_size_x_id = 0) in;
layout(binding = 0) readonly buffer In { float values[]; };
layout(binding = 1) buffer Out { float sums[]; };
shared float part[128];
void group_sum() {
  part[gl_LocalInvocationID.x] = values[gl_GlobalInvocationID.x];
  barrier();
  if (gl_LocalInvocationID.x == 0) {
    float sum = 0;
    for (uint i = 0; i < gl_WorkGroupSize.x; ++i) sum += part[i];
    sums[gl_WorkGroupID.x] = sum;
  }
})"};

TEST_P(KernelTest, BarriersWorkInPartialGroups) {
  const Tensor in = full({1000}, 1), out = zeros({20});
  const Kernel kernel = compile(kGroupSum)["group_sum"];
  kernel.threads(1000).group(64)(in, out);
  const auto sums = out.to_host<float>();
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ(sums[i], 64.0f) << i;
  EXPECT_EQ(sums[15], 40.0f);
  EXPECT_EQ(sums[16], 0.0f);
  if (driver().find("PoCL 5") == std::string::npos) {
    EXPECT_GE(kernel.static_thread_group_memory_length(), 512u);
  } else {
    EXPECT_EQ(kernel.static_thread_group_memory_length(), 0u) << "PoCL 5 said 0 for every kernel";
  }
}

TEST_P(KernelTest, RequiredGroupMayBeLargerThanTheThreads) {
  constexpr Texts kDemanding{
      "__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void mark(__global uint* out) { out[get_global_id(0)] "
      "+= 1; }",
      "extern \"C\" __global__ void __launch_bounds__(64) mark(unsigned* out) { out[blockIdx.x * blockDim.x + "
      "threadIdx.x] += 1; }",
      "#version 450\nlayout(local_size_x = 64) in;\nlayout(binding = 0) buffer Out { uint marks[]; };\nvoid main() { "
      "marks[gl_GlobalInvocationID.x] += 1; }"};
  const ShaderLibrary library = compile(kDemanding);
  const Kernel kernel = library[library.kernel_names().at(0)];
  for (const int64_t threads : {8, 64, 100}) {
    const Tensor out = zeros({200}, DType::U32);
    kernel.threads(static_cast<uint64_t>(threads))(out);
    EXPECT_THAT(out.slice(0, 0, threads).to_host<uint32_t>(), Each(1u)) << threads;
    EXPECT_THAT(out.slice(0, threads, 200).to_host<uint32_t>(), Each(0u)) << threads;
  }
}

TEST_P(KernelTest, LaunchWithoutThreadsDoesNothing) {
  const Tensor x = full({4}, 1);
  compile(kScale)["scale"].threads(0)(x, 5);
  compile(kScale)["scale"](empty({0}), 5);
  EXPECT_THAT(x.to_host<float>(), Each(1.0f));
}

TEST_P(KernelTest, AViewIsPassedFromItsFirstElement) {
  const Tensor x = full({64}, 1);
  compile(kScale)["scale"](x.slice(0, 16, 48), 3);
  EXPECT_THAT(x.slice(0, 16, 48).to_host<float>(), Each(3.0f));
  EXPECT_THAT(x.slice(0, 0, 16).to_host<float>(), Each(1.0f));
  EXPECT_THAT(x.slice(0, 48, 64).to_host<float>(), Each(1.0f));
}

TEST_P(KernelTest, WrongArgumentsAreRefusedWithTheirNames) {
  const ShaderLibrary library = compile(kScale);
  const Tensor x = zeros({4});
  EXPECT_THAT(refusal([&] { library["scale"](x); }), HasSubstr("\"scale\" takes 2 arguments, and was given 1"));
  EXPECT_THAT(refusal([&] { library["scale"](x, x); }), HasSubstr("argument 2"));
  EXPECT_THAT(refusal([&] { library["scale"](1.0f, 2.0f); }), HasSubstr("scale"));
  EXPECT_THAT(refusal([&] { library["scale"](Tensor(), 2.0f); }), HasSubstr("undefined tensor"));
  EXPECT_THAT(refusal([&] { library["scale"](x, std::vector<float>{1, 2}); }), HasSubstr("a list of 2"));
  EXPECT_THAT(refusal([&] { library["scale"](x, 1e300); }), HasSubstr("does not fit f32"));
}

TEST_P(KernelTest, NumberThatDoesNotFitIsRefused) {
  const ShaderLibrary library = compile(kMark);
  const Tensor out = zeros({4}, DType::U32);
  EXPECT_THAT(refusal([&] { library["mark2"].threads(2, 2)(out, -1); }), AllOf(HasSubstr("-1"), HasSubstr("u32")));
  EXPECT_THAT(refusal([&] { library["mark2"].threads(2, 2)(out, 1.5); }), HasSubstr("1.5"));
  EXPECT_THAT(refusal([&] { library["mark2"].threads(2, 2)(out, uint64_t{1} << 32); }), HasSubstr("4294967296"));
  library["mark2"].threads(2, 2)(out, 2.0);  // an integer value
  EXPECT_THAT(out.to_host<uint32_t>(), Each(1u));
}

TEST_P(KernelTest, TooLargeGroupIsRefusedWithTheLimit) {
  const ShaderLibrary library = compile(kMark);
  const Tensor out = zeros({4}, DType::U32);
  const uint64_t max = library["mark1"].max_threads_per_threadgroup();
  EXPECT_THAT(refusal([&] { library["mark1"].threads(4).group(max + 1)(out); }), HasSubstr(std::to_string(max)));
  EXPECT_THAT(refusal([&] { library["mark2"].threads(4, 4).group(max, 2)(out, 4); }), HasSubstr(std::to_string(max)));
  EXPECT_THAT(refusal([&] { library["mark1"].threads(4).group(0)(out); }), HasSubstr("group size 0"));
  EXPECT_THAT(refusal([&] { library["mark2"].threads(4, 4).group(2)(out, 4); }), HasSubstr("2 dimensions"));
}

TEST_P(KernelTest, TensorOfAnotherDeviceIsRefused) {
  const ShaderLibrary library = compile(kScale);
  for (const std::string& name : device_names()) {
    if (name == GetParam()) continue;
    const Tensor there = empty({4}, DType::F32, Device(name));
    EXPECT_THAT(refusal([&] { library["scale"](there, 1); }), AllOf(HasSubstr(name), HasSubstr(GetParam())));
    EXPECT_THAT(refusal([&] { library["scale"].on(default_stream(Device(name)))(zeros({4}), 1); }), HasSubstr(name));
  }
}

TEST_P(KernelTest, ListsOfNumbersFillVectorsAndArrays) {
  constexpr Texts kWeighted{
      "__kernel void weighted(__global float* out, float4 weights) { out[get_global_id(0)] = weights.x + 10 * "
      "weights.y + 100 * weights.z + 1000 * weights.w; }",
      "extern \"C\" __global__ void weighted(float* out, float4 weights) { out[blockIdx.x * blockDim.x + threadIdx.x] "
      "= weights.x + 10 * weights.y + 100 * weights.z + 1000 * weights.w; }",
      R"(#version 450
#pragma kernel weighted
layout(local_size_x_id = 0) in;
layout(binding = 0) buffer Out { float values[]; };
layout(push_constant) uniform P { vec4 weights; };
void weighted() { values[gl_GlobalInvocationID.x] = weights.x + 10 * weights.y + 100 * weights.z + 1000 * weights.w; })"};
  const Tensor out = zeros({5});
  compile(kWeighted)["weighted"](out, std::vector<float>{1, 2, 3, 4});
  EXPECT_THAT(out.to_host<float>(), Each(4321.0f));
  compile(kWeighted)["weighted"](out, std::vector<int>{4, 3, 2, 1});
  EXPECT_THAT(out.to_host<float>(), Each(1234.0f));
  EXPECT_THAT(refusal([&] {
                compile(kWeighted)["weighted"](out, std::vector<float>{1, 2, 3});
              }),
              HasSubstr("4 of f32"));
  EXPECT_THAT(refusal([&] { compile(kWeighted)["weighted"](out, 1.0f); }), HasSubstr("4 of f32"));
}

TEST_P(KernelTest, ListBecomesABufferIfTheKernelTakesOne) {
  constexpr Texts kSums{
      R"(__kernel void pick(__global float* out, __global const float* table) { out[get_global_id(0)] = table[get_global_id(0) % 3]; })",
      R"(extern "C" __global__ void pick(float* out, const float* table) { unsigned i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = table[i % 3]; })",
      R"(#version 450
#pragma kernel pick
layout(local_size_x_id = 0) in;
layout(binding = 0) buffer Out { float values[]; };
layout(binding = 1) readonly buffer Table { float table[]; };
void pick() { values[gl_GlobalInvocationID.x] = table[gl_GlobalInvocationID.x % 3]; })"};
  const Tensor out = zeros({4});
  compile(kSums)["pick"](out, std::vector<float>{5, 6, 7});
  EXPECT_THAT(out.to_host<float>(), ElementsAre(5, 6, 7, 5));
}

TEST_P(KernelTest, ListOfTensorsIsPassedAsAddresses) {
  constexpr Texts kSumAll{
      R"(__kernel void sum_all(__global float* out, __global const ulong* parts, uint count) {
  float sum = 0;
  for (uint i = 0; i < count; ++i) sum += ((__global const float*)parts[i])[get_global_id(0)];
  out[get_global_id(0)] = sum;
})",
      R"(extern "C" __global__ void sum_all(float* out, float** parts, unsigned count) {
  const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (unsigned i = 0; i < count; ++i) sum += parts[i][id];
  out[id] = sum;
})",
      R"(#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#pragma kernel sum_all
layout(local_size_x_id = 0) in;
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Floats { float f[]; };
layout(binding = 0) buffer Out { float values[]; };
layout(binding = 1, scalar) readonly buffer Parts { uint64_t parts[]; };
layout(push_constant) uniform P { uint count; };
void sum_all() {
  float sum = 0;
  for (uint i = 0; i < count; ++i) sum += Floats(parts[i]).f[gl_GlobalInvocationID.x];
  values[gl_GlobalInvocationID.x] = sum;
})"};
  std::vector<Tensor> parts;
  for (int i = 0; i < 64; ++i) parts.push_back(full({10}, i));
  const Tensor out = zeros({10});
  compile(kSumAll)["sum_all"](out, parts, 64);
  EXPECT_THAT(out.to_host<float>(), Each(64.0f * 63 / 2));
}

}  // namespace
}  // namespace kymo::device::tests
