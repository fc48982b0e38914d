#include "analyze/decode_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "kymo/error.h"

namespace kymo::analyze {
namespace {

std::vector<trace::EventChunk> numbered_chunks(size_t count) {
  std::vector<trace::EventChunk> chunks(count);
  for (size_t i = 0; i < count; ++i) chunks[i].offset = i;
  return chunks;
}

TEST(DecodeAheadTest, ChunksComeInOrderForAnyDecodingTime) {
  const auto chunks = numbered_chunks(200);
  DecodeAhead ahead(
      chunks,
      [](const trace::EventChunk& chunk, trace::EventBatch& into) {
        if (chunk.offset % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        into.sequence_begin = chunk.offset;
      },
      3);
  for (size_t i = 0; i < chunks.size(); ++i) {
    const DecodeAhead::Item* const item = ahead.next();
    ASSERT_NE(item, nullptr);
    EXPECT_EQ(item->chunk, &chunks[i]);
    EXPECT_EQ(item->batch.sequence_begin, i);
  }
  EXPECT_EQ(ahead.next(), nullptr);
  EXPECT_EQ(ahead.next(), nullptr);
}

TEST(DecodeAheadTest, ErrorAffectsOnlyItsChunk) {
  const auto chunks = numbered_chunks(10);
  DecodeAhead ahead(
      chunks,
      [](const trace::EventChunk& chunk, trace::EventBatch&) {
        if (chunk.offset == 4) throw Error("broken");
      },
      1);
  for (size_t i = 0; i < chunks.size(); ++i) EXPECT_EQ(ahead.next()->error, i == 4 ? "broken" : "");
}

TEST(DecodeAheadTest, OtherExceptionsReachTheCaller) {
  const auto chunks = numbered_chunks(3);
  DecodeAhead ahead(
      chunks, [](const trace::EventChunk&, trace::EventBatch&) { throw std::bad_alloc(); }, 1);
  EXPECT_THROW(ahead.next(), std::bad_alloc);
}

TEST(DecodeAheadTest, WorksWithoutHelpersAndCanStopEarly) {
  const auto chunks = numbered_chunks(50);
  for (unsigned helpers : {0u, 2u}) {
    std::atomic<int> decoded = 0;
    DecodeAhead ahead(
        chunks, [&](const trace::EventChunk&, trace::EventBatch&) { ++decoded; }, helpers);
    for (int i = 0; i < 5; ++i) EXPECT_NE(ahead.next(), nullptr);
    EXPECT_GE(decoded, 5);
  }
  const std::vector<trace::EventChunk> none;
  EXPECT_EQ(DecodeAhead(none, {}, 2).next(), nullptr);
}

}  // namespace
}  // namespace kymo::analyze
