// Math functions. They are compared with the host's functions in double precision. The errors must be within the
// limits of Metal's specification.
#include <array>
#include <random>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalMathTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalMathTest);

using Unary = double (*)(double);

struct Function {
  const char* name;
  Unary exact;
  double low, high;  // the tested interval, in addition to special values
  double allowed;    // units in the last place
};

double sinpi_exact(double x) { return std::sin(M_PI * std::fmod(x, 2.0)); }
double cospi_exact(double x) { return std::cos(M_PI * std::fmod(x, 2.0)); }
double round_exact(double x) { return std::round(x); }
double fract_exact(double x) { return std::min(x - std::floor(x), 0x1.fffffep-1); }

const std::array kFunctions = {
    Function{"acos", std::acos, -1, 1, 4},
    Function{"acosh", std::acosh, 1, 100, 4},
    Function{"asin", std::asin, -1, 1, 4},
    Function{"asinh", std::asinh, -100, 100, 4},
    Function{"atan", std::atan, -100, 100, 5},
    Function{"atanh", std::atanh, -1, 1, 5},
    Function{"ceil", std::ceil, -1000, 1000, 0},
    Function{"cos", std::cos, -1000, 1000, 4},
    Function{"cosh", std::cosh, -90, 90, 4},
    Function{"cospi", cospi_exact, -3.4, 3.4, 4},
    Function{"exp", std::exp, -104, 89, 4},
    Function{"exp2", std::exp2, -150, 128, 4},
    Function{"exp10", [](double x) { return std::pow(10.0, x); }, -45, 38.5, 4},
    Function{"fabs", std::fabs, -10, 10, 0},
    Function{"floor", std::floor, -1000, 1000, 0},
    Function{"fract", fract_exact, -100, 100, 0},
    Function{"log", std::log, 0, 100, 4},
    Function{"log2", std::log2, 0, 100, 4},
    Function{"log10", std::log10, 0, 100, 4},
    Function{"rint", std::rint, -100, 100, 0},
    Function{"round", round_exact, -100, 100, 0},
    Function{"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0, 1e6, 1},
    Function{"sin", std::sin, -1000, 1000, 4},
    Function{"sinh", std::sinh, -90, 90, 4},
    Function{"sinpi", sinpi_exact, -3.4, 3.4, 4},
    Function{"sqrt", std::sqrt, 0, 1e6, 0.5},
    Function{"tan", std::tan, -1000, 1000, 6},
    Function{"tanh", std::tanh, -10, 10, 5},
    Function{"trunc", std::trunc, -1000, 1000, 0},
};

// Numbers of the interval, some near 0 and some from all of it; then special numbers.
std::vector<float> arguments_in(double low, double high, int count) {
  std::mt19937 random(7);
  std::vector<float> values;
  for (int i = 0; i < count; ++i) {
    double x = low + (high - low) * (random() / 4294967296.0);
    if (i % 4 == 0) x = std::ldexp(x, -static_cast<int>(random() % 24));
    if (x >= low && x <= high) values.push_back(static_cast<float>(x));
  }
  return values;
}

TEST_P(MetalMathTest, UnaryFunctionsAreWithinMetalsErrorBounds) {
  std::string source;
  for (const Function& function : kFunctions)
    source +=
        std::string("kernel void f_") + function.name +
        "(device float* out, device const float* in, uint i [[thread_position_in_grid]]) { out[i] = " + function.name +
        "(in[i]); }\n";
  const ShaderLibrary library = metal(source);
  for (const Function& function : kFunctions) {
    std::vector<float> in = arguments_in(function.low, function.high, 2000);
    for (const float x : {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN}) in.push_back(x);
    const auto out = run<float>(library[std::string("f_") + function.name], static_cast<int64_t>(in.size()), in);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      // If the exact value is 0 or tiny because of rounding in the reference itself, the comparison is meaningless.
      const double wanted = function.exact(static_cast<double>(in[i]));
      if (std::fabs(wanted) < 1e-14 && wanted != 0) continue;
      if (const double error = ulps(out[i], wanted); error > worst) {
        worst = error;
        at = i;
      }
    }
    EXPECT_LE(worst, function.allowed) << function.name << "(" << in[at] << ") = " << out[at] << ", not "
                                       << function.exact(static_cast<double>(in[at]));
  }
}

