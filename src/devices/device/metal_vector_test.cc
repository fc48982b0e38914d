// Vectors: construction, components, arithmetic, layout in memory.
#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalVectorTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalVectorTest);

constexpr int kVectors = 16;

TEST_P(MetalVectorTest, ConstructorsTakePartsThatFillTheVector) {
  const ShaderLibrary library = metal(R"(
kernel void make(device float* out, uint i [[thread_position_in_grid]]) {
  const float f = float(i);
  const float2 a(f, 1);
  const float3 b(a, 2), c(3, a);
  const float4 d(a, b.yz), e(f), g = float4(b, c.x), h{f, 1, 2, 3};
  const int4 t = int4(float4(f + 0.7f, -f - 0.7f, 2.5f, -2.5f));
  const float4 u = 5;
  float4 z = 0;
  out[i] = a.x + b.z * 10 + c.y * 100 + d.w * 3 + e.w * 7 + g.w * 11 + h.y * 13 + t.x * 17 + t.y * 19 + t.w * 23 + u.z + z.x;
}
)");
  EXPECT_EQ(run<float>(library["make"], kVectors), each(kVectors, [](int i) {
              const auto f = static_cast<float>(i);
              return f + 20 + f * 100 + 2 * 3 + f * 7 + 3 * 11 + 13 + static_cast<float>(i * 17 - i * 19 - 2 * 23) + 5;
            }));
}

TEST_P(MetalVectorTest, SwizzlesAreReadAndWritten) {
  const ShaderLibrary library = metal(R"(
kernel void swizzle(device int4* out, device const int4* in, uint i [[thread_position_in_grid]]) {
  int4 v = in[i], r = v.wzyx;
  r.xz = v.yy;
  r.rg += int2(100, 200);
  v.zw = v.xy * 2;
  r.w = v.z + v.wwww.y;
  r.yzw = r.zwy;
  out[i] = r;
}
kernel void memory(device float4* out, device const float4* in, uint i [[thread_position_in_grid]]) {
  out[i].wx = in[i].xy;
  out[i].y = in[i].z;
  out[i][2] = in[i][3];
  out[i].zw *= 2.0f;
}
)");
  const auto in = each(kVectors * 4, [](int i) { return i * 3 + 1; });
  const Tensor out = zeros({kVectors * 4}, DType::I32);
  library["swizzle"].threads(kVectors)(out, from_host(in));
  std::vector<int32_t> wanted;
  for (size_t i = 0; i < kVectors; ++i) {
    const int x = in[4 * i], y = in[4 * i + 1], z = in[4 * i + 2];
    int r[4] = {y + 100, z + 200, y, 2 * x + 2 * y};
    wanted.insert(wanted.end(), {r[0], r[2], r[3], r[1]});
  }
  EXPECT_EQ(out.to_host<int32_t>(), wanted);

  const auto floats = each(kVectors * 4, [](int i) { return static_cast<float>(i) + 0.5f; });
  const Tensor to = zeros({kVectors * 4});
  library["memory"].threads(kVectors)(to, from_host(floats));
  std::vector<float> expected;
  for (size_t i = 0; i < kVectors; ++i)
    expected.insert(expected.end(), {floats[4 * i + 1], floats[4 * i + 2], floats[4 * i + 3] * 2, floats[4 * i] * 2});
  EXPECT_EQ(to.to_host<float>(), expected);
}

