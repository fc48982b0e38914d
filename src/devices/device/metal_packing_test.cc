// Normalized numbers and colors in integers, prefix operations of quads, and constants of the library.
#include <cmath>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalPackingTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalPackingTest);

uint32_t packing_bits(float x, float most) {
  return static_cast<uint32_t>(std::nearbyint(std::fmin(std::fmax(x, 0), 1) * most));
}

TEST_P(MetalPackingTest, NumbersAreRoundedAndTheFirstIsInTheLowestBits) {
  const ShaderLibrary library = metal(R"(
kernel void pack(device uint* o, device const float4* in) {
  const float4 v = in[0];
  o[0] = pack_float_to_unorm10a2(v); o[1] = pack_half_to_unorm10a2(half4(v));
  o[2] = pack_float_to_unorm565(v.xyz); o[3] = pack_half_to_unorm565(half3(v.xyz));
  o[4] = pack_half_to_unorm4x8(half4(v)); o[5] = pack_half_to_snorm4x8(half4(v));
  o[6] = pack_half_to_unorm2x16(half2(v.xy)); o[7] = pack_half_to_snorm2x16(half2(-v.xy));
  o[8] = pack_float_to_snorm4x8(float4(-1, NAN, 2, -0.5f)); o[9] = pack_float_to_snorm2x16(float2(NAN, -3));
}
kernel void unpack(device float* o, device const uint* in) {
  const float4 a = unpack_unorm10a2_to_float(in[0]); const half4 b = unpack_unorm10a2_to_half(in[0]);
  const float3 c = unpack_unorm565_to_float(ushort(in[1])); const half3 d = unpack_unorm565_to_half(ushort(in[1]));
  for (int i = 0; i < 4; ++i) { o[i] = a[i]; o[4 + i] = b[i]; }
  for (int i = 0; i < 3; ++i) { o[8 + i] = c[i]; o[11 + i] = d[i]; }
  o[14] = unpack_snorm4x8_to_half(in[2]).y; o[15] = unpack_unorm4x8_to_half(in[2]).x;
  o[16] = unpack_snorm2x16_to_half(in[2]).x; o[17] = unpack_unorm2x16_to_half(in[2]).y;
}
)");
  const std::vector<float> v = {0.25f, 0.75f, 1.5f, 0.6f};
  const uint32_t wide = packing_bits(v[0], 1023) | packing_bits(v[1], 1023) << 10 | packing_bits(v[2], 1023) << 20 |
                        packing_bits(v[3], 3) << 30;
  const uint32_t small = packing_bits(v[0], 31) | packing_bits(v[1], 63) << 5 | packing_bits(v[2], 31) << 11;
  const auto snorm = [](float x) {
    return static_cast<uint32_t>(static_cast<int32_t>(std::nearbyint(x * 32767))) & 0xffff;
  };
  EXPECT_EQ(run<uint32_t>(library["pack"], 10, v),
            (std::vector<uint32_t>{wide, wide, small, small, 0x99ffbf40, 0x4c7f5f20,
                                   packing_bits(v[0], 65535) | packing_bits(v[1], 65535) << 16,
                                   snorm(-0.25f) | snorm(-0.75f) << 16, 0xc07f0081, 0x80010000}));
  const auto got = run<float>(library["unpack"], 18, std::vector<uint32_t>{wide, small, 0x80008081});
  for (int i = 0; i < 3; ++i) {
    const float most = 1023, field = static_cast<float>(wide >> 10 * i & 1023);
    EXPECT_FLOAT_EQ(got[static_cast<size_t>(i)], field / most);
    EXPECT_NEAR(got[static_cast<size_t>(4 + i)], field / most, 0.001);
  }
  EXPECT_FLOAT_EQ(got[3], static_cast<float>(wide >> 30) / 3);
  EXPECT_FLOAT_EQ(got[8], static_cast<float>(small & 31) / 31);
  EXPECT_FLOAT_EQ(got[9], static_cast<float>(small >> 5 & 63) / 63);
  EXPECT_FLOAT_EQ(got[10], static_cast<float>(small >> 11) / 31);
  EXPECT_NEAR(got[12], static_cast<float>(small >> 5 & 63) / 63, 0.001);
  EXPECT_EQ(got[14], -1.0f);
  EXPECT_NEAR(got[15], 129.0 / 255, 0.001);
  EXPECT_NEAR(got[16], -32639.0 / 32767, 0.001);
  EXPECT_NEAR(got[17], 32768.0 / 65535, 0.001);
}

