// The functions of PyTorch's headers for kernels, compared with the host.
#include <complex>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

using Complex = std::complex<double>;

class MetalTorchMathTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalTorchMathTest);

// e^(x*x) erfc(x). For a large x: the first terms of its series.
double scaled_erfc(double x) {
  if (x < 20) return std::exp(x * x) * std::erfc(x);
  return (1 - 0.5 / (x * x) + 0.75 / (x * x * x * x)) / (x * std::sqrt(M_PI));
}

TEST_P(MetalTorchMathTest, GammaFunctions) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/special_math.h>
kernel void gammas(device float* out, device const float* in, uint i [[thread_position_in_grid]]) { out[i] = c10::metal::gamma(in[i]); }
kernel void derivatives(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  for (int order = 0; order < 4; ++order) out[4 * i + order] = c10::metal::polygamma(order, in[i]);
}
kernel void incomplete(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  out[2 * i] = igamma(2.0f, in[i]);
  out[2 * i + 1] = igammac(half(2), half(in[i]));
}
)");
  const std::vector<float> in = {-33.25f, -3.5f, -1.5f, -0.5f, -1e-3f, 1e-20f, 5e-4f, 0.1f,  0.5f, 1,
                                 1.25f,   1.5f,  2,     2.5f,  3,      5,      10.3f, 20.7f, 34,   35};
  const auto got = run<float>(library["gammas"], static_cast<int64_t>(in.size()), in);
  for (size_t i = 0; i < in.size(); ++i) {
    const double wanted = std::tgamma(static_cast<double>(in[i]));
    EXPECT_NEAR(got[i] / wanted, 1, 3e-6) << in[i];
  }
  const float inf = std::numeric_limits<float>::infinity();
  const auto edges = run<float>(library["gammas"], 6, std::vector<float>{0, -0.0f, inf, 36, -2, NAN});
  EXPECT_EQ(std::vector<float>(edges.begin(), edges.begin() + 4), (std::vector<float>{inf, -inf, inf, inf}));
  EXPECT_TRUE(std::isnan(edges[4]) && std::isnan(edges[5]));

  const Tensor out = zeros({12});
  library["derivatives"].threads(3)(out, from_host(std::vector<float>{1, 0.5f, 4}));
  const double wanted[] = {-0.57721566490, 1.64493406685, -2.40411380632, 6.49393940227,   // of 1: -gamma, zeta(2), ...
                           -1.96351002602, 4.93480220054, -16.8287966442, 97.4090910340,   // of 1/2
                           1.25611766843,  0.28382295574, -0.08003973225, 0.04486532819};  // of 4
  const auto derivatives = out.to_host<float>();
  for (size_t i = 0; i < 12; ++i) EXPECT_NEAR(derivatives[i] / wanted[i], 1, 5e-6) << i;

  const std::vector<float> at = {0, 0.5f, 1, 3, 8};
  const Tensor parts = zeros({10});
  library["incomplete"].threads(5)(parts, from_host(at));
  const auto both = parts.to_host<float>();
  for (size_t i = 0; i < at.size(); ++i) {
    const double upper = std::exp(-static_cast<double>(at[i])) * (1 + static_cast<double>(at[i]));
    EXPECT_NEAR(both[2 * i], 1 - upper, 1e-6) << at[i];
    EXPECT_NEAR(both[2 * i + 1], upper, 5e-4) << at[i] << " in half";
  }
}

TEST_P(MetalTorchMathTest, ScaledErrorFunction) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/special_math.h>
kernel void scaled(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  out[2 * i] = c10::metal::erfcx(in[i]);
  out[2 * i + 1] = in[i] < 0 ? 0.0f : c10::metal::erfcx_y100(400 / (4 + in[i]));
}
)");
  std::vector<float> in = {-5, -2, -0.5f, -0.01f, 0, 1e-3f, 0.1f, 0.5f, 1, 1.5f, 2, 3, 5, 9, 19, 50, 1e4f, 1e9f, 1e30f};
  const auto count = static_cast<int64_t>(in.size());
  const Tensor out = zeros({2 * count});
  library["scaled"].threads(static_cast<uint64_t>(count))(out, from_host(in));
  const auto got = out.to_host<float>();
  for (size_t i = 0; i < in.size(); ++i) {
    const double wanted = scaled_erfc(in[i]);
    EXPECT_NEAR(got[2 * i] / wanted, 1, 2e-6) << in[i];
    if (in[i] >= 0 && in[i] <= 50) {
      EXPECT_NEAR(got[2 * i + 1] / wanted, 1, 1e-5) << in[i];
    }
  }
  const Tensor edges = zeros({6});
  library["scaled"].threads(3)(edges, from_host(std::vector<float>{-10, INFINITY, NAN}));
  EXPECT_EQ(edges.to_host<float>()[0], INFINITY);
  EXPECT_EQ(edges.to_host<float>()[2], 0);
  EXPECT_TRUE(std::isnan(edges.to_host<float>()[4]));
}