TEST_P(MetalVectorTest, ArithmeticIsPerComponent) {
  const ShaderLibrary library = metal(R"(
kernel void compute(device float* out, device const float4* in, uint i [[thread_position_in_grid]]) {
  const float4 a = in[i], b = a.yzwx;
  float4 c = a * b + 2.0f - b / 4;
  c += a; c -= 1; c *= b;
  const float4 d = -c + float4(1, 2, 3, 4) * 0.5;
  out[i] = d.x + d.y * 2 + d.z * 3 + d.w * 4;
}
kernel void whole(device int* out, device const int4* in, uint i [[thread_position_in_grid]]) {
  const int4 a = in[i];
  const uint4 u = uint4(a) * 3u;
  const int4 r = (a << 2) ^ (a >> 1) | (a & 12), q = a / int4(3, -2, 5, 7) + a % 6;
  const uchar4 c = uchar4(u) + uchar4(250);
  const short2 s = short2(a.xy) * short2(1000);
  out[i] = r.x + r.y + q.z * 3 + q.w + int(u.w) + c.x + c.y * 7 + s.x + ~a.z;
}
kernel void compared(device int* out, device const int4* in, uint i [[thread_position_in_grid]]) {
  const int4 a = in[i];
  const bool4 less = a < int4(10, 20, 30, 40), odd = (a & 1) == 1;
  const bool4 both = less && odd, none = !(less || odd);
  const int4 chosen = select(a, -a, both);
  out[i] = (any(both) ? 1 : 0) + (all(less) ? 2 : 0) + (any(none) ? 4 : 0) + chosen.x * 8 + chosen.w * 16 + (both.y ? 1000 : 0) + int(odd.z) * 5000;
}
)");
  const auto in = each(kVectors * 4, [](int i) { return static_cast<float>((i * 7) % 23) * 0.5f + 1; });
  const Tensor out = zeros({kVectors});
  library["compute"].threads(kVectors)(out, from_host(in));
  std::vector<float> wanted;
  for (size_t i = 0; i < kVectors; ++i) {
    float d[4];
    for (size_t k = 0; k < 4; ++k) {
      const float a = in[4 * i + k], b = in[4 * i + (k + 1) % 4];
      float c = a * b + 2.0f - b / 4;
      c += a;
      c -= 1;
      c *= b;
      d[k] = -c + static_cast<float>(k + 1) * 0.5f;
    }
    wanted.push_back(d[0] + d[1] * 2 + d[2] * 3 + d[3] * 4);
  }
  EXPECT_EQ(out.to_host<float>(), wanted);

  const auto ints = each(kVectors * 4, [](int i) { return (i * 13) % 47; });
  const Tensor whole = zeros({kVectors}, DType::I32), compared = zeros({kVectors}, DType::I32);
  library["whole"].threads(kVectors)(whole, from_host(ints));
  library["compared"].threads(kVectors)(compared, from_host(ints));
  std::vector<int32_t> sums, comparisons;
  for (size_t i = 0; i < kVectors; ++i) {
    const int* a = &ints[4 * i];
    const auto r = [&](int k) { return ((a[k] << 2) ^ (a[k] >> 1)) | (a[k] & 12); };
    const auto c = [&](int k) { return static_cast<uint8_t>(a[k] * 3 + 250); };
    sums.push_back(r(0) + r(1) + (a[2] / 5 + a[2] % 6) * 3 + a[3] / 7 + a[3] % 6 + a[3] * 3 + c(0) + c(1) * 7 +
                   static_cast<int16_t>(a[0] * 1000) + ~a[2]);
    bool both[4], none = false, any = false, all = true;
    for (int k = 0; k < 4; ++k) {
      const bool less = a[k] < 10 * (k + 1), odd = (a[k] & 1) == 1;
      both[k] = less && odd;
      any |= both[k];
      all &= less;
      none |= !(less || odd);
    }
    comparisons.push_back((any ? 1 : 0) + (all ? 2 : 0) + (none ? 4 : 0) + (both[0] ? -a[0] : a[0]) * 8 +
                          (both[3] ? -a[3] : a[3]) * 16 + (both[1] ? 1000 : 0) + (a[2] & 1) * 5000);
  }
  EXPECT_EQ(whole.to_host<int32_t>(), sums);
  EXPECT_EQ(compared.to_host<int32_t>(), comparisons);
}

