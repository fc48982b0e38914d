// The headers that PyTorch's users include in kernels.
#include <numeric>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class MetalTorchHeadersTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalTorchHeadersTest);

TEST_P(MetalTorchHeadersTest, NormalNumbersFromASeedAndAnIndex) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/random.h>
kernel void normals(device float* out, constant long2& seed_offset, uint i [[thread_position_in_grid]]) {
  out[i] = c10::metal::randn(seed_offset.x, seed_offset.y + i);
}
kernel void flat(device float* out, constant long2& seed_offset, uint i [[thread_position_in_grid]]) {
  out[i] = c10::metal::rand(seed_offset.x, seed_offset.y + i);
}
kernel void dice(device long* out, constant long2& seed_offset, uint i [[thread_position_in_grid]]) {
  out[i] = c10::metal::randint64(seed_offset.x, seed_offset.y + i, 1, 7);
}
)");
  const Tensor seed = from_host(std::vector<int64_t>{42, 7});
  const auto values = run<float>(library["normals"], 100'000, seed);
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 1e5;
  double square = 0;
  for (const float v : values) square += (v - mean) * (v - mean);
  EXPECT_LT(std::fabs(mean), 0.01);
  EXPECT_NEAR(std::sqrt(square / 1e5), 1, 0.02);
  const auto first = run<float>(library["normals"], 1, from_host(std::vector<int64_t>{42, 0}));
  EXPECT_NEAR(first[0], 0.6742473, 2e-6);  // Philox with nine rounds, computed apart
  EXPECT_EQ(run<float>(library["flat"], 1, from_host(std::vector<int64_t>{42, 0}))[0], 0.207096815f);
  EXPECT_EQ(run<int64_t>(library["dice"], 1, from_host(std::vector<int64_t>{42, 0}))[0], 2);
  for (const float v : run<float>(library["flat"], 1000, seed)) ASSERT_TRUE(v >= 0 && v < 1);
  std::vector<int> faces(8);
  for (const int64_t v : run<int64_t>(library["dice"], 6000, seed)) ++faces.at(static_cast<size_t>(v));
  for (size_t face = 1; face <= 6; ++face) EXPECT_NEAR(faces[face], 1000, 150) << face;
}

// Of the same seed and index with the header of PyTorch 2.11.
TEST_P(MetalTorchHeadersTest, NumbersOfTorch211) {
  const ShaderLibrary library = metal(R"(
#define KYMO_TORCH_2_11_RANDOM
#include <c10/metal/random.h>
kernel void both(device float* out, constant long2& seed_offset) {
  out[0] = c10::metal::rand(seed_offset.x, seed_offset.y);
  out[1] = c10::metal::randn(seed_offset.x, seed_offset.y);
})");
  const Tensor out = zeros({2});
  library["both"].threads(1)(out, from_host(std::vector<int64_t>{42, 0}));
  EXPECT_EQ(out.to_host<float>()[0], 0.700041354f);
  EXPECT_NEAR(out.to_host<float>()[1], 1.2226094, 3e-6);
}

// As in PyTorch, whose matrix products add these types.
TEST_P(MetalTorchHeadersTest, ComplexHalvesAreAddedAsSuch) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/utils.h>
template <typename T> c10::metal::opmath_t<T> product(device const T* in) {
  c10::metal::opmath_t<T> sum = 0;
  for (uint k = 0; k < 2; ++k) sum += c10::metal::mul(in[k], in[k + 1]);
  return sum;
}
static_assert(is_same_v<c10::metal::opmath_t<half2>, half2>);
static_assert(is_same_v<c10::metal::opmath_t<half>, float>);
kernel void products(device float2* out, device const half2* in) { out[0] = float2(product(in)); })");
  Tensor out = zeros({2}), in = empty({6}, DType::F16);
  in.copy_from(std::span<const float>(std::vector<float>{1, 2, 3, 4, 5, 6}));
  library["products"].threads(1)(out, in);
  EXPECT_EQ(out.to_host<float>(), (std::vector<float>{-5 - 9, 10 + 38}));
}

