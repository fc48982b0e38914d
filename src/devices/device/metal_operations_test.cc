// The kernels that the macros of c10/metal/indexing.h make of functors.
#include <gmock/gmock.h>

#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

using ::testing::IsSupersetOf;

class MetalOperationsTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalOperationsTest);

// ScalarType
constexpr uint32_t kByteType = 0, kCharType = 1, kIntType = 3, kHalfType = 5, kFloatType = 6, kBoolType = 11;

TEST_P(MetalOperationsTest, OneTensor) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/indexing.h>
struct scale_functor { template <typename T, typename A> T operator()(const T x, const A by) { return T(x * by); } };
DEFINE_UNARY_FLOATING_FUNCTOR(exp2);
REGISTER_UNARY_ALPHA_OP(scale, int, float, int);
REGISTER_UNARY_OP(exp2, int, float);
REGISTER_UNARY_OP(exp2, half, half);
)");
  EXPECT_THAT(library.kernel_names(), IsSupersetOf({"scale_dense_int_int_float", "scale_strided_int_int_float",
                                                    "exp2_dense_float_int", "exp2_strided_half_half"}));
  EXPECT_EQ(run<float>(library["exp2_dense_float_int"], 3, std::vector<int32_t>{0, 3, -1}),
            (std::vector<float>{1, 8, 0.5f}));
  const Tensor out = zeros({4}, DType::I32);
  library["scale_strided_int_int_float"].threads(4)(out, from_host(std::vector<int32_t>{1, 2, 3, 4}),
                                                    std::vector<int64_t>{2, 2}, std::vector<int64_t>{2, 1},
                                                    std::vector<int64_t>{1, 2}, 2, 1.5);
  EXPECT_EQ(out.to_host<int32_t>(), (std::vector<int32_t>{1, 4, 3, 6}));
}

TEST_P(MetalOperationsTest, TwoTensorsOfAnyTypes) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/indexing.h>
struct minus_functor { template <typename T> T operator()(const T a, const T b) { return a - b; } };
struct axpy_functor { template <typename T> T operator()(const T a, const T b, const T alpha) { return a + alpha * b; } };
REGISTER_BINARY_OP(minus, float, float);
REGISTER_BINARY_ALPHA_OP(axpy, float, float, float);
)");
  const std::vector<float> a = {10, 20, 30, 40}, b = {1, 2, 3, 4};
  EXPECT_EQ(run<float>(library["minus_dense_float_float"], 4, a, b), (std::vector<float>{9, 18, 27, 36}));
  EXPECT_EQ(run<float>(library["minus_dense_scalar_float_float"], 4, a, std::vector<float>{5}),
            (std::vector<float>{5, 15, 25, 35}));
  EXPECT_EQ(run<float>(library["minus_dense_scalar_lhs_float_float"], 4, std::vector<float>{5}, a),
            (std::vector<float>{-5, -15, -25, -35}));
  EXPECT_EQ(run<float>(library["minus_dense_broadcast_float_float"], 4, a, std::vector<float>{1, 2}, 2),
            (std::vector<float>{9, 18, 29, 38}));
  EXPECT_EQ(run<float>(library["minus_dense_broadcast_rhs_float_float"], 4, std::vector<float>{1, 2}, a, 2),
            (std::vector<float>{-9, -18, -29, -38}));
  EXPECT_EQ(run<float>(library["axpy_dense_float_float_float"], 4, a, b, 2.0), (std::vector<float>{12, 24, 36, 48}));

  // Tensors of other types, with their sizes and types.
  const Tensor out = zeros({4}), ints = from_host(std::vector<int32_t>{7, 8, 9, 10}),
               bytes = from_host(std::vector<uint8_t>{1, 2, 3, 4});
  library["minus_dense_cast_float"].threads(4)(out, ints, bytes, std::vector<uint32_t>{4, 1, kIntType, kByteType});
  EXPECT_EQ(out.to_host<float>(), (std::vector<float>{6, 6, 6, 6}));
  // Strides in bytes; the second is transposed.
  const std::vector<int64_t> sizes = {2, 2}, plain = {4, 8}, turned = {8, 4};
  library["minus_strided_float_float"].threads(4)(out, from_host(a), from_host(b), sizes, plain, plain, turned,
                                                  std::vector<uint32_t>{2, 0, 0});
  EXPECT_EQ(out.to_host<float>(), (std::vector<float>{9, 17, 28, 36}));
  library["axpy_strided_cast_float_float"].threads(4)(out, ints, from_host(b), 10.0, sizes, plain, plain, turned,
                                                      std::vector<uint32_t>{2, kIntType, kFloatType, 0});
  EXPECT_EQ(out.to_host<float>(), (std::vector<float>{17, 38, 29, 50}));
}

