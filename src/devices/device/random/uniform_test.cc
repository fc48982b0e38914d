#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "device/random/test_values.h"
#include "kymo/error.h"

namespace kymo::device::random {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(UniformTest, HasTheExpectedBits) {
  EXPECT_THAT(
      bits_of(filled<float>(uniform_fill(DType::F32, 0, 1), 8)),
      ElementsAre(0x3f1ceaf0, 0x3eefea92, 0x3d95fa80, 0x3eae8566, 0x3f7cdb21, 0x3ea774d8, 0x3f038f5a, 0x3ee89c0c));
  EXPECT_THAT(
      bits_of(filled<float>(uniform_fill(DType::F32, -3, 10), 8)),
      ElementsAre(0x409efdc6, 0x4045dd2e, 0xc003123c, 0x3fb7318c, 0x411d720b, 0x3fa03bc0, 0x406b91e4, 0x4039fd94));
  EXPECT_THAT(filled<uint16_t>(uniform_fill(DType::F16, 0, 1), 8),
              ElementsAre(0x38e7, 0x377f, 0x2cb0, 0x3574, 0x3be7, 0x353c, 0x381c, 0x3745));
  EXPECT_THAT(filled<uint16_t>(uniform_fill(DType::BF16, 0, 1), 8),
              ElementsAre(0x3f1d, 0x3ef0, 0x3d96, 0x3eaf, 0x3f7d, 0x3ea7, 0x3f04, 0x3ee9));
}

TEST(UniformTest, IsTheTop24BitsOfTheWord) {
  const auto values = filled<float>(uniform_fill(DType::F32, 0, 1), 1000);
  const auto from = words(1000, 42);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], std::ldexp(static_cast<double>(from[i] >> 8), -24));
}

TEST(UniformTest, IsUniformlyDistributed) {
  constexpr size_t kCount = 1'000'000;
  auto values = filled<float>(uniform_fill(DType::F32, 0, 1), kCount);
  std::sort(values.begin(), values.end());
  EXPECT_GE(values.front(), 0);
  EXPECT_LT(values.back(), 1);
  double distance = 0;  // of the Kolmogorov-Smirnov test; 1.95 / sqrt(n) has probability 0.001
  for (size_t i = 0; i < kCount; ++i) {
    const double value = static_cast<double>(values[i]), below = static_cast<double>(i) / kCount;
    distance = std::max({distance, value - below, below + 1.0 / kCount - value});
  }
  EXPECT_LT(distance * std::sqrt(kCount), 1.95);
}

TEST(UniformTest, NeverReachesItsEnd) {
  // In these ranges plain rounding would reach the end: just above 1 a float has half the precision of u, and 16-bit
  // types have far less.
  for (const auto& [from, to] :
       {std::pair(0.0, 1.0), {1.0, 2.0}, {-2.0, -1.0}, {-1.0, 0.0}, {1000.0, 1024.0}, {-3.7, 0.1}}) {
    const auto narrow = [](float value, DType type) {
      const uint32_t bits = std::bit_cast<uint32_t>(value);
      return type == DType::F16    ? half_value(static_cast<uint16_t>(half_bits(bits)))
             : type == DType::BF16 ? bfloat_value(static_cast<uint16_t>(bfloat_bits(bits)))
                                   : value;
    };
    for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
      const float first = narrow(static_cast<float>(from), type), end = narrow(static_cast<float>(to), type);
      float lowest = INFINITY, highest = -INFINITY;
      const auto see = [&](float value) { lowest = std::min(lowest, value), highest = std::max(highest, value); };
      const Fill fill = uniform_fill(type, from, to);
      if (type == DType::F32)
        for (const float value : filled<float>(fill, 300'000)) see(value);
      else
        for (const uint16_t bits : filled<uint16_t>(fill, 300'000))
          see(type == DType::F16 ? half_value(bits) : bfloat_value(bits));
      EXPECT_GE(lowest, first) << from << " " << to;
      EXPECT_LT(highest, end) << from << " " << to;
      EXPECT_LE(lowest, first + 0.01f * (end - first) + 0.01f);
    }
  }
}

TEST(UniformTest, EmptyRangeGivesItsOneValue) {
  for (const float value : filled<float>(uniform_fill(DType::F32, 2.5, 2.5), 9)) EXPECT_EQ(value, 2.5f);
}

TEST(UniformTest, RefusesInvalidParameters) {
  EXPECT_THAT([] { uniform_fill(DType::F32, 2, 1); },
              ThrowsMessage<InvalidArgument>(HasSubstr("from is 2 and to is 1")));
  EXPECT_THAT([] { uniform_fill(DType::F32, 0, NAN); }, ThrowsMessage<InvalidArgument>(HasSubstr("to is nan")));
  EXPECT_THAT([] { uniform_fill(DType::F16, 0, 70000); }, ThrowsMessage<InvalidArgument>(HasSubstr("70000")));
  EXPECT_THAT([] { uniform_fill(DType::F32, -3e38, 3e38); }, ThrowsMessage<InvalidArgument>(HasSubstr("3e+38")));
  EXPECT_THAT([] { uniform_fill(DType::I32, 0, 1); }, ThrowsMessage<InvalidArgument>(HasSubstr("i32")));
}

}  // namespace
}  // namespace kymo::device::random