TEST_P(MetalTorchHeadersTest, EveryHeaderCompilesWithoutAKernel) {
  for (const char* header : {"atomic", "common", "error", "expm1f", "igamma", "indexing", "random", "reduction_utils",
                             "special_math", "utils"})
    EXPECT_TRUE(compile_shader(std::string("#include <c10/metal/") + header + ".h>\n").kernel_names().empty())
        << header;
}

TEST_P(MetalTorchHeadersTest, SumsAndExtremesOfAPartialSimdgroup) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/reduction_utils.h>
template <typename T>
kernel void sum(device T* out, device const T* in, uint i [[thread_position_in_grid]]) {
  auto rc = c10::metal::simd_sum(in[i]);
  if (i == 0) out[0] = rc;
}
template <typename T>
kernel void most(device T* out, device int* lane, device const T* in, uint i [[thread_position_in_grid]]) {
  auto [value, index] = c10::metal::simd_argmax(in[i]);
  if (i == 0) {
    out[0] = value;
    lane[0] = index;
  }
}
#define INSTANTIATE(T)                                                                    \
  template [[host_name("sum_" #T)]] kernel void sum<T>(device T*, device const T*, uint); \
  template [[host_name("most_" #T)]] kernel void most<T>(device T*, device int*, device const T*, uint)
INSTANTIATE(float);
INSTANTIATE(half);
INSTANTIATE(bfloat);
INSTANTIATE(int);
INSTANTIATE(long);
)");
  const auto check = [&](const std::string& type, DType dtype, auto zero) {
    using T = decltype(zero);
    const auto in = each(28, [](int i) { return static_cast<T>(i * 5 % 28); });
    Tensor x = empty({28}, dtype), out = zeros({1}, dtype);
    x.copy_from(std::span<const T>(in));
    const Tensor lane = zeros({1}, DType::I32);
    library["sum_" + type].threads(28)(out, x);
    EXPECT_EQ(out.to_host<T>()[0], static_cast<T>(378)) << type;
    library["most_" + type].threads(28)(out, lane, x);
    EXPECT_EQ(out.to_host<T>()[0], static_cast<T>(27)) << type;
    EXPECT_EQ(lane.to_host<int32_t>()[0], 11) << type;
  };
  check("float", DType::F32, 0.0f);
  check("half", DType::F16, 0.0f);
  check("int", DType::I32, int32_t{0});
  check("long", DType::I64, int64_t{0});
  const Tensor out = zeros({1}), lane = zeros({1}, DType::I32);
  auto in = each(28, [](int i) { return static_cast<float>(i); });
  in[9] = NAN;
  library["most_float"].threads(28)(out, lane, from_host(in));
  EXPECT_TRUE(std::isnan(out.to_host<float>()[0]));
  EXPECT_EQ(lane.to_host<int32_t>()[0], 9) << "what is not a number wins";
}

TEST_P(MetalTorchHeadersTest, ComplexSumsAndProducts) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/reduction_utils.h>
kernel void both(device float2* out, device const float2* in, uint i [[thread_position_in_grid]]) {
  const float2 s = c10::metal::simd_sum(in[i]), p = c10::metal::simd_prod(in[i]);
  if (i == 0) {
    out[0] = s;
    out[1] = p;
  }
}
)");
  for (const int count : {28, 32}) {
    std::vector<float> in;
    for (int i = 0; i < count; ++i) in.insert(in.end(), {i % 3 == 0 ? 0.0f : 1.0f, i % 3 == 0 ? 1.0f : 0.0f});
    const Tensor out = zeros({4});
    library["both"].threads(static_cast<uint64_t>(count))(out, from_host(in));
    const int turns = (count + 2) / 3;  // number of factors i; the other factors are 1
    const float re[] = {1, 0, -1, 0}, im[] = {0, 1, 0, -1};
    EXPECT_EQ(out.to_host<float>(), (std::vector<float>{static_cast<float>(count - turns), static_cast<float>(turns),
                                                        re[turns % 4], im[turns % 4]}));
  }
}

TEST_P(MetalTorchHeadersTest, ReductionsAsTypes) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/reduction_utils.h>
template <template <typename> class OpOf, typename T>
kernel void reduced(device T* out, device const T* in, uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
  using Op = OpOf<T>;
  threadgroup T shared[32];
  const T all = Op::threadgroup_reduce(shared, Op::combine(Op::identity(), in[i]), i, n), near = Op::simd_reduce(in[i]);
  if (i == 0) { out[0] = all; out[1] = near; }
}
#define INSTANTIATE(OP, T) template [[host_name(#OP "_" #T)]] kernel void reduced<c10::metal::OP, T>(device T*, device const T*, uint, uint)
INSTANTIATE(SumOp, float); INSTANTIATE(ProdOp, float); INSTANTIATE(MaxOp, float); INSTANTIATE(MinOp, float); INSTANTIATE(MinOp, int);
kernel void replaced(device int* out) {
  using Op = c10::metal::MaxOp<float>;
  out[0] = Op::replace(2, 1); out[1] = Op::replace(1, 1); out[2] = Op::replace(NAN, 1); out[3] = Op::replace(1, NAN); out[4] = Op::replace(NAN, NAN);
}
)");
  const auto in = each(40, [](int i) { return i == 35 ? 2.0f : i == 3 ? -1.5f : 1.0f; });
  const auto reduced = [&](const char* kernel) {
    const Tensor out = zeros({2});
    library[kernel].threads(40).group(40)(out, from_host(in));
    return out.to_host<float>();
  };
  EXPECT_EQ(reduced("SumOp_float"), (std::vector<float>{38.5f, 29.5f}));
  EXPECT_EQ(reduced("ProdOp_float"), (std::vector<float>{-3, -1.5f}));
  EXPECT_EQ(reduced("MaxOp_float"), (std::vector<float>{2, 1}));
  EXPECT_EQ(reduced("MinOp_float"), (std::vector<float>{-1.5f, -1.5f}));
  const Tensor ints = zeros({2}, DType::I32), flags = zeros({5}, DType::I32);
  library["MinOp_int"].threads(4).group(4)(ints, from_host(std::vector<int32_t>{7, 5, 9, 6}));
  EXPECT_EQ(ints.to_host<int32_t>(), (std::vector<int32_t>{5, 5}));
  library["replaced"].threads(1)(flags);
  EXPECT_EQ(flags.to_host<int32_t>(), (std::vector<int32_t>{1, 0, 1, 0, 0}));
}

