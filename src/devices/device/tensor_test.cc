#include "kymo/tensor.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "device/test_device.h"

namespace kymo::device::tests {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TensorTest : public OnEveryDevice {};
KYMO_ON_EVERY_DEVICE(TensorTest);

template <class F>
std::string message_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(ShapeTest, NegativeSizeIsRefusedWithItsDimension) {
  EXPECT_THAT(message_of([] { Shape{2, -3}; }), HasSubstr("[2, -3]: dimension 1 is negative"));
  EXPECT_THROW((Shape{-1}), InvalidArgument);
}

TEST(ShapeTest, OverflowingProductIsRefused) {
  const int64_t big = int64_t{1} << 32;
  EXPECT_THROW((Shape{big, big}), InvalidArgument);
  EXPECT_THROW((Shape{int64_t{1} << 62}), InvalidArgument);
  EXPECT_EQ((Shape{big, big, 0}).elements(), 0);
}

TEST(ShapeTest, NineDimensionsAreTooMany) { EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), InvalidArgument); }

TEST(ShapeTest, ShapeWithoutDimensionsHasOneElement) { EXPECT_EQ(Shape{}.elements(), 1); }

TEST(DTypeTest, HalfRoundsToNearestEvenAndBack) {
  EXPECT_EQ(Half(1.0f).bits(), 0x3c00);
  EXPECT_EQ(Half(65504.0f).bits(), 0x7bff);
  EXPECT_EQ(Half(65519.9f).bits(), 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits(), 0x7c00);
  EXPECT_EQ(Half(5.9604645e-8f).bits(), 0x0001);  // 2^-24
  EXPECT_EQ(Half(2.9802322e-8f).bits(), 0x0000);  // half of the smallest subnormal: rounds to even
  EXPECT_EQ(Half(-2.0f).bits(), 0xc000);
  EXPECT_EQ(Half(1.0f + 1.0f / 2048).bits(), 0x3c00);
  EXPECT_EQ(Half(1.0f + 3.0f / 2048).bits(), 0x3c02);
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(std::nanf("")))));
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half = Half::from_bits(static_cast<uint16_t>(bits));
    if ((bits & 0x7fff) > 0x7c00) continue;  // a NaN need not keep its bits
    ASSERT_EQ(Half(static_cast<float>(half)).bits(), bits);
  }
}

TEST(DTypeTest, BFloat16RoundsToNearestEvenAndBack) {
  EXPECT_EQ(BFloat16(1.0f).bits(), 0x3f80);
  EXPECT_EQ(BFloat16(1.00390625f).bits(), 0x3f80);  // halfway: rounds to even
  EXPECT_EQ(BFloat16(1.01171875f).bits(), 0x3f82);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::nanf("")))));
  EXPECT_EQ(BFloat16(3.4e38f).bits(), 0x7f80);
}

TEST_P(TensorTest, HostDataSurvivesARoundTrip) {
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 1.0f);
  EXPECT_EQ(from_host(values).to_host<float>(), values);
  EXPECT_EQ(from_host(std::vector<int64_t>{1, -2, INT64_MAX}).to_host<int64_t>(),
            (std::vector<int64_t>{1, -2, INT64_MAX}));
  EXPECT_EQ(from_host(std::vector<uint8_t>{0, 255, 7}).to_host<uint8_t>(), (std::vector<uint8_t>{0, 255, 7}));
}

TEST_P(TensorTest, FillsOfEveryType) {
  EXPECT_THAT(zeros({33}).to_host<float>(), Each(0.0f));
  EXPECT_THAT(full({1001}, 2.5).to_host<float>(), Each(2.5f));
  EXPECT_THAT(full({17}, -3, DType::I64).to_host<int64_t>(), Each(-3));
  EXPECT_THAT(full({17}, 1.5, DType::F64).to_host<double>(), Each(1.5));
  EXPECT_THAT(full({5}, 200, DType::U8).to_host<uint8_t>(), Each(200));
  EXPECT_THAT(full({7}, -30000, DType::I16).to_host<int16_t>(), Each(-30000));
  EXPECT_THAT(full({7}, 0.5, DType::F16).to_host<float>(), Each(0.5f));
  EXPECT_THAT(full({7}, 3, DType::BF16).to_host<float>(), Each(3.0f));
  EXPECT_THAT(full({3}, 1, DType::Bool).to_host<bool>(), Each(true));
}

