// Atomic operations of c10/metal/atomic.h, for types that devices have none for.
#include "device/test_metal.h"

namespace kymo::device::tests {
namespace {

class MetalTorchAtomicTest : public MetalTest {};
KYMO_ON_EVERY_DEVICE(MetalTorchAtomicTest);

TEST_P(MetalTorchAtomicTest, AtomicAdditionOfAnyType) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/atomic.h>
using namespace c10::metal;
template <typename T>
kernel void add(device AtomicType_t<T>* out, device const T* in, uint i [[thread_position_in_grid]]) {
  AtomicType<T>::atomic_add(out, (i & 1) == 0 ? 3 : 4, in[i]);
}
#define INSTANTIATE(T) template [[host_name("add_" #T)]] kernel void add<T>(device AtomicType_t<T>*, device const T*, uint)
INSTANTIATE(float);
INSTANTIATE(half);
INSTANTIATE(bfloat);
INSTANTIATE(int);
INSTANTIATE(short);
INSTANTIATE(char);
INSTANTIATE(long);
)");
  const auto check = [&](const std::string& type, DType dtype, auto zero) {
    using T = decltype(zero);
    const auto in = each(16, [](int i) { return static_cast<T>(i % 2 == 0 ? i % 4 + 1 : 2); });
    Tensor x = empty({16}, dtype), out = zeros({8}, dtype);
    x.copy_from(std::span<const T>(in));
    library["add_" + type].threads(16)(out, x);
    std::vector<T> wanted(8);
    wanted[3] = static_cast<T>(16);
    wanted[4] = static_cast<T>(16);
    EXPECT_EQ(out.to_host<T>(), wanted) << type;
  };
  check("float", DType::F32, 0.0f);
  check("half", DType::F16, 0.0f);
  check("bfloat", DType::BF16, 0.0f);
  check("int", DType::I32, int32_t{0});
  check("short", DType::I16, int16_t{0});
  check("char", DType::I8, int8_t{0});
  check("long", DType::I64, int64_t{0});
}

TEST_P(MetalTorchAtomicTest, AtomicOperationsOfAnyFunction) {
  const ShaderLibrary library = metal(R"(
#include <c10/metal/atomic.h>
using namespace c10::metal;
template <typename T> T greatest(T a, T b) { return a > b ? a : b; }
template <typename T> T product(T a, T b) { return a * b; }
template <typename T, T (*Op)(T, T)>
kernel void combine(device AtomicType_t<T>* out, device const T* in, uint i [[thread_position_in_grid]]) {
  AtomicType<T>::atomic_binary_op(out, 1, in[i], Op);
}
#define INSTANTIATE(T)                                                                                                 \
  template [[host_name("most_" #T)]] kernel void combine<T, greatest<T>>(device AtomicType_t<T>*, device const T*, uint); \
  template [[host_name("product_" #T)]] kernel void combine<T, product<T>>(device AtomicType_t<T>*, device const T*, uint)
INSTANTIATE(float);
INSTANTIATE(int);
INSTANTIATE(half);
INSTANTIATE(bfloat);
INSTANTIATE(short);
INSTANTIATE(uchar);
INSTANTIATE(long);
kernel void flags(device AtomicType_t<bool>* out, uint i [[thread_position_in_grid]]) {
  AtomicType<bool>::atomic_add(out, i, i % 3 == 0);
}
kernel void pairs(device AtomicType_t<half2>* out, uint i [[thread_position_in_grid]]) {
  AtomicType<half2>::atomic_add(out, i % 2, half2(1, i));
}
)");
  const auto check = [&](const std::string& type, DType dtype, auto zero) {
    using T = decltype(zero);
    const auto in = each(6, [](int i) { return static_cast<T>(i % 3 + 1); });
    Tensor x = empty({6}, dtype), out = empty({4}, dtype);
    x.copy_from(std::span<const T>(in));
    const std::vector<T> ones = {1, 1, 1, 1};
    out.copy_from(std::span<const T>(ones));
    library["product_" + type].threads(6)(out, x);
    EXPECT_EQ(out.to_host<T>(), (std::vector<T>{1, 36, 1, 1})) << type;
    out.copy_from(std::span<const T>(ones));
    library["most_" + type].threads(6)(out, x);
    EXPECT_EQ(out.to_host<T>(), (std::vector<T>{1, 3, 1, 1})) << type;
    // A tensor that starts in the middle of a word.
    library["most_" + type].threads(6)(out.slice(0, 1, 3), x);
    EXPECT_EQ(out.to_host<T>(), (std::vector<T>{1, 3, 3, 1})) << type;
  };
  check("float", DType::F32, 0.0f);
  check("int", DType::I32, int32_t{0});
  check("half", DType::F16, 0.0f);
  check("bfloat", DType::BF16, 0.0f);
  check("short", DType::I16, int16_t{0});
  check("uchar", DType::U8, uint8_t{0});
  check("long", DType::I64, int64_t{0});
  const Tensor flags = zeros({8}, DType::Bool), pairs = zeros({4}, DType::F16);
  library["flags"].threads(8)(flags);
  EXPECT_EQ(flags.to_host<bool>(), (std::vector<bool>{true, false, false, true, false, false, true, false}));
  library["pairs"].threads(6)(pairs);
  EXPECT_EQ(pairs.to_host<float>(), (std::vector<float>{3, 6, 3, 9}));
}

}  // namespace
}  // namespace kymo::device::tests