TEST_P(MetalTorchHeadersTest, IndexOfAnExtreme) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/reduction_utils.h>
kernel void found(device int* out, device const float* in, uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
  threadgroup float values[32];
  threadgroup int places[32];
  const int index = int(n - i);
  const int most = c10::metal::threadgroup_argmax(values, places, in[i], index, i, n);
  const int least = c10::metal::threadgroup_argmin(values, places, in[i], index, i, n);
  const auto near = c10::metal::simd_argmax(in[i], index);
  const long third = c10::metal::simd_broadcast(long(i) << 40, 3);
  if (i == 0) { out[0] = most; out[1] = least; out[2] = near.second; out[3] = int(near.first); out[4] = int(third >> 40); }
}
kernel void spread(device float* out, device const float* in, uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
  threadgroup float values[100];
  values[n - 1 - i] = in[i];
  const float3 all = c10::metal::threadgroup_welford_reduce(values, n);
  out[2 * i] = all.x;
  out[2 * i + 1] = all.y;
}
)");
  const auto in = each(100, [](int i) { return static_cast<float>(i % 10); });
  const Tensor out = zeros({5}, DType::I32);
  library["found"].threads(100).group(100)(out, from_host(in));
  // The least index of the equal ones: that of the last thread.
  EXPECT_EQ(out.to_host<int32_t>(), (std::vector<int32_t>{1, 10, 71, 9, 3}));
  const Tensor spread = zeros({200});
  library["spread"].threads(100).group(100)(spread, from_host(in));
  const auto got = spread.to_host<float>();
  for (size_t i = 0; i < 100; ++i) {
    ASSERT_NEAR(got[2 * i], 4.5, 1e-5) << "all threads see what others wrote";
    ASSERT_NEAR(got[2 * i + 1], 825, 1e-3);
  }
}

