// Tensors over memory that the runtime did not allocate, and tensors that the host reads directly.

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "device/test_device.h"

namespace kymo::device::tests {
namespace {

class ForeignMemoryTest : public OnEveryDevice {
 protected:
  static constexpr const char* kDouble =
      "kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }";

  // A tensor over the vector; `released` becomes true when the runtime no longer needs the memory.
  static Tensor over(std::vector<float>& values, Shape shape, std::vector<int64_t> strides,
                     std::atomic<bool>* released = nullptr) {
    std::shared_ptr<void> owner(&values, [released](void*) {
      if (released != nullptr) *released = true;
    });
    return from_host_memory(values.data(), DType::F32, shape, strides, Device::current(), owner);
  }

  bool shares_host() {
    std::vector<float> probe(4096);
    return over(probe, {4096}, {1}).is_defined();
  }
};

TEST_P(ForeignMemoryTest, AKernelWritesIntoMemoryOfTheHost) {
  if (!shares_host()) GTEST_SKIP() << "this device has memory of its own";
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0f);
  Tensor tensor = over(values, {1000}, {1});
  EXPECT_EQ(tensor.host_address(), values.data());
  compile_shader(kDouble)["twice"](tensor);
  synchronize();
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[999], 1998);
  values[3] = -1;
  EXPECT_EQ(tensor.to_host<float>()[3], -1);
}

TEST_P(ForeignMemoryTest, ManyArraysInOnePageAndPartsOfOneArrayAreShared) {
  if (!shares_host()) GTEST_SKIP() << "this device has memory of its own";
  std::vector<float> one(40, 1), two(40, 2), all(5000, 3);
  Tensor a = over(one, {40}, {1}), b = over(two, {40}, {1}), c = over(all, {5000}, {1});
  const Tensor again = over(all, {5000}, {1});
  const int64_t step[] = {10};
  Tensor part = from_host_memory(all.data() + 7, DType::F32, {3}, step, Device::current(), nullptr);
  ASSERT_TRUE(a.is_defined() && b.is_defined() && again.is_defined() && part.is_defined());
  a.fill(10);
  b.fill(20);
  part.fill(30);
  synchronize();
  EXPECT_EQ(one, std::vector<float>(40, 10));
  EXPECT_EQ(two, std::vector<float>(40, 20));
  EXPECT_EQ(all[6], 3);
  EXPECT_EQ(all[7], 30);
  EXPECT_EQ(all[17], 30);
  EXPECT_EQ(all[27], 30);
  EXPECT_EQ(all[37], 3);
  c = {};
  EXPECT_EQ(again.to_host<float>()[17], 30);  // shared twice: the first end does not end the second
}

TEST_P(ForeignMemoryTest, TheOwnerIsReleasedAfterTheWorkThatUsesTheMemory) {
  if (!shares_host()) GTEST_SKIP() << "this device has memory of its own";
  std::vector<float> values(1 << 20, 1);
  std::atomic<bool> released = false;
  const ShaderLibrary library = compile_shader(kDouble);
  {
    Tensor tensor = over(values, {1 << 20}, {1}, &released);
    const Tensor view = tensor.slice(0, 5, 10);
    for (int i = 0; i < 8; ++i) library["twice"](tensor);
    tensor = {};
    EXPECT_FALSE(released);
  }
  EXPECT_TRUE(released);
  EXPECT_EQ(values[0], 256);  // no synchronize(): the end of the tensor has waited
  EXPECT_EQ(values.back(), 256);
}

TEST_P(ForeignMemoryTest, TheHostReadsATensorOfTheRuntimeDirectly) {
  Tensor tensor = full({100}, 7);
  synchronize();
  auto* direct = static_cast<float*>(tensor.host_address());
  EXPECT_EQ(direct != nullptr, shares_host());
  if (direct == nullptr) return;
  EXPECT_EQ(direct[99], 7);
  direct[50] = 8;
  EXPECT_EQ(tensor.select(0, 50).to_host<float>()[0], 8);
  EXPECT_EQ(tensor.slice(0, 50, 60).host_address(), direct + 50);

  // The view of the host becomes a tensor again.
  const int64_t step[] = {1};
  const Tensor back = from_host_memory(direct + 10, DType::F32, {5}, step, Device::current(), nullptr);
  ASSERT_TRUE(back.is_defined());
  EXPECT_EQ(back.address(), tensor.address() + 40);
  EXPECT_EQ(back.to_host<float>(), std::vector<float>(5, 7));
}