struct Function2 {
  const char* name;
  double (*exact)(double, double);
  double low, high;
  double allowed;
};

const std::array kFunctions2 = {
    Function2{"atan2", std::atan2, -10, 10, 6},
    Function2{"copysign", std::copysign, -10, 10, 0},
    Function2{"divide", [](double x, double y) { return x / y; }, -10, 10, 0.5},
    Function2{"fdim", std::fdim, -10, 10, 0.5},
    Function2{"fmax", std::fmax, -10, 10, 0},
    Function2{"fmin", std::fmin, -10, 10, 0},
    Function2{"fmod", std::fmod, -10, 10, 0},
    Function2{"pow", std::pow, 0, 20, 16},
    Function2{"powr", std::pow, 0, 20, 16},
    Function2{"step", [](double edge, double x) { return x < edge ? 0.0 : 1.0; }, -3, 3, 0},
};

TEST_P(MetalMathTest, BinaryFunctionsAreWithinMetalsErrorBounds) {
  std::string source;
  for (const Function2& function : kFunctions2)
    source += std::string("kernel void f_") + function.name +
              "(device float* out, device const float* x, device const float* y, uint i [[thread_position_in_grid]]) "
              "{ out[i] = " +
              function.name + "(x[i], y[i]); }\n";
  const ShaderLibrary library = metal(source);
  for (const Function2& function : kFunctions2) {
    std::vector<float> x = arguments_in(function.low, function.high, 1500);
    std::vector<float> y(x.rbegin(), x.rend());
    const auto out = run<float>(library[std::string("f_") + function.name], static_cast<int64_t>(x.size()), x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const double wanted = function.exact(x[i], y[i]);
      ASSERT_LE(ulps(out[i], wanted), function.allowed)
          << function.name << "(" << x[i] << ", " << y[i] << ") = " << out[i] << ", not " << wanted;
    }
  }
}

TEST_P(MetalMathTest, FmaRoundsOnce) {
  const ShaderLibrary library = metal(R"(
kernel void fused(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
  out[i] = fma(x[3 * i], x[3 * i + 1], x[3 * i + 2]);
}
kernel void apart(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
  out[i] = x[3 * i] * x[3 * i + 1] + x[3 * i + 2];
}
)");
  const std::vector<float> x = arguments_in(-10, 10, 999);
  const int count = static_cast<int>(x.size() / 3);
  const auto at = [&](int i, int k) { return x[static_cast<size_t>(3 * i + k)]; };
  EXPECT_EQ(run<float>(library["fused"], count, x),
            each(count, [&](int i) { return std::fma(at(i, 0), at(i, 1), at(i, 2)); }));
  EXPECT_EQ(run<float>(library["apart"], count, x), each(count,
                                                         [&](int i) {
                                                           const float product = at(i, 0) * at(i, 1);
                                                           return product + at(i, 2);
                                                         }))
      << "nothing is contracted";
}

