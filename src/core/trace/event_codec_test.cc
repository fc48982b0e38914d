#include "trace/event_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kymo/error.h"
#include "trace/reader.h"
#include "trace/test_support.h"

namespace kymo::trace {
namespace {

using ::testing::ElementsAre;

TEST(RangeTimesTest, LoopHasConstantGaps) {
  const std::vector<uint64_t> end{107, 117, 127}, duration{7, 7, 7};
  const std::vector<uint16_t> depth{0, 0, 0};
  std::vector<uint64_t> gap(3);
  EXPECT_EQ(to_gaps(end, duration, depth, 0, gap), 100u);
  EXPECT_THAT(gap, ElementsAre(0, 3, 3));
}

TEST(RangeTimesTest, ParentIsStoredByItsEnd) {
  // One parent from 100 to 140 contains two children.
  const std::vector<uint64_t> end{110, 130, 140}, duration{5, 15, 40};
  const std::vector<uint16_t> depth{1, 1, 0};
  std::vector<uint64_t> gap(3);
  EXPECT_EQ(to_gaps(end, duration, depth, 0, gap), 105u);
  EXPECT_THAT(gap, ElementsAre(0, 5, 10));
}

TEST(RangeTimesTest, RangeOpenedBeforeTheFirstIsStoredByItsEnd) {
  const std::vector<uint64_t> end{1000}, duration{999};
  const std::vector<uint16_t> depth{0};
  std::vector<uint64_t> gap(1);
  EXPECT_EQ(to_gaps(end, duration, depth, 1, gap), 1000u);
}

TEST(RangeTimesTest, AnyTimesRoundTrip) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    const size_t n = 1 + random() % 100, open_before = random() % 3;
    std::vector<uint64_t> end(n), duration(n), gap(n);
    std::vector<uint16_t> depth(n);
    for (size_t i = 0; i < n; ++i) {
      end[i] = testing::wild(random);
      duration[i] = testing::wild(random);
      depth[i] = static_cast<uint16_t>(random() % 4);
    }
    const uint64_t base = to_gaps(end, duration, depth, open_before, gap);
    to_ends(gap, duration, depth, open_before, base);
    EXPECT_EQ(gap, end);
  }
}

// Tests EventEncoder and EventDecoder together, because each needs the other.

struct Encoded {
  ChunkHeader header;
  base::ByteWriter payload;
};

Encoded encode(const EventBatch& batch) {
  Encoded encoded;
  EventEncoder().encode(batch, encoded.header, encoded.payload);
  return encoded;
}

EventBatch decode(const Encoded& encoded, unsigned parts = kEverything) {
  EventBatch batch;
  EventDecoder().decode(encoded.payload.bytes(), encoded.header, parts, batch);
  return batch;
}

TEST(EventCodecTest, AnyBatchRoundTrips) {
  std::mt19937_64 random(4);
  EventEncoder encoder;
  EventDecoder decoder;
  EventBatch reused;
  for (int round = 0; round < 500; ++round) {
    const EventBatch batch = testing::wild_batch(random);
    Encoded encoded;
    encoder.encode(batch, encoded.header, encoded.payload);
    decoder.decode(encoded.payload.bytes(), encoded.header, kEverything, reused);
    ASSERT_TRUE(testing::same(batch, reused)) << "round " << round;
  }
}

TEST(EventCodecTest, EachPartCanBeReadAlone) {
  std::mt19937_64 random(5);
  EventBatch batch;
  while (batch.ranges.lane.empty() || batch.ranges.correlation.empty() || batch.opening.empty()) {
    batch = testing::wild_batch(random);
  }
  const Encoded encoded = encode(batch);
  const EventBatch times = decode(encoded, kRangeTimes);
  EXPECT_EQ(times.ranges.end, batch.ranges.end);
  EXPECT_EQ(times.ranges.duration, batch.ranges.duration);
  EXPECT_TRUE(times.ranges.depth.empty());
  EXPECT_TRUE(times.ranges.class_id.empty());
  EXPECT_TRUE(times.points.time.empty());
  EXPECT_TRUE(times.opening.empty());
  EXPECT_EQ(times.track, batch.track);

  const EventBatch depths = decode(encoded, kRangeDepths);
  EXPECT_EQ(depths.ranges.depth, batch.ranges.depth);
  EXPECT_EQ(depths.ranges.lane, batch.ranges.lane);
  EXPECT_TRUE(depths.ranges.end.empty());
  EXPECT_EQ(decode(encoded, kRangeClasses).ranges.class_id, batch.ranges.class_id);
  EXPECT_EQ(decode(encoded, kRangeCorrelations).ranges.correlation, batch.ranges.correlation);
  EXPECT_EQ(decode(encoded, kRangeValues).ranges.values, batch.ranges.values);
  EXPECT_EQ(decode(encoded, kPoints).points.id, batch.points.id);
  EXPECT_TRUE(decode(encoded, kPoints).points.values.ints.empty());
  EXPECT_EQ(decode(encoded, kPointValues).points.values, batch.points.values);
  EXPECT_EQ(decode(encoded, kOpenStacks).opening, batch.opening);
}

