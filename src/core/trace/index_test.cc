#include "trace/index.h"

#include <gtest/gtest.h>

#include "kymo/error.h"
#include "trace/test_support.h"

namespace kymo::trace {
namespace {

std::vector<ChunkHeader> some_headers(size_t count) {
  std::vector<ChunkHeader> headers(count);
  for (size_t i = 0; i < count; ++i) {
    headers[i].type = ChunkType::Events;
    headers[i].writer = testing::writer_id(static_cast<uint8_t>(i % 3));
    headers[i].payload_length = 8 * (i + 1);
    headers[i].first = 1000 * i;
    headers[i].payload_hash = i * 0x9e3779b97f4a7c15;
  }
  return headers;
}

base::ByteWriter written(const std::vector<ChunkHeader>& headers) {
  base::ByteWriter out;
  PlaneWriter compressor;
  write_index(out, headers, compressor);
  return out;
}

TEST(IndexTest, HeadersAndCoveredLengthRoundTrip) {
  for (size_t count : {1, 2, 500}) {
    const auto headers = some_headers(count);
    uint64_t covers = 0, expected = 0;
    EXPECT_EQ(read_index(written(headers).bytes(), covers), headers);
    for (const ChunkHeader& header : headers) expected += header.chunk_length();
    EXPECT_EQ(covers, expected);
  }
}

TEST(IndexTest, FooterTellsWhereTheChunkBegins) {
  const base::ByteWriter index = written(some_headers(10));
  EXPECT_EQ(index.size() % kAlignment, 0u);
  EXPECT_EQ(read_footer(index.bytes().last(kFooterBytes)), kHeaderBytes + index.size());
  EXPECT_EQ(read_footer(index.bytes().first(kFooterBytes)), 0u);
  EXPECT_EQ(read_footer({}), 0u);
}

TEST(IndexTest, EntryTakesAboutThirtyBytes) { EXPECT_LT(written(some_headers(4096)).size(), 4096u * 30); }

TEST(IndexTest, InconsistentIndexIsRefused) {
  uint64_t covers = 0;
  base::ByteWriter index = written(some_headers(10));
  base::store(index.data(), uint64_t{8});  // covers
  EXPECT_THROW(read_index(index.bytes(), covers), Error);
  index = written(some_headers(10));
  base::store(index.data() + 8, ~uint32_t{0});  // the number of chunks
  EXPECT_THROW(read_index(index.bytes(), covers), Error);
  index = written(some_headers(10));
  base::store(index.data() + 12, ~uint32_t{0});  // the length of the frame
  EXPECT_THROW(read_index(index.bytes(), covers), Error);
}

}  // namespace
}  // namespace kymo::trace
