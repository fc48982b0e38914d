#include "base/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "kymo/error.h"

namespace kymo::base {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> result;
  for (int value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

TEST(BytesTest, FixedIntegersAreLittleEndian) {
  ByteWriter out;
  out.fixed(uint16_t{0x0201});
  out.fixed(uint32_t{0x06050403});
  EXPECT_THAT(out.bytes(), testing::ElementsAreArray(bytes({1, 2, 3, 4, 5, 6})));
}

TEST(BytesTest, VarintsHoldSevenBitsPerByte) {
  ByteWriter out;
  out.varint(0);
  out.varint(127);
  out.varint(300);
  EXPECT_THAT(out.bytes(), testing::ElementsAreArray(bytes({0, 127, 0xac, 0x02})));
}

TEST(BytesTest, VarintsOfEveryLengthRoundTrip) {
  for (unsigned bits = 0; bits <= 64; ++bits) {
    const uint64_t value = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits);
    ByteWriter out;
    out.varint(value);
    ByteReader in(out.bytes());
    EXPECT_EQ(in.varint(), value);
    EXPECT_EQ(in.left(), 0u);
  }
}

TEST(BytesTest, VarintOfMoreThan64BitsIsRefused) {
  const auto too_long = bytes({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02});
  EXPECT_THROW(ByteReader(too_long).varint(), Error);
}

TEST(BytesTest, ReadingPastTheEndIsRefused) {
  const auto three = bytes({1, 2, 3});
  EXPECT_THROW(ByteReader(three).fixed<uint32_t>(), Error);
  EXPECT_THROW(ByteReader(three).take(4), Error);
  EXPECT_THROW(ByteReader(bytes({0x80})).varint(), Error);
  EXPECT_THROW(ByteReader(bytes({5, 'a'})).string(), Error);
}

TEST(BytesTest, ForgedCountIsRefusedBeforeAllocation) {
  ByteWriter out;
  out.varint(uint64_t{1} << 60);
  out.fixed(uint64_t{0});
  EXPECT_THROW(ByteReader(out.bytes()).count(), Error);
  EXPECT_EQ(ByteReader(bytes({2, 0, 0, 0, 0})).count(2), 2u);
  EXPECT_THROW(ByteReader(bytes({3, 0, 0, 0, 0})).count(2), Error);
}

TEST(BytesTest, VarintOutOfRangeIsRefusedWithItsName) {
  ByteWriter out;
  out.varint(70000);
  try {
    ByteReader(out.bytes()).varint_as<uint16_t>("a depth");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a depth is out of range: 70000");
  }
}

TEST(BytesTest, StringsMayHoldAnyBytes) {
  const std::string text("a\0b\xff", 4);
  ByteWriter out;
  out.string(text);
  out.string("");
  ByteReader in(out.bytes());
  EXPECT_EQ(in.string(), text);
  EXPECT_EQ(in.string(), "");
}

TEST(BytesTest, PaddingIsZeros) {
  ByteWriter out;
  out.byte(9);
  out.pad_to_multiple_of(4);
  out.pad_to_multiple_of(4);
  EXPECT_THAT(out.bytes(), testing::ElementsAreArray(bytes({9, 0, 0, 0})));
}

}  // namespace
}  // namespace kymo::base
