// 16-bit floats, which are rounded after every operation.
#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalHalfTest : public MetalTest {
 protected:
  // Rounds to `bits` bits after the leading one, to nearest, ties to even. `least` is the exponent of the smallest
  // normal number.
  static float rounded(float x, int bits, int least) {
    if (x == 0 || !std::isfinite(x)) return x;
    const float unit = std::ldexp(1.0f, std::max(std::ilogb(x), least) - bits);
    return std::nearbyint(x / unit) * unit;
  }
  static float half(float x) {
    const float near = rounded(x, 10, -14);
    return std::fabs(near) > 65504.0f ? std::copysign(std::numeric_limits<float>::infinity(), x) : near;
  }
  static float bfloat(float x) { return rounded(x, 7, -126); }
};
KYMO_ON_EVERY_DEVICE(MetalHalfTest);

constexpr int kHalfCount = 32;

TEST_P(MetalHalfTest, HalfIsRoundedAfterEveryOperation) {
  const ShaderLibrary library = metal(R"(
kernel void rounds(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  const half a = half(in[i]), b = 1.0009765625h, c = 0.3h;
  device float* o = out + 8 * i;
  half sum = 0;
  for (int k = 0; k < 10; ++k) sum += a * c;
  half grown = a;
  grown *= b; grown -= c; grown /= 3;
  o[0] = a; o[1] = a * b + c; o[2] = (a + 2048) - 2048; o[3] = sum; o[4] = grown; o[5] = a + in[i]; o[6] = a * a * 1000; o[7] = half(in[i] * 3.14159f);
}
kernel void stored(device half* out, device const float* in, uint i [[thread_position_in_grid]]) { out[i] = in[i] / 3; }
kernel void compared(device int* out, device const half* in, uint i [[thread_position_in_grid]]) {
  const half x = in[i], next = in[(i + 1) % 32];
  out[i] = (x < next) + (x == half(1)) * 2 + (x > 2.0f) * 4 + int(x) * 8 + (bool(x) ? 1000 : 0) + (half(x) != x ? 5000 : 0);
}
)");
  const auto in = each(kHalfCount, [](int i) { return static_cast<float>(i * i) * 0.37f - 20.0f; });
  const Tensor out = zeros({8 * kHalfCount});
  library["rounds"].threads(kHalfCount)(out, from_host(in));
  std::vector<float> wanted;
  for (const float x : in) {
    const float a = half(x), b = 1.0009765625f, c = half(0.3f);
    float sum = 0;
    for (int k = 0; k < 10; ++k) sum = half(sum + half(a * c));
    const float grown = half(half(half(a * b) - c) / 3);
    wanted.insert(wanted.end(), {a, half(half(a * b) + c), half(half(a + 2048) - 2048), sum, grown, a + x,
                                 half(half(a * a) * 1000), half(x * 3.14159f)});
  }
  EXPECT_EQ(out.to_host<float>(), wanted);
  const Tensor stored = zeros({kHalfCount}, DType::F16);
  library["stored"](stored, from_host(in));
  EXPECT_EQ(stored.to_host<float>(), each(kHalfCount, [&](int i) { return half(in[static_cast<size_t>(i)] / 3); }));
  const auto read = stored.to_host<float>();
  EXPECT_EQ(run<int32_t>(library["compared"], kHalfCount, stored), each(kHalfCount, [&](int i) {
              const float x = read[static_cast<size_t>(i)], next = read[static_cast<size_t>(i + 1) % 32];
              return (x < next) + (x == 1) * 2 + (x > 2) * 4 + static_cast<int>(x) * 8 + (x != 0 ? 1000 : 0);
            }));
}

TEST_P(MetalHalfTest, BfloatIsRoundedAfterEveryOperation) {
  const ShaderLibrary library = metal(R"(
kernel void rounds(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  const bfloat a = bfloat(in[i]), b = bfloat(1.0078125f);
  bfloat sum = 0.0bf;
  for (int k = 0; k < 6; ++k) sum += a * b;
  device float* o = out + 5 * i;
  o[0] = a; o[1] = a * b; o[2] = sum; o[3] = float(a) + in[i]; o[4] = a < b ? -a : a;
}
kernel void stored(device bfloat* out, device const bfloat* in, uint i [[thread_position_in_grid]]) { out[i] = in[i] + bfloat(0.3f); }
)");
  const auto in = each(kHalfCount, [](int i) { return static_cast<float>(i * i) * 0.37f - 20.0f; });
  const Tensor out = zeros({5 * kHalfCount});
  library["rounds"].threads(kHalfCount)(out, from_host(in));
  std::vector<float> wanted;
  for (const float x : in) {
    const float a = bfloat(x), b = 1.0078125f, product = bfloat(a * b);
    float sum = 0;
    for (int k = 0; k < 6; ++k) sum = bfloat(sum + product);
    wanted.insert(wanted.end(), {a, product, sum, a + x, a < b ? -a : a});
  }
  EXPECT_EQ(out.to_host<float>(), wanted);
  const Tensor from = zeros({kHalfCount}, DType::BF16), to = zeros({kHalfCount}, DType::BF16);
  library["stored"](from, to);
  library["stored"](to, from);
  EXPECT_EQ(to.to_host<float>(), std::vector<float>(kHalfCount, bfloat(bfloat(0.3f) + bfloat(0.3f))));
}

}  // namespace
}  // namespace kymo::device::tests
