#include "trace/format.h"

#include <gtest/gtest.h>

#include <array>

#include "trace/test_support.h"

namespace kymo::trace {
namespace {

ChunkHeader some_header() {
  ChunkHeader header;
  header.type = ChunkType::Events;
  header.writer = testing::writer_id(7);
  header.payload_length = 4096;
  header.first = 1;
  header.last = ~uint64_t{0};
  header.range_count = 3;
  header.point_count = 4;
  header.track = 5;
  header.ring = 6;
  header.sequence_begin = 7;
  header.sequence_end = 8;
  header.payload_hash = 9;
  return header;
}

TEST(FormatTest, HeaderRoundTrips) {
  std::array<std::byte, kHeaderBytes> bytes;
  store_header(some_header(), bytes.data());
  EXPECT_EQ(load_header(bytes), some_header());
}

TEST(FormatTest, EveryFlippedBitOfAHeaderIsDetected) {
  std::array<std::byte, kHeaderBytes> bytes;
  store_header(some_header(), bytes.data());
  for (size_t i = 0; i < 8 * kHeaderBytes; ++i) {
    auto damaged = bytes;
    damaged[i / 8] ^= static_cast<std::byte>(1 << (i % 8));
    EXPECT_FALSE(load_header(damaged)) << "bit " << i;
  }
}

TEST(FormatTest, TruncatedHeaderIsRefused) {
  std::array<std::byte, kHeaderBytes> bytes;
  store_header(some_header(), bytes.data());
  EXPECT_FALSE(load_header(base::Bytes(bytes).first(kHeaderBytes - 1)));
}

TEST(FormatTest, TooLargeLengthsAreRefusedEvenWithAValidHash) {
  std::array<std::byte, kHeaderBytes> bytes;
  const auto accepts = [&](auto change) {
    ChunkHeader header = some_header();
    change(header);
    store_header(header, bytes.data());
    return load_header(bytes).has_value();
  };
  EXPECT_TRUE(accepts([](ChunkHeader& header) { header.payload_length = kMaxPayloadBytes; }));
  EXPECT_FALSE(accepts([](ChunkHeader& header) { header.payload_length = kMaxPayloadBytes + 8; }));
  EXPECT_FALSE(accepts([](ChunkHeader& header) { header.payload_length = 4097; }));
  EXPECT_TRUE(accepts([](ChunkHeader& header) { header.header_length = 112; }));
  EXPECT_FALSE(accepts([](ChunkHeader& header) { header.header_length = 96; }));
  EXPECT_FALSE(accepts([](ChunkHeader& header) { header.header_length = 1 << 20; }));
}

}  // namespace
}  // namespace kymo::trace