TEST_P(MetalTorchMathTest, Polynomials) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/special_math.h>
using namespace c10::metal;
kernel void polynomials(device float* out, device const float* in, constant long& n, uint i [[thread_position_in_grid]]) {
  device float* o = out + 6 * i;
  o[0] = chebyshev_polynomial_t_forward(in[i], n); o[1] = chebyshev_polynomial_u_forward(in[i], n);
  o[2] = chebyshev_polynomial_v_forward(in[i], n); o[3] = chebyshev_polynomial_w_forward(in[i], n);
  o[4] = shifted_chebyshev_polynomial_t_forward(in[i], n); o[5] = hermite_polynomial_h_forward(in[i], n);
}
kernel void series(device float* out, uint i [[thread_position_in_grid]]) {
  const float coefficients[3] = {0.25f, -1.0f, 3.0f};
  out[i] = chbevl(float(i) - 1.0f, coefficients, 3);
}
)");
  const std::vector<float> in = {-1, -0.75f, 0.25f, 0.9375f, 1};
  for (const int64_t n : {0, 1, 3, 8, 9, 40, 1000, 100'000'000}) {
    const Tensor out = zeros({30});
    library["polynomials"].threads(5)(out, from_host(in), n);
    const auto got = out.to_host<float>();
    for (size_t i = 0; i < in.size(); ++i) {
      const double x = in[i], angle = std::acos(x), half = angle / 2, odd = 2.0 * static_cast<double>(n) + 1;
      const float* o = &got[6 * i];
      const auto count = static_cast<double>(n + 1);
      const double sign = n % 2 == 0 ? 1 : -1;
      const double u = x == 1 ? count : x == -1 ? sign * count : std::sin(count * angle) / std::sin(angle);
      const double v = x == -1 ? sign * odd : std::cos(odd * half) / std::cos(half);
      const double w = x == 1 ? odd : std::sin(odd * half) / std::sin(half);
      const bool is_bounded = std::fabs(x) < 1;
      // The angle has an error of one unit in the last place, which n multiplies.
      const double error = is_bounded ? 2e-6 + 2e-7 * static_cast<double>(n) : 1e-6;
      if (is_bounded && n > 1000) {
        EXPECT_LE(std::fabs(o[0]), 1) << "it ends, and is bounded";
        continue;
      }
      EXPECT_NEAR(o[0], std::cos(static_cast<double>(n) * angle), error) << n << " " << x;
      EXPECT_NEAR(o[1] / std::max(1.0, std::fabs(u)), u / std::max(1.0, std::fabs(u)), 4 * error) << n << " " << x;
      EXPECT_NEAR(o[2] / std::max(1.0, std::fabs(v)), v / std::max(1.0, std::fabs(v)), 4 * error) << n << " " << x;
      EXPECT_NEAR(o[3] / std::max(1.0, std::fabs(w)), w / std::max(1.0, std::fabs(w)), 8 * error) << n << " " << x;
      if (n == 3) {
        EXPECT_NEAR(o[4], std::pow(2 * x - 1, 3) * 4 - 3 * (2 * x - 1), 1e-4) << x;
        EXPECT_NEAR(o[5], 8 * x * x * x - 12 * x, 1e-5) << x;
      }
      if (n > 128) {
        EXPECT_TRUE(std::isnan(o[5])) << "PyTorch's limit of the order";
      }
    }
  }
  // 1/4 T2(x/2) - T1(x/2) + 3/2 for x = -1, 0, 1
  EXPECT_EQ(run<float>(library["series"], 3), (std::vector<float>{1.875f, 1.25f, 0.875f}));
}