TEST_P(TensorTest, AFillThatDoesNotFitIsRefused) {
  EXPECT_THROW(full({4}, 256, DType::U8), InvalidArgument);
  EXPECT_THROW(full({4}, 1.5, DType::I32), InvalidArgument);
  EXPECT_THROW(full({4}, -1, DType::U64), InvalidArgument);
  EXPECT_THROW(full({4}, 1e6, DType::F16), InvalidArgument);
  EXPECT_THROW(full({4}, std::nan(""), DType::I32), InvalidArgument);
  EXPECT_TRUE(std::isnan(full({1}, std::nan("")).to_host<float>()[0]));
}

TEST_P(TensorTest, ArangeWorksAsInPython) {
  EXPECT_THAT(arange(0, 5).to_host<float>(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(arange(5, 0, -2, DType::I32).to_host<int32_t>(), ElementsAre(5, 3, 1));
  EXPECT_EQ(arange(3, 3).elements(), 0);
  EXPECT_THROW(arange(0, 5, 0), InvalidArgument);
  EXPECT_THROW(arange(0, 300, 1, DType::U8), InvalidArgument);
}

TEST_P(TensorTest, HalfTensorsTakeAndGiveFloats) {
  Tensor x = empty({4}, DType::F16);
  x.copy_from<float>(std::vector<float>{0.1f, 1, 65504, -2});
  EXPECT_THAT(x.to_host<float>(), ElementsAre(::testing::FloatNear(0.1f, 1e-4f), 1, 65504, -2));
  EXPECT_EQ(x.to_host<Half>()[1].bits(), 0x3c00);
  EXPECT_EQ(x.bytes(), 8u);
}

TEST_P(TensorTest, AWrongHostTypeIsRefused) {
  EXPECT_THAT(message_of([] { zeros({4}).to_host<int32_t>(); }),
              HasSubstr("a tensor of f32 cannot be read or written as i32"));
  EXPECT_THROW(zeros({4}).copy_from<float>(std::vector<float>(5)), InvalidArgument);
}

TEST_P(TensorTest, SlicesShareMemoryAndCopiesDoNot) {
  Tensor x = arange(0, 12).reshape({3, 4});
  Tensor row = x.select(0, 1);
  const Tensor copy = x.clone();
  row.fill(9);
  EXPECT_THAT(x.to_host<float>(), ElementsAre(0, 1, 2, 3, 9, 9, 9, 9, 8, 9, 10, 11));
  EXPECT_THAT(copy.select(0, 1).to_host<float>(), ElementsAre(4, 5, 6, 7));
}

TEST_P(TensorTest, SlicesWithGapsAreReadAndWritten) {
  Tensor x = arange(0, 24).reshape({2, 3, 4});
  EXPECT_THAT(x.slice(2, 1, 4, 2).to_host<float>(), ElementsAre(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23));
  EXPECT_THAT(x.select(2, -1).to_host<float>(), ElementsAre(3, 7, 11, 15, 19, 23));
  EXPECT_THAT(x.slice(1, -1, 100).slice(0, 1, 2).to_host<float>(), ElementsAre(20, 21, 22, 23));
  x.select(1, 1).fill(-1);
  EXPECT_THAT(x.select(0, 0).to_host<float>(), ElementsAre(0, 1, 2, 3, -1, -1, -1, -1, 8, 9, 10, 11));
  x.select(2, 0).copy_from(full({2, 3}, 7));
  EXPECT_THAT(x.select(0, 1).select(1, 0).to_host<float>(), ElementsAre(7, 7, 7));
  for (const DType type : {DType::U8, DType::I16, DType::I64}) {
    const Tensor y = arange(0, 6, 1, type).reshape({2, 3}).slice(1, 0, 3, 2).contiguous();
    EXPECT_EQ(y.elements(), 4);
    if (type == DType::I64) {
      EXPECT_THAT(y.to_host<int64_t>(), ElementsAre(0, 2, 3, 5));
    }
    if (type == DType::U8) {
      EXPECT_THAT(y.to_host<uint8_t>(), ElementsAre(0, 2, 3, 5));
    }
    if (type == DType::I16) {
      EXPECT_THAT(y.to_host<int16_t>(), ElementsAre(0, 2, 3, 5));
    }
  }
}

TEST_P(TensorTest, OddOffsetsAndSizesAreExact) {
  std::vector<uint8_t> host(257);
  std::iota(host.begin(), host.end(), uint8_t{0});
  for (const int64_t begin : {1, 2, 3, 5}) {
    Tensor x = zeros({300}, DType::U8);
    x.slice(0, begin, begin + 257).copy_from<uint8_t>(host);
    x.slice(0, begin + 10, begin + 13).fill(200);
    auto expected = host;
    std::fill(expected.begin() + 10, expected.begin() + 13, uint8_t{200});
    EXPECT_EQ(x.slice(0, begin, begin + 257).to_host<uint8_t>(), expected) << begin;
    EXPECT_EQ(x.select(0, begin - 1).to_host<uint8_t>()[0], 0);
    EXPECT_EQ(x.select(0, begin + 257).to_host<uint8_t>()[0], 0);
    Tensor y = zeros({300}, DType::U8);
    y.slice(0, 3, 260).copy_from(x.slice(0, begin, begin + 257));
    EXPECT_EQ(y.slice(0, 3, 260).to_host<uint8_t>(), expected) << begin;
  }
}

TEST_P(TensorTest, OverlappingViewsCanBeCopied) {
  Tensor x = arange(0, 10);
  x.slice(0, 1, 10).copy_from(x.slice(0, 0, 9));
  EXPECT_THAT(x.to_host<float>(), ElementsAre(0, 0, 1, 2, 3, 4, 5, 6, 7, 8));
  x.slice(0, 0, 9).copy_from(x.slice(0, 1, 10));
  EXPECT_THAT(x.to_host<float>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 8));
  x.copy_from(x);
  EXPECT_EQ(x.to_host<float>()[9], 8.0f);
}

TEST_P(TensorTest, BadIndicesAreRefusedWithIndexAndShape) {
  const Tensor x = zeros({2, 3});
  EXPECT_THAT(message_of([&] { x.select(0, 2); }),
              HasSubstr("index 2 is out of range for dimension 0 of a tensor of shape [2, 3]"));
  EXPECT_THROW(x.slice(2, 0, 1), InvalidArgument);
  EXPECT_THROW(x.slice(0, 0, 1, 0), InvalidArgument);
  EXPECT_THROW(x.reshape({7}), InvalidArgument);
  EXPECT_THROW(Tensor().to_host<float>(), Error);
}

TEST_P(TensorTest, EmptyTensorsWork) {
  Tensor x = empty({0, 5});
  x.fill(1);
  EXPECT_EQ(x.address(), 0u);
  EXPECT_TRUE(x.to_host<float>().empty());
  EXPECT_TRUE(x.clone().contiguous().to_host<float>().empty());
}

TEST_P(TensorTest, TensorsMoveBetweenAllDevices) {
  const Tensor x = arange(0, 100);
  for (const std::string& name : device_names()) {
    const Tensor there = x.to(Device(name));
    EXPECT_EQ(there.device().name(), name);
    EXPECT_EQ(there.to_host<float>(), x.to_host<float>());
  }
}

TEST_P(TensorTest, PinnedMemoryIsCopiedBothWays) {
  HostBuffer host(1 << 20), back(1 << 20);
  std::iota(host.as<uint32_t>().begin(), host.as<uint32_t>().end(), 5u);
  Tensor x = empty({1 << 18}, DType::U32);
  x.copy_from_bytes(host.bytes());
  x.copy_to_bytes(back.bytes());
  synchronize();
  EXPECT_TRUE(std::equal(host.bytes().begin(), host.bytes().end(), back.bytes().begin()));
}

TEST_P(TensorTest, HostMemoryMayChangeWhenACopyReturns) {
  std::vector<float> values(1 << 20, 1.0f);
  Tensor x = empty({1 << 20});
  x.copy_from<float>(values);
  std::fill(values.begin(), values.end(), 2.0f);
  EXPECT_THAT(x.to_host<float>(), Each(1.0f));
}

}  // namespace
}  // namespace kymo::device::tests