TEST_P(MetalVectorTest, ThreeComponentsTakeTheSpaceOfFourUnlessPacked) {
  const ShaderLibrary library = metal(R"(
kernel void wide(device float3* out, device const packed_float3* in, uint i [[thread_position_in_grid]]) {
  out[i] = float3(in[i]) * 2;
}
kernel void narrow(device packed_float3* out, device const float3* in, uint i [[thread_position_in_grid]]) {
  packed_float3 p = in[i];
  p.y = p.y + 1;
  out[i] = p;
  out[i].z = in[i].x;
}
kernel void halves(device packed_half3* out, device const float* in, uint i [[thread_position_in_grid]]) {
  out[i] = packed_half3(half3(in[3 * i], in[3 * i + 1], in[3 * i + 2]));
}
)");
  const auto packed = each(kVectors * 3, [](int i) { return static_cast<float>(i); });
  const Tensor wide = full({kVectors * 4}, -1);
  library["wide"].threads(kVectors)(wide, from_host(packed));
  std::vector<float> got = wide.to_host<float>();
  for (size_t i = 0; i < kVectors; ++i)
    for (size_t k = 0; k < 3; ++k) EXPECT_EQ(got[4 * i + k], packed[3 * i + k] * 2);

  const auto padded = each(kVectors * 4, [](int i) { return static_cast<float>(i); });
  const Tensor narrow = zeros({kVectors * 3});
  library["narrow"].threads(kVectors)(narrow, from_host(padded));
  got = narrow.to_host<float>();
  for (size_t i = 0; i < kVectors; ++i) {
    EXPECT_EQ(got[3 * i], padded[4 * i]);
    EXPECT_EQ(got[3 * i + 1], padded[4 * i + 1] + 1);
    EXPECT_EQ(got[3 * i + 2], padded[4 * i]);
  }
  const Tensor halves = zeros({kVectors * 3}, DType::F16);
  library["halves"].threads(kVectors)(halves, from_host(packed));
  EXPECT_EQ(halves.to_host<float>(), packed);
}