TEST_P(MetalPackingTest, ColorsAreConvertedToAndFromSrgb) {
  const ShaderLibrary library = metal(R"(
kernel void colors(device uint* o, uint i [[thread_position_in_grid]]) {
  const float4 linear = unpack_unorm4x8_srgb_to_float(i * 0x01010101u);
  const uint back = pack_float_to_srgb_unorm4x8(linear), half_back = pack_half_to_srgb_unorm4x8(half4(linear));
  o[i] = (back == i * 0x01010101u ? 1 : 0) + ((half_back >> 24) == i ? 2 : 0) + (uint(rint(linear.x * 100000.0f)) << 2);
}
)");
  const auto got = run<uint32_t>(library["colors"], 256);
  for (uint32_t i = 0; i < 256; ++i) {
    const double x = i / 255.0, linear = x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
    EXPECT_EQ(got[i] & 3, 3u) << i;
    EXPECT_NEAR(got[i] >> 2, linear * 100000, 1) << i;
  }
}

TEST_P(MetalPackingTest, PrefixesAndFilledShufflesOfQuads) {
  const ShaderLibrary library = metal(R"(
kernel void quads(device int* o, uint i [[thread_position_in_grid]]) {
  const int v = int(i) + 1, f = 100 + int(i);
  o[i] = quad_prefix_inclusive_sum(v); o[32 + i] = quad_prefix_exclusive_sum(v);
  o[64 + i] = quad_prefix_inclusive_product(v); o[96 + i] = quad_prefix_exclusive_product(v);
  o[128 + i] = quad_shuffle_and_fill_up(v, f, ushort(1)); o[160 + i] = quad_shuffle_and_fill_down(v, f, ushort(1));
}
)");
  const Tensor out = zeros({192}, DType::I32);
  library["quads"].threads(32).group(32)(out);
  std::vector<int32_t> wanted(192);
  for (int i = 0; i < 32; ++i) {
    int sum = 0, product = 1;
    for (int k = i / 4 * 4; k < i; ++k) sum += k + 1, product *= k + 1;
    const auto at = static_cast<size_t>(i);
    wanted[32 + at] = sum, wanted[at] = sum + i + 1, wanted[96 + at] = product, wanted[64 + at] = product * (i + 1);
    wanted[128 + at] = i % 4 == 0 ? 100 + i + 3 : i;
    wanted[160 + at] = i % 4 == 3 ? 100 + i - 3 : i + 2;
  }
  EXPECT_EQ(out.to_host<int32_t>(), wanted);
}

TEST_P(MetalPackingTest, ConstantsOfHalfAndBfloat) {
  const ShaderLibrary library = metal(R"(
kernel void constants(device float* o) {
  o[0] = M_1_PI_H; o[1] = M_LN10_H; o[2] = M_SQRT1_2_H; o[3] = HALF_DIG + HALF_MANT_DIG; o[4] = FLT_MAX_10_EXP;
  o[5] = M_PI_BF; o[6] = HALF_MIN_EXP; o[7] = ilogb(0.0f) == FP_ILOGB0; o[8] = ilogb(NAN) == FP_ILOGBNAN;
}
)");
  EXPECT_EQ(run<float>(library["constants"], 9),
            (std::vector<float>{0.318359375f, 2.302734375f, 0.70703125f, 13, 38, 3.140625f, -13, 1, 1}));
}

TEST_P(MetalPackingTest, OffsetsBitsAndAssertions) {
  const ShaderLibrary library = metal(R"(#include <metal_assert>
struct In { char c; float f; };
struct Out { short s; In in; half h; };
kernel void layout(device int* o) {
  assert(o[0] == 0);
  o[0] = offsetof(Out, in); o[1] = __builtin_offsetof(Out, in.f); o[2] = offsetof(Out, h);
  o[3] = __builtin_bit_cast(int, 1.0f);
}
)");
  EXPECT_EQ(run<int32_t>(library["layout"], 4), (std::vector<int32_t>{4, 8, 12, 0x3f800000}));
}

TEST_P(MetalPackingTest, SamplersMayHaveACompareFunction) {
  const ShaderLibrary library = metal(R"(
kernel void read(device float* o, texture2d<float> t [[texture(0)]]) {
  constexpr sampler s(filter::nearest, coord::pixel, compare_func::less_equal);
  o[0] = t.sample(s, float2(1.5f, 0.5f)).x;
}
)");
  const Tensor out = zeros({1}, DType::F32);
  library["read"].threads(1)(out, from_host(std::vector<float>{1, 2, 3, 4}).reshape({2, 2}));
  EXPECT_EQ(out.to_host<float>(), std::vector<float>{2});
}

}  // namespace
}  // namespace kymo::device::tests