TEST_P(MetalTorchHeadersTest, ErrorOfAKernelIsThrownByTheNextSynchronize) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/error.h>
kernel void check(device float* out, constant uint& limit, device c10::metal::ErrorMessages* errors, uint i [[thread_position_in_grid]]) {
  if (i >= limit) {
    TORCH_REPORT_ERROR(errors, "Index ", i, " exceeds limit ", limit);
    return;
  }
  out[i] = 1;
}
)");
  const Tensor out = zeros({10});
  library["check"](out, 10);
  synchronize();
  library["check"](out, 9);
  try {
    synchronize();
    FAIL() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("Index 9 exceeds limit 9"));
    EXPECT_THAT(error.what(), HasSubstr("shader:7"));
    EXPECT_THAT(error.what(), HasSubstr("check"));
  }
  synchronize();
}

TEST_P(MetalTorchHeadersTest, HelpersForIntegers) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/utils.h>
kernel void modulo(device int* out, uint i [[thread_position_in_grid]]) { out[i] = c10::metal::safe_mod(i / 65536, 6); }
kernel void divide(device int* out, uint i [[thread_position_in_grid]]) {
  const int a = int(i) - 8, b = int(i % 5) - 2;
  out[3 * i] = c10::metal::floor_divide(a, b);
  out[3 * i + 1] = c10::metal::remainder(a, b == 0 ? 3 : b);
  out[3 * i + 2] = c10::metal::pow(a, int(i % 4));
}
kernel void extremes(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  out[2 * i] = c10::metal::max(in[i], 1.0f);
  out[2 * i + 1] = c10::metal::min(in[i], 1.0f);
}
)");
  EXPECT_EQ(run<int32_t>(library["modulo"], 65536), std::vector<int32_t>(65536));
  const Tensor out = zeros({48}, DType::I32);
  library["divide"].threads(16)(out);
  const auto got = out.to_host<int32_t>();
  for (int i = 0; i < 16; ++i) {
    const int a = i - 8, b = i % 5 - 2, divisor = b == 0 ? 3 : b;
    const auto at = got.begin() + 3 * i;
    EXPECT_EQ(at[0], b == 0 ? 0 : static_cast<int>(std::floor(static_cast<double>(a) / b))) << a << "/" << b;
    EXPECT_EQ(at[1], a - divisor * static_cast<int>(std::floor(static_cast<double>(a) / divisor)))
        << a << "%" << divisor;
    EXPECT_EQ(at[2], static_cast<int>(std::lround(std::pow(a, i % 4))));
  }
  const Tensor both = zeros({6});
  library["extremes"].threads(3)(both, from_host(std::vector<float>{0.5f, NAN, 2}));
  const auto extremes = both.to_host<float>();
  EXPECT_EQ(extremes[0], 1);
  EXPECT_EQ(extremes[1], 0.5f);
  EXPECT_TRUE(std::isnan(extremes[2]) && std::isnan(extremes[3]));
  EXPECT_EQ(extremes[4], 2);
}

TEST_P(MetalTorchHeadersTest, GroupsReduce) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/reduction_utils.h>
kernel void reduce(device float* out, device const float* in, uint i [[thread_position_in_grid]],
                   uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
  threadgroup float data[32];
  const float s = c10::metal::threadgroup_sum(data, in[i], t, n), m = c10::metal::threadgroup_max(data, in[i], t, n);
  const float l = c10::metal::threadgroup_min(data, in[i], t, n), p = c10::metal::threadgroup_prod(data, in[i] > 50 ? 2.0f : 1.0f, t, n);
  const float c = c10::metal::threadgroup_cumsum(data, in[i], t, n);
  if (t == n - 1) {
    out[5 * g] = s; out[5 * g + 1] = m; out[5 * g + 2] = l; out[5 * g + 3] = p; out[5 * g + 4] = c;
  }
}
)");
  const auto in = each(300, [](int i) { return static_cast<float>(i * 7 % 53); });
  const Tensor out = zeros({15});
  library["reduce"].threads(300).group(128)(out, from_host(in));
  const auto got = out.to_host<float>();
  for (int g = 0; g < 3; ++g) {
    const auto begin = in.begin() + 128 * g, end = in.begin() + std::min(128 * g + 128, 300);
    const float sum = std::accumulate(begin, end, 0.0f);
    const auto product = static_cast<float>(std::pow(2.0, std::count_if(begin, end, [](float v) { return v > 50; })));
    const auto at = got.begin() + 5 * g;
    EXPECT_EQ(std::vector<float>(at, at + 5),
              (std::vector<float>{sum, *std::max_element(begin, end), *std::min_element(begin, end), product, sum}));
  }
}