TEST_P(MetalMathTest, PartsOfNumbers) {
  const ShaderLibrary library = metal(R"(
kernel void parts(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  int e;
  float whole, c;
  const float m = frexp(in[i], e);
  const float f = modf(in[i], whole);
  const float s = sincos(in[i], c);
  device float* o = out + 10 * i;
  o[0] = m; o[1] = e; o[2] = f; o[3] = whole; o[4] = s - sin(in[i]); o[5] = c - cos(in[i]);
  o[6] = ldexp(in[i], int(i) - 8);
  o[7] = in[i] == 0 ? 0 : ilogb(in[i]);
  o[8] = nextafter(in[i], 1000.0f);
  o[9] = (isnan(in[i]) ? 1 : 0) + (isinf(in[i]) ? 2 : 0) + (isfinite(in[i]) ? 4 : 0) + (isnormal(in[i]) ? 8 : 0) + (signbit(in[i]) ? 16 : 0);
}
)");
  const std::vector<float> in = {1, -2.5f, 0.1f, 1e-40f, -3e38f, 0.75f, 1234.5f, -0.0f, 8, 1e-30f};
  const Tensor out = zeros({static_cast<int64_t>(in.size()) * 10});
  library["parts"].threads(in.size())(out, from_host(in));
  const auto got = out.to_host<float>();
  for (size_t i = 0; i < in.size(); ++i) {
    int e = 0;
    float whole = 0;
    const float m = std::frexp(in[i], &e), f = std::modf(in[i], &whole);
    const std::vector<float> wanted = {
        m,
        static_cast<float>(e),
        f,
        whole,
        0,
        0,
        std::ldexp(in[i], static_cast<int>(i) - 8),
        in[i] == 0 ? 0 : static_cast<float>(std::ilogb(in[i])),
        std::nextafter(in[i], 1000.0f),
        static_cast<float>(4 + (std::isnormal(in[i]) ? 8 : 0) + (std::signbit(in[i]) ? 16 : 0))};
    EXPECT_EQ(std::vector<float>(got.begin() + static_cast<ptrdiff_t>(10 * i),
                                 got.begin() + static_cast<ptrdiff_t>(10 * i + 10)),
              wanted)
        << in[i];
  }
}

TEST_P(MetalMathTest, CommonFunctions) {
  const ShaderLibrary library = metal(R"(
kernel void common(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  const float x = in[i];
  device float* o = out + 10 * i;
  o[0] = clamp(x, -1.0f, 1.0f);
  o[1] = mix(2.0f, 6.0f, x);
  o[2] = saturate(x);
  o[3] = sign(x);
  o[4] = smoothstep(0.0f, 2.0f, x);
  o[5] = max3(x, 0.5f, 1.0f) + min3(x, 0.5f, 1.0f) + median3(x, 0.5f, 1.0f);
  o[6] = select(1.0f, 2.0f, x > 0);
  o[7] = min(x, 0.25f) + max(x, 0.25f);
  o[8] = precise::sqrt(fabs(x)) - fast::sqrt(fabs(x)) + metal::precise::abs(x);
  o[9] = float(abs(int(x * 10)));
}
)");
  const std::vector<float> in = {-2, -0.5f, 0, 0.3f, 0.75f, 1, 1.5f, 3};
  const Tensor out = zeros({static_cast<int64_t>(in.size()) * 10});
  library["common"].threads(in.size())(out, from_host(in));
  const auto got = out.to_host<float>();
  for (size_t i = 0; i < in.size(); ++i) {
    const float x = in[i], t = std::clamp(x / 2.0f, 0.0f, 1.0f);
    const float three = (std::max({x, 0.5f, 1.0f}) + std::min({x, 0.5f, 1.0f})) +
                        std::max(std::min(x, 0.5f), std::min(std::max(x, 0.5f), 1.0f));
    const std::vector<float> wanted = {std::clamp(x, -1.0f, 1.0f),
                                       2.0f + 4.0f * x,
                                       std::clamp(x, 0.0f, 1.0f),
                                       static_cast<float>((x > 0) - (x < 0)),
                                       t * t * (3.0f - 2.0f * t),
                                       three,
                                       x > 0 ? 2.0f : 1.0f,
                                       std::min(x, 0.25f) + std::max(x, 0.25f),
                                       std::fabs(x),
                                       static_cast<float>(std::abs(static_cast<int>(x * 10)))};
    EXPECT_EQ(std::vector<float>(got.begin() + static_cast<ptrdiff_t>(10 * i),
                                 got.begin() + static_cast<ptrdiff_t>(10 * i + 10)),
              wanted)
        << x;
  }
}

