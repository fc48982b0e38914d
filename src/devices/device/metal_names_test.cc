// Names of Metal's library that real headers use: low-level functions, <simd/simd.h>, structures in other lanes,
// atomics of 64 bits.
#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalNamesTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalNamesTest);

TEST_P(MetalNamesTest, StructuresGoToOtherLanes) {
  const ShaderLibrary library = metal(R"(
struct Inner { half2 parts; bfloat tail[3]; };
struct Outer { long wide; Inner inner; bool flag; ulong2 pair; };
kernel void moved(device long* out, uint i [[thread_position_in_grid]]) {
  Outer mine{long(i) << 40, {half2(i, i + 1), {bfloat(1.0f), bfloat(2.0f), bfloat(i)}}, i % 3 == 0, ulong2(i, ulong(i) << 33)};
  const Outer other = simd_shuffle_xor(mine, 5);
  out[6 * i] = other.wide >> 40; out[6 * i + 1] = long(other.inner.parts.y); out[6 * i + 2] = long(float(other.inner.tail[2]));
  out[6 * i + 3] = other.flag ? 1 : 0; out[6 * i + 4] = long(other.pair.y >> 33); out[6 * i + 5] = simd_broadcast(mine, 7).wide >> 40;
}
)");
  const Tensor out = zeros({32 * 6}, DType::I64);
  library["moved"].threads(32).group(32)(out);
  const auto got = out.to_host<int64_t>();
  for (int64_t i = 0; i < 32; ++i) {
    const int64_t from = i ^ 5;
    const auto first = got.begin() + 6 * i;
    ASSERT_EQ(std::vector<int64_t>(first, first + 6),
              (std::vector<int64_t>{from, from + 1, from, from % 3 == 0, from, 7}))
        << i;
  }
}

TEST_P(MetalNamesTest, GlobalNamesAfterAUsingDirective) {
  const ShaderLibrary library = metal(R"(
namespace scaled { using namespace metal; float sqrt(half x) { return -1.0f; } }
kernel void global(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  out[i] = ::sqrt(in[i]) + ::fmod(in[i], 3.0f) + ::metal::exp2(2.0f) + scaled::floor(0.5f) + scaled::sqrt(1.0h);
}
)");
  EXPECT_EQ(run<float>(library["global"], 2, std::vector<float>{4, 16}), (std::vector<float>{6, 8}));
}

TEST_P(MetalNamesTest, AnArrayHasAPointerToItsElements) {
  const ShaderLibrary library = metal(R"(
struct Sizes { array<int, 5> of; };
kernel void pointed(device int* out, constant Sizes& sizes, device array<int, 3>* buffer, uint i [[thread_position_in_grid]]) {
  auto from = sizes.of.data();
  from += 2;
  threadgroup array<int, 2> shared;
  shared.data()[1] = from[1];
  array<int, 2> mine = {1, 2};
  *mine.data() = 10;
  buffer->data()[2] = *(buffer[0].data() + 1);
  out[0] = from[0]; out[1] = shared[1]; out[2] = mine[0] + mine.data()[1]; out[3] = buffer->data()[2];
}
)");
  EXPECT_EQ(run<int32_t>(library["pointed"], 4, std::vector<int32_t>{3, 4, 5, 6, 7}, std::vector<int32_t>{8, 9, 0}),
            (std::vector<int32_t>{5, 6, 12, 9}));
}

TEST_P(MetalNamesTest, LowLevelNamesAreTheFunctionsOfMetal) {
  const ShaderLibrary library = metal(R"(
kernel void low(device float* out, uint i [[thread_position_in_grid]]) {
  const float x = float(i);
  device float* o = out + 10 * i;
  o[0] = __metal_fma(x, 2.0f, 1.0f);
  o[1] = __metal_fmax(x, 3.0f, __METAL_MAYBE_FAST_MATH__);
  o[2] = __metal_fmax3(x, 3.0f, 9.0f, __METAL_MAYBE_FAST_MATH__);
  o[3] = __metal_simd_sum(x);
  o[4] = __metal_simd_shuffle(x, 3);
  o[5] = __metal_simd_prefix_inclusive_sum(x);
  o[6] = __metal_simd_shuffle_and_fill_down(x, -1.0f, 1, 32);
  o[7] = __metal_fabs(-x, __METAL_MAYBE_FAST_MATH__);
  const uniform<float> same = make_uniform(4.0f);
  o[8] = same + __metal_rint(x + 0.25f, true);
  o[9] = __metal_quad_sum(x);
}
)");
  const Tensor out = zeros({320});
  library["low"].threads(32).group(32)(out);
  const auto got = out.to_host<float>();
  for (int i = 0; i < 32; ++i) {
    const auto x = static_cast<float>(i);
    const auto first = got.begin() + 10 * i;
    const auto quad = static_cast<float>(i / 4 * 16 + 6);
    ASSERT_EQ(std::vector<float>(first, first + 10),
              (std::vector<float>{2 * x + 1, std::max(x, 3.0f), std::max(x, 9.0f), 496, 3, x * (x + 1) / 2,
                                  i == 31 ? -1.0f : x + 1, x, 4 + x, quad}))
        << i;
  }
}

