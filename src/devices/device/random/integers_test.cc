#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "device/random/test_values.h"
#include "kymo/error.h"

namespace kymo::device::random {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(RandIntTest, IsTheWordModuloTheRange) {
  const auto from = words(4000, 42);
  for (const auto& [low, high] : {std::pair<int64_t, int64_t>{0, 1},
                                  {0, 2},
                                  {-7, 93},
                                  {5, 65541},
                                  {INT32_MIN, INT32_MAX},
                                  {-1, INT32_MAX},
                                  {INT32_MIN, int64_t{INT32_MAX} + 1},
                                  {0, 641}}) {
    const auto values = filled<int32_t>(integer_fill(DType::I32, low, high), from.size());
    for (size_t i = 0; i < from.size(); ++i)
      ASSERT_EQ(values[i], low + static_cast<int64_t>(from[i] % uint64_t(high - low)));
  }
  const auto max = filled<uint32_t>(integer_fill(DType::U32, 1, int64_t{1} << 32), from.size());
  for (size_t i = 0; i < from.size(); ++i) ASSERT_EQ(max[i], 1 + from[i] % 0xffffffffu);
}

TEST(RandIntTest, EightBytesTakeTwoWordsHighWordFirst) {
  const auto from = words(2000, 42);
  for (const auto& [low, high] : {std::pair<int64_t, int64_t>{0, 1},
                                  {-7, 93},
                                  {0, 0x100000001},
                                  {INT64_MIN, INT64_MAX},
                                  {-1, INT64_MAX},
                                  {-5, int64_t{1} << 62},
                                  {INT64_MIN, 0}}) {
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const auto values = filled<uint64_t>(integer_fill(DType::I64, low, high), from.size() / 2);
    for (size_t i = 0; i < values.size(); ++i) {
      const uint64_t word = uint64_t{from[2 * i]} << 32 | from[2 * i + 1];
      ASSERT_EQ(values[i], static_cast<uint64_t>(low) + word % range) << low << " " << high;
    }
  }
  const auto all = filled<uint64_t>({Kernel::RandInt64, 2, 0, 0, 0}, 2);  // a range of 0 is 2^64
  EXPECT_THAT(all, ElementsAre(0x9ceaf05377f5493b, 0x12bf50ad5742b3d7));
}

TEST(RandIntTest, OtherTypesHoldTheSameIntegers) {
  const auto wide = filled<int32_t>(integer_fill(DType::I32, -100, 100), 1000);
  const auto bytes = filled<int8_t>(integer_fill(DType::I8, -100, 100), 1000);
  const auto shorts = filled<int16_t>(integer_fill(DType::I16, -100, 100), 1000);
  const auto floats = filled<float>(integer_fill(DType::F32, -100, 100), 1000);
  const auto halves = filled<uint16_t>(integer_fill(DType::F16, -100, 100), 1000);
  const auto bfloats = filled<uint16_t>(integer_fill(DType::BF16, -100, 100), 1000);
  for (size_t i = 0; i < wide.size(); ++i) {
    ASSERT_EQ(bytes[i], wide[i]);
    ASSERT_EQ(shorts[i], wide[i]);
    ASSERT_EQ(floats[i], static_cast<float>(wide[i]));
    ASSERT_EQ(half_value(halves[i]), static_cast<float>(wide[i]));
    ASSERT_EQ(bfloat_value(bfloats[i]), static_cast<float>(wide[i]));
  }
}

TEST(RandIntTest, IsUniformlyDistributed) {
  constexpr size_t kCount = 1'000'000, kRange = 100;
  std::vector<double> counts(kRange);
  for (const uint8_t value : filled<uint8_t>(integer_fill(DType::U8, 0, kRange), kCount)) ++counts.at(value);
  double chi = 0;
  for (const double count : counts) chi += (count - kCount / kRange) * (count - kCount / kRange) / (kCount / kRange);
  EXPECT_GT(chi, 50);  // 99 degrees of freedom: 50 and 161 have probability 0.0001 each
  EXPECT_LT(chi, 161);
}

TEST(RandIntTest, RefusesBoundsThatDoNotFit) {
  EXPECT_THAT([] { integer_fill(DType::I32, 3, 3); },
              ThrowsMessage<InvalidArgument>(HasSubstr("low is 3 and high is 3")));
  EXPECT_THAT([] { integer_fill(DType::U8, 0, 257); },
              ThrowsMessage<InvalidArgument>(HasSubstr("u8, which takes 0 to 255")));
  EXPECT_THAT([] { integer_fill(DType::I8, -129, 0); }, ThrowsMessage<InvalidArgument>(HasSubstr("-128 to 127")));
  EXPECT_THAT([] { integer_fill(DType::BF16, 0, 300); }, ThrowsMessage<InvalidArgument>(HasSubstr("bf16")));
  EXPECT_THAT([] { integer_fill(DType::F64, 0, 3); }, ThrowsMessage<InvalidArgument>(HasSubstr("f64")));
  EXPECT_THAT([] { integer_fill(DType::U64, -1, 3); }, ThrowsMessage<InvalidArgument>(HasSubstr("u64")));
  EXPECT_NO_THROW(integer_fill(DType::U8, 0, 256));
  EXPECT_NO_THROW(integer_fill(DType::Bool, 0, 2));
}

TEST(BernoulliTest, IsOneIfTheUniformNumberIsBelowTheProbability) {
  const auto uniform = filled<float>(uniform_fill(DType::F32, 0, 1), 20'000);
  for (const double p : {0.0, 1e-9, 0.3, 0.5, 1 - 0x1p-25, 1.0}) {
    const auto values = filled<float>(bernoulli_fill(DType::F32, p), uniform.size());
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<double>(uniform[i]) < p ? 1.0f : 0.0f);
  }
}

TEST(BernoulliTest, WritesOneInItsType) {
  EXPECT_EQ(filled<uint16_t>(bernoulli_fill(DType::F16, 1), 1)[0], 0x3c00);
  EXPECT_EQ(filled<uint16_t>(bernoulli_fill(DType::BF16, 1), 1)[0], 0x3f80);
  EXPECT_EQ(filled<double>(bernoulli_fill(DType::F64, 1), 1)[0], 1.0);
  EXPECT_EQ(filled<uint8_t>(bernoulli_fill(DType::Bool, 1), 1)[0], 1);
  EXPECT_EQ(filled<int16_t>(bernoulli_fill(DType::I16, 1), 1)[0], 1);
  EXPECT_EQ(filled<int64_t>(bernoulli_fill(DType::I64, 1), 1)[0], 1);
}

TEST(BernoulliTest, HasTheRequestedFrequency) {
  constexpr double kCount = 1'000'000;
  for (const double p : {0.001, 0.3, 0.9}) {
    const auto values = filled<uint8_t>(bernoulli_fill(DType::U8, p), static_cast<size_t>(kCount));
    EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0), p * kCount, 4 * std::sqrt(p * (1 - p) * kCount));
  }
  EXPECT_THAT([] { bernoulli_fill(DType::U8, 1.5); }, ThrowsMessage<InvalidArgument>(HasSubstr("1.5")));
  EXPECT_THAT([] { bernoulli_fill(DType::U8, NAN); }, ThrowsMessage<InvalidArgument>(HasSubstr("nan")));
}

}  // namespace
}  // namespace kymo::device::random