TEST_P(MetalOperationsTest, OneTensorFromAndToAnyType) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/indexing.h>
struct negate_functor { template <typename T> T operator()(const T x) { return T(-x); } };
REGISTER_UNARY_OP_CAST(negate, float);
REGISTER_UNARY_OP_CASTOUT(negate, int);
REGISTER_UNARY_OP_CASTOUT(negate, float2);
)");
  EXPECT_EQ(run<float>(library["negate_dense_cast_float"], 3, std::vector<uint8_t>{1, 2, 255},
                       std::vector<uint32_t>{1, kByteType}),
            (std::vector<float>{-1, -2, -255}));
  // Strides in bytes. The input is transposed.
  const std::vector<int64_t> sizes = {3, 2}, turned = {8, 4}, plain = {4, 12};
  const Tensor floats = zeros({6});
  library["negate_strided_cast_float"].threads(3, 2)(floats, from_host(std::vector<int32_t>{0, 1, 2, 3, 4, 5}), sizes,
                                                     turned, plain, std::vector<uint32_t>{2, kIntType});
  EXPECT_EQ(floats.to_host<float>(), (std::vector<float>{0, -2, -4, -1, -3, -5}));

  const Tensor ints = from_host(std::vector<int32_t>{0, 1, 2, 3, 4, 5}), bytes = zeros({6}, DType::I8);
  library["negate_dense_castout_int"].threads(6)(bytes, ints, std::vector<uint32_t>{1, kCharType});
  EXPECT_EQ(bytes.to_host<int8_t>(), (std::vector<int8_t>{0, -1, -2, -3, -4, -5}));
  const Tensor half_floats = zeros({6}, DType::F16);
  library["negate_strided_castout_int"].threads(3, 2)(half_floats, ints, sizes, turned, std::vector<int64_t>{2, 6},
                                                      std::vector<uint32_t>{2, kHalfType});
  EXPECT_EQ(half_floats.to_host<float>(), (std::vector<float>{0, -2, -4, -1, -3, -5}));
  const Tensor flags = zeros({2}, DType::Bool);
  library["negate_dense_castout_float2"].threads(2)(flags, from_host(std::vector<float>{0, 3, 0, 0}),
                                                    std::vector<uint32_t>{1, kBoolType});
  EXPECT_EQ(flags.to_host<bool>(), (std::vector<bool>{true, false}));
}

TEST_P(MetalOperationsTest, ComparisonsToAnyType) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/indexing.h>
DEFINE_BINARY_COMPARISON_FUNCTOR(at_least, >=);
REGISTER_BINARY_OP(at_least, float, bool);
REGISTER_BINARY_CASTOUT_OP(at_least, float, bool);
)");
  const Tensor flags = zeros({3}, DType::Bool), floats = zeros({3});
  const Tensor a = from_host(std::vector<float>{1, 2, 3}), b = from_host(std::vector<int32_t>{2, 2, 2});
  library["at_least_dense_bool_float"].threads(3)(flags, a, from_host(std::vector<float>{2, 2, 2}));
  EXPECT_EQ(flags.to_host<bool>(), (std::vector<bool>{false, true, true}));
  const std::vector<int64_t> strides = {4};
  library["at_least_strided_castout_bool_float"].threads(3)(floats, a, b, std::vector<int64_t>{3}, strides, strides,
                                                            strides,
                                                            std::vector<uint32_t>{1, kFloatType, kIntType, kFloatType});
  EXPECT_EQ(floats.to_host<float>(), (std::vector<float>{0, 1, 1}));
}

