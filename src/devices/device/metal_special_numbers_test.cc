// Infinities, NaNs, zeros of both signs, and integers that floats cannot hold: the same results on every device.
#include <gtest/gtest.h>

#include <bit>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalSpecialNumbersTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalSpecialNumbersTest);

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The bits of floats; all NaNs are one.
std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::isnan(value) ? 0x7FC00000 : std::bit_cast<uint32_t>(value));
  return bits;
}

TEST_P(MetalSpecialNumbersTest, NothingIsFoldedThatInfinityNanOrASignChanges) {
  constexpr size_t kResults = 12;
  const ShaderLibrary library = metal(R"(
struct Pair { float a, b; };
kernel void special(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  const float x = in[i];
  device float* o = out + 12 * i;
  o[0] = x * 0.0f; o[1] = x + 0.0f; o[2] = 0.0f - x; o[3] = x / 0.0f; o[4] = 0.0f / x; o[5] = x * -0.0f;
  o[6] = x - x;
  float sum = 0;
  for (int k = 0; k < 1; k++) sum += x;
  o[7] = sum;
  o[8] = (float4(x) * float4(1, 0, 2, 0)).y;
  o[9] = fma(x, 0.0f, 1.0f);
  float sums[2] = {0, 0};
  for (int k = 0; k < 2; k++) sums[k] += x * float(k);
  o[10] = sums[0];
  Pair p = {0, 1};
  p.a += x;
  o[11] = p.a;
}
)");
  const std::vector<float> in = {kInfinity, -kInfinity, std::nanf(""), -2, 0, -0.0f, 3e38f, 1e-45f};
  std::vector<float> wanted;
  for (const float x : in) {
    volatile float zero = 0;
    const float y = x * zero;
    wanted.insert(wanted.end(), {y, x + zero, zero - x, x / zero, zero / x, x * -zero, x - x, zero + x, y,
                                 std::fma(x, zero, 1.0f), zero + y, zero + x});
  }
  for (const uint64_t group : {uint64_t{1}, in.size()}) {
    const Tensor out = zeros({static_cast<int64_t>(in.size() * kResults)});
    library["special"].threads(in.size()).group(group)(out, from_host(in));
    EXPECT_EQ(bits_of(out.to_host<float>()), bits_of(wanted)) << "groups of " << group;
  }
}

TEST_P(MetalSpecialNumbersTest, AnIntegerThatAFloatCannotHoldIsRounded) {
  const ShaderLibrary library = metal(R"(
kernel void through(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
  out[3 * i] = int(float(in[i]));
  out[3 * i + 1] = int(uint(float(uint(in[i]))));
  out[3 * i + 2] = int(long(float(long(in[i]))) - long(in[i]));
}
)");
  const std::vector<int> in = {16777217, 33554435, 123456789, 7};
  const Tensor out = zeros({static_cast<int64_t>(3 * in.size())}, DType::I32);
  library["through"].threads(in.size())(out, from_host(in));
  EXPECT_EQ(out.to_host<int>(),
            (std::vector<int>{16777216, 16777216, -1, 33554436, 33554436, 1, 123456792, 123456792, 3, 7, 7, 0}));
}

}  // namespace
}  // namespace kymo::device::tests