TEST_P(MetalNamesTest, SimdHeader) {
  const ShaderLibrary library = metal(R"(
#include <simd/simd.h>
struct Camera { matrix_float4x4 view; vector_float3 position; simd_uint2 size; };
kernel void seen(device simd_float4* out, constant Camera& camera, constant simd::float3& v) {
  out[0] = camera.view * simd_float4(v.x, v.y, v.z, 1.0f);
  out[1] = vector_float4(simd::dot(camera.position, v), simd_length(v), float(camera.size.y), simd::max(v.x, v.y));
}
)");
  struct Camera {
    float view[16];
    float position[4];
    uint32_t size[2];
    uint32_t padding[2];
  };
  const Camera camera{{2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4, 0, 1, 1, 1, 1}, {1, 2, 3, 0}, {5, 6}, {}};
  const Tensor out = zeros({8});
  library["seen"].threads(1)(out, std::as_bytes(std::span(&camera, 1)), std::vector<float>{2, 3, 6});
  EXPECT_EQ(out.to_host<float>(), (std::vector<float>{5, 10, 25, 1, 26, 7, 6, 3}));
}

TEST_P(MetalNamesTest, AtomicsOf64Bits) {
  const ShaderLibrary library = metal(R"(
kernel void extremes(device atomic_ulong* out, uint i [[thread_position_in_grid]]) {
  const ulong value = (ulong(i * 37u % 101u) << 40) + ulong(i);
  atomic_max_explicit(out, value, memory_order_relaxed);
  atomic_min_explicit(out + 1, value, memory_order_relaxed);
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
}
kernel void sizes(device uint* out, constant metal::array<uint, 3>& given, uint i [[thread_position_in_grid]]) {
  metal::array<uint, 3> mine = given;
  mine[1] += 1;
  out[i] = mine[i] * uint(mine.size());
}
)");
  const Tensor out = from_host(std::vector<uint64_t>{0, ~uint64_t{0}});
  library["extremes"].threads(101)(out);
  uint64_t most = 0, least = ~uint64_t{0};
  for (uint64_t i = 0; i < 101; ++i) {
    const uint64_t value = ((i * 37 % 101) << 40) + i;
    most = std::max(most, value);
    least = std::min(least, value);
  }
  EXPECT_EQ(out.to_host<uint64_t>(), (std::vector<uint64_t>{most, least}));
  EXPECT_EQ(run<uint32_t>(library["sizes"], 3, on_device(std::vector<uint32_t>{4, 5, 6})),
            (std::vector<uint32_t>{12, 18, 18}));
}

// The names behind numeric_limits in Apple's library, with which sources extend it.
TEST_P(MetalNamesTest, LimitsOfTypesOfTheSource) {
  const ShaderLibrary library = metal(R"(
#pragma METAL internals : enable
struct Fixed { int bits; operator float() const { return float(bits) / 256; } };
namespace metal {
template <> struct _numeric_limits_impl<Fixed> : _fp_numeric_limits_impl_base {
  static constexpr constant int digits = 31;
  static constexpr Fixed max() { return {2147483647}; }
};
}  // namespace metal
#pragma METAL internals : disable
struct Other {};
template <typename T> float largest() { return float(numeric_limits<T>::max()); }
kernel void limits(device float* out, device const float* in) {
  const uint bits = as_type<uint>(in[0]) & ~_fp_encoding_traits<float>::sign_mask;
  out[0] = largest<Fixed>();
  out[1] = largest<half>();
  out[2] = float(numeric_limits<Fixed>::digits + (numeric_limits<Fixed>::is_signed ? 100 : 0));
  out[3] = float(numeric_limits<Fixed>::is_specialized) + 2 * float(numeric_limits<Other>::is_specialized);
  out[4] = bits == _fp_encoding_traits<float>::inf_mask ? 1 : 0;
  out[5] = float(_fp_encoding_traits<half>::inf_mask);
  out[6] = 5 + numeric_limits<float2>::infinity().y + float(numeric_limits<float2>::has_infinity);
})");
  const Tensor out = zeros({7}, DType::F32);
  library["limits"].threads(1)(out, from_host(std::vector<float>{-INFINITY}));
  EXPECT_EQ(out.to_host<float>(), (std::vector<float>{8388608.0f, 65504.0f, 131.0f, 1.0f, 1.0f, 31744.0f, 5.0f}));
}

}  // namespace
}  // namespace kymo::device::tests