TEST_P(ForeignMemoryTest, EmptyMemoryIsATensorWithoutAnAddress) {
  const int64_t step[] = {1};
  const Tensor empty = from_host_memory(nullptr, DType::F32, {0}, step, Device::current(), nullptr);
  ASSERT_TRUE(empty.is_defined());
  EXPECT_EQ(empty.address(), 0u);
  EXPECT_EQ(empty.host_address(), nullptr);
  EXPECT_TRUE(empty.to_host<float>().empty());
}

TEST_P(ForeignMemoryTest, WrongStridesAndAddressesAreRefused) {
  std::vector<float> values(16);
  const Device device = Device::current();
  const auto make = [&](char* at, Shape shape, std::vector<int64_t> strides) {
    return from_host_memory(at, DType::F32, shape, strides, device, nullptr);
  };
  auto* at = reinterpret_cast<char*>(values.data());
  EXPECT_THAT(refusal([&] { make(at, {4}, {}); }),
              testing::HasSubstr("0 strides were given for a tensor of shape [4]"));
  EXPECT_THAT(refusal([&] { make(at, {4}, {-1}); }), testing::HasSubstr("stride -1 is negative"));
  EXPECT_THAT(refusal([&] { make(at + 1, {2}, {1}); }), testing::HasSubstr("must be a multiple of 4"));
  EXPECT_THAT(refusal([&] { make(at, {4}, {INT64_MAX / 2}); }), testing::HasSubstr("is too large"));
}

TEST_P(ForeignMemoryTest, MemoryOfTheDeviceFromAnotherLibraryIsUsedAsItIs) {
  Tensor theirs = full({64}, 3);  // stands for memory of another library
  const int64_t steps[] = {8, 1};
  if (!is("cuda")) {
    EXPECT_THROW(from_device_memory(theirs.address(), DType::F32, {8, 8}, steps, Device::current(), nullptr),
                 NotAvailable);
    return;
  }
  Tensor ours = from_device_memory(theirs.address(), DType::F32, {8, 8}, steps, Device::current(), nullptr);
  ours.select(0, 2).fill(5);
  EXPECT_EQ(theirs.to_host<float>()[15], 3);
  EXPECT_EQ(theirs.to_host<float>()[16], 5);
  EXPECT_EQ(ours.address(), theirs.address());
}

TEST_P(ForeignMemoryTest, AStreamOfTheDriverRunsAfterAStreamOfKymo) {
  const Stream side;
  EXPECT_EQ(side.native_handle() != 0, is("cuda"));
  Tensor tensor = full({1 << 20}, 1);
  synchronize();  // before the other stream begins
  {
    const StreamGuard on(side);
    tensor.fill(2);
  }
  side.precede(Stream().native_handle());
  synchronize();
  EXPECT_EQ(tensor.to_host<float>()[0], 2);
}

TEST_P(ForeignMemoryTest, AStreamOfKymoRunsAfterAStreamOfTheDriver) {
  const Stream side, other;
  if (!is("cuda")) {
    EXPECT_THROW(side.follow(other.native_handle()), NotAvailable);
    return;
  }
  Tensor tensor = full({1 << 20}, 1);
  synchronize();
  {
    const StreamGuard on(other);
    for (int i = 0; i < 100; ++i) tensor.fill(2);
  }
  side.follow(other.native_handle());
  side.follow(side.native_handle());
  {
    const StreamGuard on(side);
    tensor.fill(3);
  }
  side.synchronize();
  EXPECT_EQ(tensor.to_host<float>()[0], 3);
}

TEST_P(ForeignMemoryTest, BorrowedMemoryOfTheDeviceIsUsedAsItIs) {
  Tensor theirs = full({64}, 3);
  const int64_t steps[] = {1};
  if (!is("cuda")) {
    EXPECT_THROW(borrow_device_memory(theirs.address(), DType::F32, {64}, steps, Device::current()), NotAvailable);
    return;
  }
  borrow_device_memory(theirs.address(), DType::F32, {64}, steps, Device::current()).fill(5);
  EXPECT_EQ(theirs.to_host<float>()[63], 5);
}

KYMO_ON_EVERY_DEVICE(ForeignMemoryTest);

}  // namespace
}  // namespace kymo::device::tests
