#include "device/value_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace kymo::device {
namespace {

using ::testing::ElementsAre;

Parameter parameter_of_floats(uint32_t count, uint32_t bytes) {
  return {"x", ParameterKind::Inline, DType::F32, count, bytes};
}

std::vector<float> floats_in(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

TEST(ValueBytesTest, VectorOfThreeTakesTheSpaceOfFour) {
  EXPECT_EQ(place_in_value(parameter_of_floats(3, 16), 2), 8u);
  EXPECT_EQ(place_in_value(parameter_of_floats(6, 32), 3), 16u);
  EXPECT_EQ(place_in_value(parameter_of_floats(6, 24), 3), 12u);
  EXPECT_EQ(place_in_value(parameter_of_floats(4, 16), 3), 12u);

  std::vector<std::byte> bytes(32);
  EXPECT_EQ(store_value(std::vector<int>{1, 2, 3, 4, 5, 6}, parameter_of_floats(6, 32), bytes.data()), "");
  EXPECT_THAT(floats_in(bytes), ElementsAre(1, 2, 3, 0, 4, 5, 6, 0));
}

TEST(ValueBytesTest, AValueTakesItsNumbersOrItsBytes) {
  const Parameter matrix = parameter_of_floats(9, 48);  // float3x3
  const std::vector<float> columns = {1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0};
  std::vector<std::byte> bytes(48);
  EXPECT_EQ(store_value(std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9}, matrix, bytes.data()), "");
  EXPECT_EQ(floats_in(bytes), columns);
  bytes.assign(48, std::byte{0});
  EXPECT_EQ(store_value(std::as_bytes(std::span(columns)), matrix, bytes.data()), "");
  EXPECT_EQ(floats_in(bytes), columns);
  EXPECT_EQ(store_value(std::vector<std::byte>(36), matrix, bytes.data()),
            "it takes 9 of f32 or 48 bytes, and was given 36 bytes");
  EXPECT_EQ(store_value(std::vector<std::byte>(9), matrix, bytes.data()),
            "it takes 9 of f32 or 48 bytes, and was given 9 bytes")
      << "bytes are not a list of numbers";
  EXPECT_EQ(store_value(std::vector<float>(12), matrix, bytes.data()),
            "it takes 9 of f32 or 48 bytes, and was given a list of 12 f32, 48 bytes");
}

TEST(ValueBytesTest, BufferTakesOnlyWholeElements) {
  Parameter buffer = parameter_of_floats(3, 16);
  buffer.kind = ParameterKind::Buffer;
  std::vector<std::byte> bytes;
  EXPECT_EQ(store_elements(std::vector<int>{1, 2, 3, 4, 5, 6}, buffer, bytes), "");
  EXPECT_THAT(floats_in(bytes), ElementsAre(1, 2, 3, 0, 4, 5, 6, 0));
  EXPECT_EQ(store_elements(std::vector<int>{1, 2, 3, 4}, buffer, bytes),
            "one element is 3 of f32, and 4 numbers do not make whole elements");
}

TEST(ValueBytesTest, BufferTakesBytesUnchanged) {
  Parameter buffer = parameter_of_floats(2, 8);
  buffer.kind = ParameterKind::Buffer;
  const std::vector<float> values = {1, 2, 3, 4};
  std::vector<std::byte> bytes;
  EXPECT_EQ(store_elements(std::as_bytes(std::span(values)), buffer, bytes), "");
  EXPECT_EQ(floats_in(bytes), values);
  EXPECT_EQ(store_elements(std::vector<std::byte>(12), buffer, bytes),
            "one element has 8 bytes, and 12 bytes do not make whole elements");
}

TEST(ValueBytesTest, UntypedParameterTakesItsExactSize) {
  const Parameter structure{"s", ParameterKind::Inline, std::nullopt, 1, 8};
  std::vector<std::byte> bytes(8);
  EXPECT_EQ(store_value(std::vector<float>{1, 2}, structure, bytes.data()), "");
  EXPECT_THAT(floats_in(bytes), ElementsAre(1, 2));
  EXPECT_EQ(store_value(std::vector<float>{1}, structure, bytes.data()),
            "it takes 8 bytes, and was given a list of 1 f32, 4 bytes");
  EXPECT_EQ(store_value(7, structure, bytes.data()), "it takes 8 bytes, and was given one number");
}

}  // namespace
}  // namespace kymo::device