TEST_P(MetalTorchMathTest, ComplexNumbers) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/special_math.h>
kernel void numbers(device float2* out, device const float2* a, device const float2* b, uint i [[thread_position_in_grid]]) {
  device float2* o = out + 6 * i;
  o[0] = c10::metal::mul(a[i], b[i]); o[1] = c10::metal::div(a[i], b[i]); o[2] = c10::metal::pow(a[i], b[i]);
  o[3] = c10::metal::log1p(a[i]); o[4] = c10::metal::logaddexp(a[i], b[i]); o[5] = c10::metal::sinc(a[i]);
}
)");
  const std::vector<Complex> a = {{1, 2}, {-0.5, 0.25}, {1e-4, -1e-4}, {0, 0}, {3, -1}};
  const std::vector<Complex> b = {{0.5, -1}, {2, 0}, {1, 1}, {2, 1}, {-1, 0.5}};
  const auto floats = [](const std::vector<Complex>& values) {
    std::vector<float> parts;
    for (const Complex& z : values)
      parts.insert(parts.end(), {static_cast<float>(z.real()), static_cast<float>(z.imag())});
    return from_host(parts);
  };
  const Tensor out = zeros({60});
  library["numbers"].threads(5)(out, floats(a), floats(b));
  const auto got = out.to_host<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    const Complex z = M_PI * a[i];
    const Complex wanted[] = {a[i] * b[i],
                              a[i] / b[i],
                              std::pow(a[i], b[i]),
                              std::log(Complex(1 + a[i].real(), a[i].imag())),
                              std::log(std::exp(a[i]) + std::exp(b[i])),
                              z == 0.0 ? Complex(1) : std::sin(z) / z};
    for (size_t k = 0; k < 6; ++k) {
      if (k == 2 && a[i] == 0.0) continue;  // tested below
      const double size = std::max(1e-3, std::abs(wanted[k]));
      EXPECT_NEAR(got[12 * i + 2 * k], wanted[k].real(), 3e-6 * size) << i << " " << k;
      EXPECT_NEAR(got[12 * i + 2 * k + 1], wanted[k].imag(), 3e-6 * size) << i << " " << k;
    }
  }
  EXPECT_EQ(got[12 * 3 + 4], 0) << "a power of 0";
  EXPECT_NEAR(got[12 * 2 + 6], 1e-4, 1e-10) << "log1p keeps the digits of a small number";
}

// PyTorch's division on the host.
float divided_down(float a, float b) {
  if (b == 0) return a / b;
  const float rest = std::fmod(a, b);
  float quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0f, a / b);
  const float down = std::floor(quotient);
  return quotient - down > 0.5f ? down + 1 : down;
}