TEST(EventCodecTest, HeaderCoversTheTimesOfTheBatch) {
  EventBatch batch = testing::loop_batch(10, 1000);
  batch.opening.resize(1);
  batch.closing.resize(2);
  batch.opening[0].start = batch.closing[0].start = 5;
  batch.closing[1].start = 2000;
  const ChunkHeader header = encode(batch).header;
  EXPECT_EQ(header.first, 1000u);  // not 5: that range was open before the batch and is still open
  EXPECT_EQ(header.last, 2000u);
  EXPECT_EQ(header.range_count, 10u);

  const ChunkHeader empty = encode(EventBatch{}).header;
  EXPECT_EQ(empty.first, 0u);
  EXPECT_EQ(empty.last, 0u);
}

TEST(EventCodecTest, SummariesSeparateTheDepths) {
  EventBatch batch;
  batch.ranges.end = {110, 130, 140};
  batch.ranges.duration = {5, 15, 40};
  batch.ranges.depth = {3, 3, 1};
  batch.ranges.class_id = {1, 1, 2};
  const Encoded encoded = encode(batch);
  const base::Bytes payload = encoded.payload.bytes();
  const EventHead head = read_head(find_head(payload, read_prefix(payload)));
  const std::vector<DepthSummary> expected{{1, 100, 140, 1, 40, 40}, {3, 105, 130, 2, 20, 15}};
  EXPECT_EQ(head.summaries, expected);
}

TEST(EventCodecTest, TightLoopTakesLessThanOneBytePerRange) {
  EXPECT_LT(encode(testing::loop_batch(32768)).payload.size(), 200u);
}

TEST(EventCodecTest, RandomRangesTakeLittleMoreThanTheirEntropy) {
  // Durations and gaps of 20 ns to 1 us and 16 names: 23.9 bits of information per range.
  std::mt19937_64 random(6);
  EventBatch batch;
  uint64_t now = uint64_t{1} << 50;
  for (size_t i = 0; i < 32768; ++i) {
    const uint64_t duration = 20 + random() % 980;
    now += 20 + random() % 980 + duration;
    batch.ranges.end.push_back(now);
    batch.ranges.duration.push_back(duration);
    batch.ranges.class_id.push_back(static_cast<uint32_t>(1 + random() % 16));
    batch.ranges.depth.push_back(0);
  }
  EXPECT_LT(static_cast<double>(encode(batch).payload.size()) / 32768, 3.2);
}

TEST(EventCodecTest, ArraysOfDifferentLengthAreRefused) {
  EventBatch batch = testing::loop_batch(3);
  batch.ranges.depth.pop_back();
  EXPECT_THROW(encode(batch), InvalidArgument);
  batch = testing::loop_batch(3);
  batch.ranges.lane = {1};
  EXPECT_THROW(encode(batch), InvalidArgument);
  batch = testing::loop_batch(3);
  batch.points.time = {1};
  EXPECT_THROW(encode(batch), InvalidArgument);
}

TEST(EventCodecTest, CountThatDiffersFromTheHeaderIsRefused) {
  Encoded encoded = encode(testing::loop_batch(100));
  encoded.header.range_count = kMaxEvents;  // a constant column must not expand to four million values
  EXPECT_THROW(decode(encoded), Error);
  encoded.header.range_count = ~uint32_t{0};
  EXPECT_THROW(decode(encoded), Error);
}

TEST(EventCodecTest, TruncatedPayloadIsRefusedAtEveryLength) {
  std::mt19937_64 random(7);
  const Encoded encoded = encode(testing::wild_batch(random, 40));
  for (size_t size = 0; size < encoded.payload.size(); ++size) {
    EventBatch batch;
    const base::Bytes cut = encoded.payload.bytes().first(size);
    EXPECT_THROW(EventDecoder().decode(cut, encoded.header, kEverything, batch), Error) << size;
  }
}

}  // namespace
}  // namespace kymo::trace