uint32_t reversed(uint32_t x) {
  uint32_t r = 0;
  for (int i = 0; i < 32; ++i) r |= (x >> i & 1u) << (31 - i);
  return r;
}

TEST_P(MetalMathTest, IntegerFunctions) {
  const ShaderLibrary library = metal(R"(
kernel void unsigned_ones(device uint* out, device const uint* in, uint i [[thread_position_in_grid]]) {
  const uint x = in[i], y = in[i + 1];
  device uint* o = out + 16 * i;
  o[0] = popcount(x); o[1] = clz(x); o[2] = ctz(x); o[3] = reverse_bits(x);
  o[4] = rotate(x, y); o[5] = mulhi(x, y); o[6] = addsat(x, y); o[7] = subsat(x, y);
  o[8] = hadd(x, y); o[9] = rhadd(x, y); o[10] = absdiff(x, y); o[11] = extract_bits(x, 5, 9);
  o[12] = insert_bits(x, y, 7, 11); o[13] = min(x, y); o[14] = max(x, y); o[15] = madhi(x, y, 3u);
}
kernel void signed_ones(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
  const int x = in[i], y = in[i + 1];
  device int* o = out + 8 * i;
  o[0] = addsat(x, y); o[1] = subsat(x, y); o[2] = mulhi(x, y); o[3] = int(absdiff(x, y));
  o[4] = extract_bits(x, 5, 9); o[5] = min(x, y); o[6] = max(x, y); o[7] = clamp(x, -100, 100);
}
kernel void small_ones(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
  const short x = short(in[i]); const uchar y = uchar(in[i]);
  device int* o = out + 6 * i;
  o[0] = popcount(x); o[1] = clz(y); o[2] = ctz(y); o[3] = reverse_bits(y); o[4] = addsat(y, uchar(200)); o[5] = mulhi(x, short(1000));
}
kernel void long_ones(device long* out, device const long* in, uint i [[thread_position_in_grid]]) {
  const long x = in[i], y = in[i + 1];
  device long* o = out + 6 * i;
  o[0] = popcount(x); o[1] = clz(x); o[2] = mulhi(x, y); o[3] = long(mulhi(ulong(x), ulong(y))); o[4] = min(x, y); o[5] = long(rotate(ulong(x), 13ul));
}
)");
  const std::vector<uint32_t> in = {0, 1, 0x80000000u, 0xffffffffu, 12345, 0xdeadbeefu, 31, 7, 0x00ff00ffu};
  const size_t count = in.size() - 1;
  const auto count64 = static_cast<int64_t>(count);
  {
    const Tensor out = zeros({count64 * 16}, DType::U32);
    library["unsigned_ones"].threads(count)(out, from_host(in));
    const auto got = out.to_host<uint32_t>();
    for (size_t i = 0; i < count; ++i) {
      const uint64_t x = in[i], y = in[i + 1];
      const auto x32 = in[i], y32 = in[i + 1];
      const std::vector<uint32_t> wanted = {static_cast<uint32_t>(std::popcount(x32)),
                                            static_cast<uint32_t>(std::countl_zero(x32)),
                                            static_cast<uint32_t>(std::countr_zero(x32)),
                                            reversed(x32),
                                            std::rotl(x32, static_cast<int>(y32 & 31)),
                                            static_cast<uint32_t>(x * y >> 32),
                                            static_cast<uint32_t>(std::min<uint64_t>(x + y, 0xffffffff)),
                                            x32 < y32 ? 0 : x32 - y32,
                                            static_cast<uint32_t>((x + y) / 2),
                                            static_cast<uint32_t>((x + y + 1) / 2),
                                            x32 > y32 ? x32 - y32 : y32 - x32,
                                            x32 >> 5 & 511u,
                                            (x32 & ~(2047u << 7)) | (y32 & 2047u) << 7,
                                            std::min(x32, y32),
                                            std::max(x32, y32),
                                            static_cast<uint32_t>(x * y >> 32) + 3};
      EXPECT_EQ(std::vector<uint32_t>(got.begin() + static_cast<ptrdiff_t>(16 * i),
                                      got.begin() + static_cast<ptrdiff_t>(16 * i + 16)),
                wanted)
          << x32;
    }
  }
  std::vector<int32_t> signed_in(in.begin(), in.end());
  {
    const Tensor out = zeros({count64 * 8}, DType::I32);
    library["signed_ones"].threads(count)(out, from_host(signed_in));
    const auto got = out.to_host<int32_t>();
    for (size_t i = 0; i < count; ++i) {
      const int64_t x = signed_in[i], y = signed_in[i + 1];
      const auto saturated = [](int64_t v) {
        return static_cast<int32_t>(std::clamp<int64_t>(v, INT32_MIN, INT32_MAX));
      };
      const std::vector<int32_t> wanted = {saturated(x + y),
                                           saturated(x - y),
                                           static_cast<int32_t>(x * y >> 32),
                                           static_cast<int32_t>(std::abs(x - y)),
                                           static_cast<int32_t>(in[i] << 18) >> 23,
                                           static_cast<int32_t>(std::min(x, y)),
                                           static_cast<int32_t>(std::max(x, y)),
                                           static_cast<int32_t>(std::clamp<int64_t>(x, -100, 100))};
      EXPECT_EQ(std::vector<int32_t>(got.begin() + static_cast<ptrdiff_t>(8 * i),
                                     got.begin() + static_cast<ptrdiff_t>(8 * i + 8)),
                wanted)
          << x;
    }
  }
  {
    const Tensor out = zeros({count64 * 6}, DType::I32);
    library["small_ones"].threads(count)(out, from_host(signed_in));
    const auto got = out.to_host<int32_t>();
    for (size_t i = 0; i < count; ++i) {
      const auto x = static_cast<int16_t>(in[i]);
      const auto y = static_cast<uint8_t>(in[i]);
      const std::vector<int32_t> wanted = {
          std::popcount(static_cast<uint16_t>(x)), std::countl_zero(y),    std::countr_zero(y),
          static_cast<int32_t>(reversed(y) >> 24), std::min(255, y + 200), x * 1000 >> 16};
      EXPECT_EQ(std::vector<int32_t>(got.begin() + static_cast<ptrdiff_t>(6 * i),
                                     got.begin() + static_cast<ptrdiff_t>(6 * i + 6)),
                wanted)
          << x;
    }
  }
  const std::vector<int64_t> long_in = {0, 1, -1, INT64_MIN, INT64_MAX, 0x123456789abcdef0, -0x0fedcba987654321, 3};
  const Tensor out = zeros({42}, DType::I64);
  library["long_ones"].threads(7)(out, from_host(long_in));
  const auto got = out.to_host<int64_t>();
  for (size_t i = 0; i < 7; ++i) {
    __extension__ using Wide = __int128;
    __extension__ using UnsignedWide = unsigned __int128;
    const int64_t x = long_in[i], y = long_in[i + 1];
    const auto ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
    const std::vector<int64_t> wanted = {std::popcount(ux),
                                         std::countl_zero(ux),
                                         static_cast<int64_t>(Wide{x} * y >> 64),
                                         static_cast<int64_t>(UnsignedWide{ux} * uy >> 64),
                                         std::min(x, y),
                                         static_cast<int64_t>(std::rotl(ux, 13))};
    EXPECT_EQ(std::vector<int64_t>(got.begin() + static_cast<ptrdiff_t>(6 * i),
                                   got.begin() + static_cast<ptrdiff_t>(6 * i + 6)),
              wanted)
        << x;
  }
}

}  // namespace
}  // namespace kymo::device::tests