TEST_P(MetalTorchHeadersTest, SpecialFunctions) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/igamma.h>
kernel void special(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  using namespace c10::metal;
  const float x = in[i];
  device float* o = out + 10 * i;
  o[0] = c10::metal::erf(x); o[1] = c10::metal::erfc(x); o[2] = erfinv(x / 4); o[3] = log_gamma(x + 0.1f); o[4] = digamma(x + 0.1f);
  o[5] = i0(x); o[6] = sinc(x); o[7] = bessel_j0_forward(x); o[8] = igamma(1.5f, x); o[9] = zeta(2.0f, x + 1);
}
)");
  const std::vector<float> in = {0, 0.25f, 0.5f, 1, 1.5f, 2, 3, 3.75f};
  const Tensor out = zeros({80});
  library["special"].threads(8)(out, from_host(in));
  const auto got = out.to_host<float>();
  for (size_t i = 0; i < in.size(); ++i) {
    const double x = in[i];
    const float* o = &got[10 * i];
    EXPECT_NEAR(o[0], std::erf(x), 1e-6);
    EXPECT_NEAR(o[1], std::erfc(x), 1e-6);
    EXPECT_NEAR(std::erf(o[2]), x / 4, 1e-6);
    EXPECT_NEAR(o[3], std::lgamma(x + 0.1), 2e-5);
    const double h = 1e-4;
    EXPECT_NEAR(o[4], (std::lgamma(x + 0.1 + h) - std::lgamma(x + 0.1 - h)) / (2 * h), 2e-3) << x;
#if __cpp_lib_math_special_functions
    EXPECT_NEAR(o[5], std::cyl_bessel_i(0, x), 1e-5);
    EXPECT_NEAR(o[7], std::cyl_bessel_j(0, x), 1e-6);
#endif
    EXPECT_NEAR(o[6], x == 0 ? 1 : std::sin(M_PI * x) / (M_PI * x), 1e-6);
    double sum = 0;
    for (int k = 200'000; k >= 0; --k) sum += 1 / ((x + 1 + k) * (x + 1 + k));
    EXPECT_NEAR(o[9], sum, 2e-5);
    double integral = 0;
    const int steps = 20'000;
    for (int k = 0; k < steps; ++k) {
      const double t = x * (k + 0.5) / steps;
      integral += std::sqrt(t) * std::exp(-t) * x / steps;
    }
    EXPECT_NEAR(o[8], integral / std::tgamma(1.5), 1e-4);
  }
}

TEST_P(MetalTorchHeadersTest, OperationsRegisteredByTheirTypes) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/indexing.h>
struct square_functor {
  template <typename T> T operator()(const T x) { return x * x; }
};
struct less_functor {
  template <typename T> bool operator()(const T a, const T b) { return a < b; }
};
REGISTER_UNARY_OP(square, float, float);
REGISTER_UNARY_OP(square, int, int);
REGISTER_BINARY_OP(less, float, bool);
)");
  EXPECT_EQ(run<float>(library["square_dense_float_float"], 4, std::vector<float>{1, 2, 3, 4}),
            (std::vector<float>{1, 4, 9, 16}));
  const Tensor out = zeros({6}, DType::I32);
  library["square_strided_int_int"].threads(6)(out, from_host(std::vector<int32_t>{0, 1, 2, 3, 4, 5}),
                                               std::vector<int64_t>{3, 2}, std::vector<int64_t>{2, 1},
                                               std::vector<int64_t>{1, 3}, 2);
  EXPECT_EQ(out.to_host<int32_t>(), (std::vector<int32_t>{0, 4, 16, 1, 9, 25}));
  const Tensor flags = zeros({3}, DType::Bool);
  library["less_dense_bool_float"](flags, from_host(std::vector<float>{1, 5, 2}),
                                   from_host(std::vector<float>{2, 4, 3}));
  EXPECT_EQ(flags.to_host<bool>(), (std::vector<bool>{true, false, true}));
}

}  // namespace
}  // namespace kymo::device::tests
