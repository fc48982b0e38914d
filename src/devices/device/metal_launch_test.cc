// Launches of Metal kernels on every device: how arguments are matched to parameters, groups, errors that kernels
// report.
#include <numeric>

#include "device/test_device.h"

namespace kymo::device::tests {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MetalLaunchTest : public OnEveryDevice {
 protected:
  template <class F>
  static std::string reported(F&& call) {
    try {
      call();
    } catch (const DeviceError& error) {
      return error.what();
    }
    return "nothing was reported";
  }
};
KYMO_ON_EVERY_DEVICE(MetalLaunchTest);

// ---- Values --------------------------------------------------------------------------------------------------------

TEST_P(MetalLaunchTest, NumbersBecomeTheDeclaredType) {
  const ShaderLibrary library = compile_shader(R"(
    kernel void all(device float* out, constant float& f, constant half& h, constant bfloat& b, constant int& i,
                    constant uchar& c, constant long& l, constant bool& t, constant ushort& s) {
      out[0] = f; out[1] = float(h); out[2] = float(b); out[3] = i; out[4] = c; out[5] = float(l); out[6] = t; out[7] = s;
    })");
  const Tensor out = zeros({8});
  library["all"].threads(1)(out, 2, 0.5, 3, -7, 200u, int64_t{1} << 40, true, 65535);
  EXPECT_THAT(out.to_host<float>(), ElementsAre(2, 0.5, 3, -7, 200, 1099511627776.0f, 1, 65535));
  const auto with = [&](auto i, auto c) {
    return refusal([&] { library["all"].threads(1)(out, 2, 0.5, 3, i, c, 1, true, 1); });
  };
  EXPECT_THAT(with(1.5, 1), AllOf(HasSubstr("argument 5 (i) of kernel \"all\""), HasSubstr("1.5 does not fit i32")));
  EXPECT_THAT(with(1, 256), AllOf(HasSubstr("argument 6 (c)"), HasSubstr("256 does not fit u8")));
  EXPECT_THAT(refusal([&] { library["all"].threads(1)(out, 1e39, 0.5, 3, 1, 1, 1, true, 1); }), HasSubstr("(f)"));
}

TEST_P(MetalLaunchTest, ListsFillVectorsArraysAndStructures) {
  const ShaderLibrary library = compile_shader(R"(
    struct Row { float a; float b; };
    struct Mixed { int n; float3 v; uchar flags[4]; };
    kernel void f(device float* out, constant float3& v, constant Row& row, constant Mixed& mixed) {
      out[0] = v.x; out[1] = v.y; out[2] = v.z; out[3] = row.a; out[4] = row.b;
      out[5] = mixed.n; out[6] = mixed.v.z; out[7] = mixed.flags[3];
    })");
  struct Mixed {
    int32_t n = 5;
    alignas(16) float v[4] = {1, 2, 3, 0};
    uint8_t flags[4] = {0, 0, 0, 9};
  } mixed;
  const Tensor out = zeros({8});
  library["f"].threads(1)(out, std::vector<int>{1, 2, 3}, std::array{0.5f, 0.25f}, std::as_bytes(std::span(&mixed, 1)));
  EXPECT_THAT(out.to_host<float>(), ElementsAre(1, 2, 3, 0.5, 0.25, 5, 3, 9));
  const std::vector<int> three{1, 2, 3}, two{1, 2};
  const auto bytes = std::as_bytes(std::span(&mixed, 1));
  EXPECT_THAT(refusal([&] { library["f"].threads(1)(out, two, two, bytes); }), HasSubstr("it takes 3 of f32"));
  EXPECT_THAT(refusal([&] { library["f"].threads(1)(out, three, 1, bytes); }), HasSubstr("it takes 2 of f32"));
  EXPECT_THAT(refusal([&] { library["f"].threads(1)(out, three, two, bytes.first(8)); }),
              AllOf(HasSubstr("it takes 48 bytes"), HasSubstr("8 bytes")));
}

TEST_P(MetalLaunchTest, AListFillsAMatrixByColumns) {
  const ShaderLibrary library = compile_shader(R"(
    kernel void f(device float* out, constant metal::float3x3& m, constant metal::float4x3& n) {
      for (int c = 0; c < 3; c++) for (int r = 0; r < 3; r++) out[3 * c + r] = m[c][r];
      out[9] = n[3][2];
    })");
  const Tensor out = zeros({10});
  const std::vector<float> nine{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<int> twelve{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  library["f"].threads(1)(out, nine, twelve);
  EXPECT_THAT(out.to_host<float>(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 12));
}

TEST_P(MetalLaunchTest, ValueMayBePassedInATensor) {
  const ShaderLibrary library = compile_shader(R"(
    kernel void f(device float* out, constant float& a, constant long2& b, uint i [[thread_position_in_grid]]) {
      out[i] = a + float(b.x) * 10 + float(b.y) * 100;
    })");
  const Tensor out = zeros({4}), a = arange(0, 4);
  const Tensor b = arange(2, 4, 1, DType::I64);
  library["f"](out, a.slice(0, 1, 2), b);
  EXPECT_THAT(out.to_host<float>(), Each(1.0f + 20 + 300));
  library["f"](out, 7, b);
  EXPECT_THAT(out.to_host<float>(), Each(7.0f + 20 + 300));
  EXPECT_THAT(refusal([&] { library["f"](out, b, b); }), AllOf(HasSubstr("takes f32"), HasSubstr("tensor of i64")));
  EXPECT_THAT(refusal([&] { library["f"](out, 1, b.slice(0, 1, 2)); }), HasSubstr("16 bytes"));
}

TEST_P(MetalLaunchTest, ListsAndNumbersBecomeBuffers) {
  const ShaderLibrary library = compile_shader(R"(
    kernel void pick(device float* out, constant half* table, device float3* rows, constant int* one,
                     uint i [[thread_position_in_grid]]) {
      out[i] = float(table[i % 3]) + rows[i % 2].z * 10 + one[0] * 1000;
    })");
  const Tensor out = zeros({4});
  library["pick"](out, std::vector<double>{1, 2, 3}, std::vector<int>{0, 0, 4, 0, 0, 5}, 6);
  EXPECT_THAT(out.to_host<float>(), ElementsAre(6041, 6052, 6043, 6051));
  EXPECT_THAT(refusal([&] {
                library["pick"](out, std::vector<int>{1}, std::vector<int>{1, 2}, 6);
              }),
              HasSubstr("one element is 3 of f32"));
  EXPECT_THAT(refusal([&] {
                library["pick"](out, std::vector<int>{}, std::vector<int>{1, 2, 3}, 6);
              }),
              HasSubstr("empty list"));
}

TEST_P(MetalLaunchTest, ValuesOfAnySizeArePassed) {
  const ShaderLibrary library = compile_shader(R"(
    struct Big { float values[500]; };
    kernel void sum(device float* out, constant Big& first, constant Big& second) {
      float sum = 0;
      for (int i = 0; i < 500; ++i) sum += first.values[i] - second.values[i];
      out[0] = sum;
    })");
  const Tensor out = zeros({1});
  library["sum"].threads(1)(out, std::vector<int>(500, 3), std::vector<float>(500, 1.0f));
  EXPECT_THAT(out.to_host<float>(), ElementsAre(1000));
}

TEST_P(MetalLaunchTest, ManyBuffersAreReachedThroughOneStructure) {
  const ShaderLibrary library = compile_shader(R"(
    #include <metal_stdlib>
    using namespace metal;
    constant constexpr auto N = 64;
    struct Inputs { array<device float*, N> parts; };
    kernel void sum(device float* out, constant Inputs& inputs, uint i [[thread_position_in_grid]]) {
      float sum = 0;
      for (int k = 0; k < N; ++k) sum += inputs.parts[k][i];
      out[i] = sum;
    })");
  std::vector<Tensor> parts;
  for (int i = 0; i < 64; ++i) parts.push_back(full({10}, i));
  const Tensor out = zeros({10});
  library["sum"](out, parts);
  EXPECT_THAT(out.to_host<float>(), Each(64.0f * 63 / 2));
  parts.pop_back();
  EXPECT_THAT(refusal([&] { library["sum"](out, parts); }), AllOf(HasSubstr("64 tensors"), HasSubstr("63 tensors")));
}

// ---- Order ---------------------------------------------------------------------------------------------------------

TEST_P(MetalLaunchTest, ArgumentsAreOrderedByIndex) {
  const ShaderLibrary library = compile_shader(R"(
    kernel void f(device float* out [[buffer(2)]], constant float& a [[buffer(0)]], constant float& b [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) { out[i] = a - b; })");
  const Tensor out = zeros({3});
  library["f"](5, 3, out);
  EXPECT_THAT(out.to_host<float>(), Each(2.0f));
  EXPECT_THAT(refusal([&] { library["f"](5, 1e39, out); }), HasSubstr("argument 2 (b)"));
  EXPECT_THAT(refusal([&] { library["f"](5, out); }), HasSubstr("takes 3 arguments, and was given 2"));
}

TEST_P(MetalLaunchTest, KernelsOfOneSourceHaveTheirOwnParameters) {
  const ShaderLibrary library = compile_shader(R"(
    kernel void one(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }
    kernel void two(device float* x, constant float& y, uint i [[thread_position_in_grid]]) { x[i] += y; }
    kernel void three(constant int4& v, device float* x, device const float* z, uint i [[thread_position_in_grid]]) {
      x[i] += v.w * z[i];
    })");
  const Tensor x = zeros({4}), z = full({4}, 100);
  library["one"](x);
  library["two"](x, 10);
  library["three"](std::vector<int>{0, 0, 0, 3}, x, z);
  EXPECT_THAT(x.to_host<float>(), Each(311.0f));
}

// ---- Groups --------------------------------------------------------------------------------------------------------

TEST_P(MetalLaunchTest, GroupMemoryIsSizedByTheCaller) {
  const ShaderLibrary library = compile_shader(R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void reverse(device float* x, threadgroup float* a [[threadgroup(0)]], threadgroup int* b [[threadgroup(1)]],
                        uint i [[thread_position_in_grid]], uint lane [[thread_position_in_threadgroup]],
                        uint size [[threads_per_threadgroup]]) {
      a[lane] = x[i];
      b[lane] = int(lane);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      x[i] = a[size - 1 - lane] + 1000 * b[size - 1 - lane];
    })");
  for (const uint64_t group : {4, 16, 32}) {
    const Tensor x = arange(0, 40);
    library["reverse"].threads(40).group(group)(x, group * 4, group * 4);
    const auto values = x.to_host<float>();
    for (size_t i = 0; i < 40; ++i) {
      const size_t start = i / group * group, size = std::min<size_t>(group, 40 - start);
      const size_t from = start + size - 1 - (i - start);
      EXPECT_EQ(values[i], static_cast<float>(from + 1000 * (from - start))) << i << " in groups of " << group;
    }
  }
  const Tensor x = arange(0, 40);
  EXPECT_THAT(refusal([&] { library["reverse"](x, 64, x); }), HasSubstr("takes its size in bytes"));
  EXPECT_THAT(refusal([&] { library["reverse"](x, 64, 0); }), HasSubstr("takes its size in bytes"));
  EXPECT_THAT(refusal([&] { library["reverse"](x, 64, 1 << 30); }), HasSubstr("bytes of group memory"));
}

TEST_P(MetalLaunchTest, PositionsAndSizesAreCorrectInPartialGroups) {
  const ShaderLibrary library = compile_shader(R"(
    kernel void look(device uint* out, uint3 at [[thread_position_in_grid]], uint3 in [[thread_position_in_threadgroup]],
                     uint3 group [[threadgroup_position_in_grid]], uint3 size [[threads_per_threadgroup]],
                     uint3 groups [[threadgroups_per_grid]], uint3 grid [[threads_per_grid]]) {
      device uint* row = out + 16 * ((at.z * grid.y + at.y) * grid.x + at.x);
      row[0] = in.x; row[1] = in.y; row[2] = in.z;
      row[3] = group.x; row[4] = group.y; row[5] = group.z;
      row[6] = size.x; row[7] = size.y; row[8] = size.z;
      row[9] = groups.x; row[10] = groups.y; row[11] = groups.z;
      row[12] = grid.x; row[13] = grid.y; row[14] = grid.z;
      row[15] += 1;
    })");
  const uint64_t threads[3] = {11, 7, 3}, group[3] = {4, 4, 2};
  const Tensor out = zeros({3 * 7 * 11, 16}, DType::U32);
  library["look"].threads(11, 7, 3).group(4, 4, 2)(out);
  const auto seen = out.to_host<uint32_t>();
  for (size_t z = 0; z < threads[2]; ++z)
    for (size_t y = 0; y < threads[1]; ++y)
      for (size_t x = 0; x < threads[0]; ++x) {
        const uint32_t* row = &seen[16 * ((z * threads[1] + y) * threads[0] + x)];
        const size_t at[3] = {x, y, z};
        for (size_t d = 0; d < 3; ++d) {
          const size_t start = at[d] / group[d] * group[d];
          ASSERT_EQ(row[d], at[d] - start) << x << " " << y << " " << z;
          ASSERT_EQ(row[3 + d], at[d] / group[d]);
          ASSERT_EQ(row[6 + d], std::min(group[d], threads[d] - start));
          ASSERT_EQ(row[9 + d], (threads[d] + group[d] - 1) / group[d]);
          ASSERT_EQ(row[12 + d], threads[d]);
        }
        ASSERT_EQ(row[15], 1u);
      }
}

// Lanes are numbered row by row in a group, also in a partial one.
TEST_P(MetalLaunchTest, SimdgroupsAreFilledInOrderInPartialGroups) {
  const ShaderLibrary library = compile_shader(R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void sum(device uint* out, constant uint& width, uint2 at [[thread_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
      uint id = at.y * width + at.x;
      out[id] = simd_sum(id) + 100000 * lane + 10000000 * simd;
    })");
  const uint32_t wide = 21, high = 11, gx = 16, gy = 4;
  const Tensor out = zeros({high, wide}, DType::U32);
  library["sum"].threads(wide, high).group(gx, gy)(out, wide);
  const auto seen = out.to_host<uint32_t>();
  for (uint32_t y0 = 0; y0 < high; y0 += gy)
    for (uint32_t x0 = 0; x0 < wide; x0 += gx) {
      const uint32_t nx = std::min(gx, wide - x0), ny = std::min(gy, high - y0);
      std::vector<uint32_t> ids;
      for (uint32_t i = 0; i < nx * ny; ++i) ids.push_back((y0 + i / nx) * wide + x0 + i % nx);
      for (uint32_t i = 0; i < ids.size(); ++i) {
        const auto first = ids.begin() + i / 32 * 32,
                   last = ids.begin() + std::min<size_t>(ids.size(), i / 32 * 32 + 32);
        const uint32_t sum = std::accumulate(first, last, 0u);
        ASSERT_EQ(seen[ids[i]], sum + 100000 * (i % 32) + 10000000 * (i / 32)) << ids[i];
      }
    }
}

TEST_P(MetalLaunchTest, KernelThatUsesGroupsGetsTheLargestGroupByDefault) {
  const ShaderLibrary library = compile_shader(R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void size(device uint* out, uint i [[thread_position_in_grid]], uint n [[threads_per_threadgroup]]) {
      out[i] = n + 0 * simd_sum(0u);
    })");
  const Kernel kernel = library["size"];
  const auto most = static_cast<uint32_t>(kernel.max_threads_per_threadgroup());
  const Tensor few = zeros({77}, DType::U32), many = zeros({3000}, DType::U32);
  kernel(few);
  EXPECT_THAT(few.to_host<uint32_t>(), Each(std::min(77u, most)));
  kernel(many);
  EXPECT_EQ(many.to_host<uint32_t>()[0], most);
}

TEST_P(MetalLaunchTest, ThreadCountAbove32BitsIsRefused) {
  const ShaderLibrary library = compile_shader("kernel void f() {}");
  EXPECT_THAT(refusal([&] { library["f"].threads(uint64_t{1} << 32)(); }), HasSubstr("4294967296"));
  library["f"].threads(0)();
}

// ---- What kernels report -------------------------------------------------------------------------------------------

constexpr const char* kBounded = R"(
  #include <c10/metal/error.h>
  #include <metal_stdlib>
  using namespace c10::metal;
  kernel void bounded(device int* out, constant int& limit, device ErrorMessages* errors,
                      uint i [[thread_position_in_grid]]) {
    if (int(i) >= limit) {
      TORCH_REPORT_ERROR(errors, "Index ", i, " exceeds limit ", limit);
      return;
    }
    out[i] = int(i);
  })";

TEST_P(MetalLaunchTest, ErrorOfAKernelIsThrownByTheNextWait) {
  const Kernel kernel = compile_shader(kBounded, {{}, "bounded.metal"})["bounded"];
  const Tensor out = zeros({8}, DType::I32);
  kernel(out, 10);
  synchronize();
  kernel(out, 7);
  EXPECT_THAT(reported([] { synchronize(); }),
              AllOf(HasSubstr("bounded.metal:8: in bounded: "), HasSubstr("Index 7 exceeds limit 7")));
  synchronize();  // the error is thrown only once
  kernel(out, 0);
  EXPECT_THAT(reported([] { current_stream().synchronize(); }), HasSubstr("(and 7 more)"));
  kernel(out, 8);
  synchronize();
  EXPECT_THAT(out.to_host<int32_t>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST_P(MetalLaunchTest, WaitingForAnEventThrowsErrorsFromBeforeIt) {
  const Kernel kernel = compile_shader(kBounded)["bounded"];
  const Tensor out = zeros({8}, DType::I32);
  Event event;
  event.record();
  kernel(out, 5);
  event.synchronize();  // the event was recorded before the launch
  event.record();
  EXPECT_THAT(reported([&] { event.synchronize(); }), HasSubstr("exceeds limit 5"));
  synchronize();
}

TEST_P(MetalLaunchTest, EachStreamHasItsOwnErrors) {
  const Kernel kernel = compile_shader(kBounded)["bounded"];
  const uint64_t before = current_allocated_memory();
  Tensor out = zeros({8}, DType::I32);
  synchronize();
  const Stream other(Device::current());
  kernel.on(other)(out, 5);
  default_stream().synchronize();
  EXPECT_THAT(reported([&] { other.synchronize(); }), HasSubstr("exceeds limit 5"));
  out = {};
  EXPECT_EQ(current_allocated_memory(), before);
}

TEST_P(MetalLaunchTest, CallerMayPassTheErrorBuffer) {
  const Kernel kernel = compile_shader(kBounded)["bounded"];
  const Tensor out = zeros({8}, DType::I32), errors = zeros({4096}, DType::I32);
  kernel(out, 6, errors);
  synchronize();
  EXPECT_EQ(errors.to_host<int32_t>()[0], 2);
}

}  // namespace
}  // namespace kymo::device::tests