TEST_P(MetalOperationsTest, ThreeTensorsAndANumber) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/indexing.h>
struct addcmul_functor {
  template <typename T, typename A> T operator()(const T a, const T b, const T c, const A by) { return T(a + by * b * c); }
};
REGISTER_OPMATH_TERNARY_ALPHA_OP(addcmul, half, float, half);
REGISTER_OPMATH_TERNARY_ALPHA_OP(addcmul, int, int, int);
)");
  const std::vector<int32_t> a = {1, 2}, b = {3, 4}, c = {5, 6};
  EXPECT_EQ(run<int32_t>(library["addcmul_dense_int_int_int"], 2, a, b, c, 2), (std::vector<int32_t>{31, 50}));
  const Tensor out = zeros({2}, DType::F16);
  library["addcmul_dense_cast_half_float"].threads(2)(out, from_host(a), from_host(b), from_host(c), 0.5,
                                                      std::vector<uint32_t>{4, 4, 4},
                                                      std::vector<uint32_t>{kIntType, kIntType, kIntType});
  EXPECT_EQ(out.to_host<float>(), (std::vector<float>{8.5f, 14}));
  const std::vector<int64_t> strides = {4};
  const Tensor ints = zeros({2}, DType::I32);
  library["addcmul_strided_int_int_int"].threads(2)(ints, from_host(a), from_host(b), from_host(c), -1,
                                                    std::vector<int64_t>{2}, strides, strides, strides, strides, 1);
  EXPECT_EQ(ints.to_host<int32_t>(), (std::vector<int32_t>{-14, -22}));
}

TEST_P(MetalOperationsTest, ThreeTensors) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/indexing.h>
struct lerp_functor { template <typename T> T operator()(const T a, const T b, const T w) { return a + w * (b - a); } };
REGISTER_TERNARY_OP(lerp, float, float);
kernel void helpers(device float* out) {
  out[0] = c10::metal::logaddexp(1.0f, 1.0f); out[1] = c10::metal::logaddexp(-INFINITY, -INFINITY);
  out[2] = c10::metal::logaddexp2(3.0f, 3.0f); out[3] = float(c10::metal::ceil_div(7u, 3u));
  out[4] = c10::metal::lowest<float>(); out[5] = c10::metal::less(1, 2) && !c10::metal::greater_equal()(1, 2) ? 1.0f : 0.0f;
}
)");
  const std::vector<float> a = {0, 10}, b = {4, 20}, w = {0.25f, 0.5f};
  EXPECT_EQ(run<float>(library["lerp_dense_float_float"], 2, a, b, w), (std::vector<float>{1, 15}));
  const Tensor out = zeros({2});
  library["lerp_dense_cast_float"].threads(2)(out, from_host(std::vector<int32_t>{0, 10}), from_host(b), from_host(w),
                                              std::vector<uint32_t>{4, 4, 4},
                                              std::vector<uint32_t>{kIntType, kFloatType, kFloatType});
  EXPECT_EQ(out.to_host<float>(), (std::vector<float>{1, 15}));
  const Tensor helped = zeros({6});
  library["helpers"].threads(1)(helped);
  const auto got = helped.to_host<float>();
  EXPECT_NEAR(got[0], 1 + std::log(2.0), 1e-6);
  EXPECT_EQ(got[1], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(std::vector<float>(got.begin() + 2, got.end()),
            (std::vector<float>{4, 3, std::numeric_limits<float>::lowest(), 1}));
}

}  // namespace
}  // namespace kymo::device::tests