TEST_P(MetalVectorTest, Geometry) {
  const ShaderLibrary library = metal(R"(
kernel void geometry(device float* out, device const packed_float3* in, uint i [[thread_position_in_grid]]) {
  const float3 a = in[i], b = in[i + 1];
  device float* o = out + 8 * i;
  const float3 c = cross(a, b), n = normalize(a);
  o[0] = dot(a, b); o[1] = c.x; o[2] = c.y; o[3] = c.z;
  o[4] = length(a); o[5] = distance(a, b); o[6] = length_squared(a);
  o[7] = reflect(a, n).x;
}
)");
  const auto in = each((kVectors + 1) * 3, [](int i) { return static_cast<float>((i * 5) % 11) + 1; });
  const Tensor out = zeros({kVectors * 8});
  library["geometry"].threads(kVectors)(out, from_host(in));
  const auto got = out.to_host<float>();
  for (size_t i = 0; i < kVectors; ++i) {
    const float *a = &in[3 * i], *b = &in[3 * i + 3], *o = &got[8 * i];
    const float squares = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
    const float d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    EXPECT_EQ(o[0], a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
    EXPECT_EQ(o[1], a[1] * b[2] - a[2] * b[1]);
    EXPECT_EQ(o[2], a[2] * b[0] - a[0] * b[2]);
    EXPECT_EQ(o[3], a[0] * b[1] - a[1] * b[0]);
    EXPECT_EQ(o[4], std::sqrt(squares));
    EXPECT_EQ(o[5], std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
    EXPECT_EQ(o[6], squares);
    EXPECT_NEAR(o[7], -a[0], 1e-4);
  }
}

TEST_P(MetalVectorTest, MatricesMultiply) {
  const ShaderLibrary library = metal(R"(
kernel void matrices(device float4* out, device const float4* in, uint i [[thread_position_in_grid]]) {
  float4x4 m(in[0], in[1], in[2], in[3]);
  const float4x4 t = transpose(m);
  m[1].x += 1;
  const float4x4 p = m * t;
  out[0] = m * in[0];
  out[1] = in[0] * m;
  out[2] = p[2];
  out[3] = float4(determinant(float2x2(in[0].xy, in[1].zw)), t[0][3], 0, 0);
}
)");
  const auto in = each(16, [](int i) { return static_cast<float>((i * 5) % 7 - 3); });
  const Tensor out = zeros({16});
  library["matrices"].threads(1)(out, from_host(in));
  const auto got = out.to_host<float>();
  float m[4][4], t[4][4];
  for (size_t c = 0; c < 4; ++c)
    for (size_t r = 0; r < 4; ++r) t[r][c] = m[c][r] = in[4 * c + r];
  m[1][0] += 1;
  for (size_t r = 0; r < 4; ++r) {
    float column = 0, row = 0, product = 0;
    for (size_t c = 0; c < 4; ++c) {
      column += m[c][r] * in[c];
      row += in[c] * m[r][c];
      product += m[c][r] * t[2][c];
    }
    EXPECT_EQ(got[r], column);
    EXPECT_EQ(got[4 + r], row);
    EXPECT_EQ(got[8 + r], product);
  }
  EXPECT_EQ(got[12], in[0] * in[7] - in[6] * in[1]);
  EXPECT_EQ(got[13], in[12]);
}

TEST_P(MetalVectorTest, MatricesAreMadeOfNumbersAndOfOtherMatrices) {
  const ShaderLibrary library = metal(R"(
kernel void k(device float* out, device const float4x4* in) {
  const half2x4 a = half2x4(1, 2, 3, 4, 5, 6, 7, 8);
  const float2x4 b = (float2x4)a * 2.0f - float2x4(float4(1), float4(0.5));
  const half4x4 c = half4x4(in[0]);
  float3x3 d = -float3x3(2);
  d /= 4.0f;
  threadgroup float2x2 shared;
  shared = float2x2(1, 2, 3, 4);
  for (int i = 0; i < 8; ++i) out[i] = b[i / 4][i % 4];
  out[8] = c[2][1];
  out[9] = d[1][1];
  out[10] = shared[1][0] + shared.columns[0].y;
  out[11] = determinant(in[0]);
  out[12] = (a == half2x4(b)) + 2 * (b != b + b);
})");
  std::vector<float> in = {2, 0, 1, 3, 0, 1, 4, 0, 5, 0.5f, 1, 1, 0, 2, 0, 1};
  const Tensor out = zeros({13});
  library["k"].threads(1)(out, from_host(in));
  EXPECT_EQ(out.to_host<float>(), (std::vector<float>{1, 3, 5, 7, 9.5f, 11.5f, 13.5f, 15.5f, 0.5f, -0.5f, 5, -111, 2}));
}

TEST_P(MetalVectorTest, BitsAreReinterpretedAsAnotherType) {
  const ShaderLibrary library = metal(R"(
kernel void bits(device uint* out, device const float* in, uint i [[thread_position_in_grid]]) {
  const float f = in[i];
  device uint* o = out + 6 * i;
  o[0] = as_type<uint>(f);
  o[1] = as_type<uint>(as_type<float>(as_type<int>(f) ^ 1));
  o[2] = as_type<ushort>(half(f));
  o[3] = as_type<uint>(half2(half(f), 1.0h));
  const uint2 two = as_type<uint2>(ulong(i) * 0x100000001ul);
  o[4] = two.x + two.y;
  o[5] = as_type<uint>(uchar4(1, 2, 3, uchar(i)));
}
)");
  const auto in = each(kVectors, [](int i) { return static_cast<float>(i) * 0.25f - 1; });
  const Tensor out = zeros({kVectors * 6}, DType::U32);
  library["bits"].threads(kVectors)(out, from_host(in));
  const auto got = out.to_host<uint32_t>();
  for (size_t i = 0; i < kVectors; ++i) {
    const auto bits = std::bit_cast<uint32_t>(in[i]);
    const uint32_t half = std::bit_cast<uint16_t>(Half(in[i]));
    const std::vector<uint32_t> wanted = {bits,
                                          bits ^ 1u,
                                          half,
                                          half | 0x3c00u << 16,
                                          static_cast<uint32_t>(2 * i),
                                          0x00030201u | static_cast<uint32_t>(i) << 24};
    EXPECT_EQ(std::vector<uint32_t>(got.begin() + static_cast<ptrdiff_t>(6 * i),
                                    got.begin() + static_cast<ptrdiff_t>(6 * i + 6)),
              wanted);
  }
}

}  // namespace
}  // namespace kymo::device::tests
