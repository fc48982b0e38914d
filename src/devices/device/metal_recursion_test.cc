// Functions that call themselves and each other, compared with the same functions on the host.
#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalRecursionTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalRecursionTest);

const std::vector<float> kRecursionNumbers = {-30, -12.5f, -12, -1, -0.25f, 0, 0.25f, 0.5f, 1, 11.5f, 12, 13, 50, NAN};

float host_low(float x);
float host_high(float x) { return x >= 12 ? host_low(x) * 2 : x < 0 ? host_high(-x) + 100 : x; }
float host_low(float x) { return std::fabs(x) < 12 ? host_high(std::fabs(x)) + 1 : std::fabs(x); }

TEST_P(MetalRecursionTest, FunctionsThatCallEachOther) {
  const ShaderLibrary library = metal(R"(
template <typename T> float low(T x);
template <typename T> float high(const T x) {
  if (x >= 12) return low(x) * 2;
  if (x < 0) return high(-x) + 100;
  return x;
}
template <typename T> float low(T x) {
  const float size = abs(float(x));
  if (size < 12.0) return high(size) + 1;
  return size;
}
kernel void both(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  out[2 * i] = high(in[i]);
  out[2 * i + 1] = low(half(in[i]));
})");
  const Tensor out = zeros({static_cast<int64_t>(2 * kRecursionNumbers.size())}, DType::F32);
  library["both"].threads(kRecursionNumbers.size())(out, from_host(kRecursionNumbers));
  const auto got = out.to_host<float>();
  for (size_t i = 0; i < kRecursionNumbers.size(); ++i) {
    const float x = kRecursionNumbers[i];
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(got[2 * i]));
      EXPECT_TRUE(std::isnan(got[2 * i + 1]));
    } else {
      EXPECT_EQ(got[2 * i], host_high(x)) << x;
      EXPECT_EQ(got[2 * i + 1], host_low(x)) << x;
    }
  }
}

int host_fib(int n) { return n < 2 ? n : host_fib(n - 1) + host_fib(n - 2); }

TEST_P(MetalRecursionTest, ConstantArguments) {
  const ShaderLibrary library = metal(R"(
int fib(int n) { if (n < 2) return n; return fib(n - 1) + fib(n - 2); }
int power(int x, uint n) { return n == 0 ? 1 : n % 2 ? x * power(x, n - 1) : power(x * x, n / 2); }
constexpr int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
void walk(device int* out, thread int& at, int level) {
  if (level == 0) return;
  walk(out, at, level - 1);
  out[at++] += level;
  walk(out, at, level - 1);
}
kernel void numbers(device int* out) {
  int at = 3;
  out[0] = fib(15);
  out[1] = power(3, 10u);
  out[2] = metal::array<int, factorial(4)>().size();
  walk(out, at, 3);
})");
  const Tensor out = zeros({11}, DType::I32);
  library["numbers"].threads(1)(out);
  EXPECT_EQ(out.to_host<int>(), (std::vector<int>{host_fib(15), 59049, 24, 1, 2, 1, 3, 1, 2, 1, 0}));
}

}  // namespace
}  // namespace kymo::device::tests