TEST_P(MetalTorchMathTest, DivisionsAndComparisons) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/utils.h>
kernel void divide(device float* out, device const float* a, device const float* b, uint i [[thread_position_in_grid]]) {
  out[3 * i] = c10::metal::div_floor(a[i], b[i]);
  out[3 * i + 1] = c10::metal::hypot(a[i], b[i]);
  out[3 * i + 2] = c10::metal::less(a[i], b[i]) ? 1 : 0;
}
kernel void whole(device int* out, uint i [[thread_position_in_grid]]) {
  using namespace c10::metal;
  out[0] = div_floor(-7, 2); out[1] = c10::metal::max(short(3), 5l); out[2] = c10::metal::min(uchar(9), 4);
  out[3] = c10::metal::mul(uchar(200), -3); out[4] = c10::metal::pow(char(-1), -3); out[5] = c10::metal::pow(3u, 4);
  out[6] = cast_to<bool>(float2(0, 2)) ? 1 : 0; out[7] = cast_to<bool>(half2(0)) ? 1 : 0;
  out[8] = ceil_div(7u, 2u); out[9] = round_up(7, 4); out[10] = less(2, 3) && !less(3, 3) ? 1 : 0;
  static_assert(is_same_v<decltype(c10::metal::pow(char(2), char(2))), char>, "the base's");
  static_assert(is_same_v<decltype(c10::metal::pow(half(2), 2)), float>, "a float");
  static_assert(is_same_v<decltype(c10::metal::remainder(half(2), half(2))), float>, "a float");
  static_assert(is_same_v<decltype(c10::metal::remainder(short(2), 2l)), long>, "the common type");
  static_assert(is_same_v<decltype(c10::metal::mul(bfloat(2), bfloat(2))), bfloat>, "no wider");
  static_assert(is_same_v<accum_t<int>, int> && is_same_v<accum_t<bfloat>, float>, "of small floats only");
}
)");
  const std::vector<float> a = {7, -7, 7, -7, 1, 0.3f, -0.3f, 1e8f, 5, -5, 0, NAN, 2e38f};
  const std::vector<float> b = {2, 2, -2, -2, 0.1f, 0.1f, 0.1f, 3, 0, 0, -4, 1, 2e38f};
  const auto count = static_cast<int64_t>(a.size());
  const Tensor out = zeros({3 * count});
  library["divide"].threads(static_cast<uint64_t>(count))(out, from_host(a), from_host(b));
  const auto got = out.to_host<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    const float wanted = divided_down(a[i], b[i]);
    const std::string pair = std::to_string(a[i]) + "/" + std::to_string(b[i]);
    EXPECT_TRUE(got[3 * i] == wanted || (std::isnan(got[3 * i]) && std::isnan(wanted))) << pair << ": " << got[3 * i];
    EXPECT_EQ(std::signbit(got[3 * i]) && !std::isnan(wanted), std::signbit(wanted) && !std::isnan(wanted)) << pair;
    EXPECT_LE(ulps(got[3 * i + 1], std::hypot(static_cast<double>(a[i]), static_cast<double>(b[i]))), 2) << pair;
    EXPECT_EQ(got[3 * i + 2], !std::isnan(a[i]) && (std::isnan(b[i]) || a[i] < b[i]) ? 1 : 0) << pair;
  }
  const Tensor values = zeros({11}, DType::I32);
  library["whole"].threads(1)(values);
  EXPECT_EQ(values.to_host<int32_t>(), (std::vector<int32_t>{-4, 5, 4, -600, -1, 81, 1, 0, 4, 8, 1}));
}

// As in C++: a function of namespace metal is better than a template of another namespace that is used too.
TEST_P(MetalTorchMathTest, UnqualifiedNamesAreThoseOfMetal) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/special_math.h>
namespace other {
template <typename T> T max(T a, T b) { return T(7); }
float here() { return max(1.0f, 2.0f); }
}
kernel void chosen(device float* out, device const float* in) {
  out[0] = max(in[0], in[1]); out[1] = c10::metal::max(in[0], in[1]); out[2] = float(min(half(in[0]), half(in[1])));
  out[3] = ::max(in[0], in[1]); out[4] = other::max(in[0], in[1]); out[5] = other::here(); out[6] = max(2, int(in[1]));
}
)");
  const Tensor out = zeros({7});
  library["chosen"].threads(1)(out, from_host(std::vector<float>{NAN, 1}));
  auto got = out.to_host<float>();
  EXPECT_TRUE(std::isnan(got[1]));
  got[1] = 0;
  EXPECT_EQ(got, (std::vector<float>{1, 0, 1, 1, 7, 7, 2}));
}

TEST_P(MetalTorchMathTest, NamesThatKernelsOfPyTorchUse) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/indexing.h>
#include <c10/metal/special_math.h>
struct Sizes { c10::metal::array<uint, 2> sizes; c10::metal::vec3<int> more; };
template <typename T, bool Twice> kernel void kinds(device T* out, constant Sizes& given) {
  if IF_CONSTEXPR (Twice) out[0] = mul(T(2), T(given.sizes[1]));
  else out[0] = T(given.sizes[0] + simdgroup_size + ILP_PER_THREAD);
}
#define INSTANTIATE(T) template [[host_name("kinds_" #T)]] kernel void kinds<T, is_same_v<T, float>>(device T*, constant Sizes&)
INSTANTIATE_FOR_ALL_TYPES(INSTANTIATE);
)");
  EXPECT_EQ(library.kernel_names().size(), 9U);
  const std::vector<uint32_t> sizes = {5, 7, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(run<float>(library["kinds_float"], 1, sizes)[0], 14);
  EXPECT_EQ(run<int32_t>(library["kinds_int"], 1, sizes)[0], 41);
}

}  // namespace
}  // namespace kymo::device::tests
