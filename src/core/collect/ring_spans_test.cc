// Ranges in one record, on threads and on device queues.
#include <gtest/gtest.h>

#include <random>

#include "collect/ring_test_support.h"

namespace kymo::collect {
namespace {

using trace::LossCause;
using trace::TrackKind;

class ThreadSpanTest : public RingDecoderTest {};
class QueueSpanTest : public RingDecoderTest {};

TEST_F(ThreadSpanTest, IsALeafOfTheOpenRanges) {
  const uint32_t outer = add_class("outer"), launch = add_class("launch");
  begin_thread(1);
  put(10, Kind::Begin, outer);
  span(12, 15, launch, 7);
  span(15, 18, launch);
  put(20, Kind::End);
  const auto& batch = decode();
  EXPECT_EQ(batch.ranges.class_id, (std::vector<uint32_t>{launch, launch, outer}));
  EXPECT_EQ(batch.ranges.depth, (std::vector<uint16_t>{1, 1, 0}));
  EXPECT_EQ(batch.ranges.end, (std::vector<uint64_t>{15, 18, 20}));
  EXPECT_EQ(batch.ranges.duration, (std::vector<uint64_t>{3, 3, 10}));
  EXPECT_EQ(batch.ranges.correlation, (std::vector<uint64_t>{7, 0, 0}));
  EXPECT_TRUE(batch.ranges.lane.empty());
}

TEST_F(ThreadSpanTest, WithoutCorrelationsThereIsNoColumn) {
  const uint32_t id = add_class("r");
  begin_thread(1);
  span(1, 2, id, 5);
  EXPECT_EQ(decode().ranges.correlation.size(), 1u);
  span(3, 4, id);
  EXPECT_TRUE(decode().ranges.correlation.empty());
}

TEST_F(ThreadSpanTest, TakesItsArguments) {
  const kymo_arg number{nullptr, {}, 0, KYMO_INT};
  const uint32_t id = add_class("copy {}", {number}), wrong = add_class("text {}", {{nullptr, {}, 0, KYMO_STRING}});
  begin_thread(1);
  put(20, Kind::Span, id, {10, 3, 99});
  put(30, Kind::Span, wrong, {25, 0, 1 << 20});
  put(40, Kind::Span, id);
  const auto& batch = decode();
  EXPECT_EQ(batch.ranges.values.ints, (std::vector<uint64_t>{99, 0}));
  EXPECT_EQ(batch.ranges.class_id, (std::vector<uint32_t>{id, trace::kInlineName}));
  EXPECT_EQ(decoder.take_losses().size(), 2u) << "one whose text is too long, one without a start";
}

TEST_F(ThreadSpanTest, ContainsTheRangesThatEndedInsideIt) {
  const uint32_t inner = add_class("inner"), deeper = add_class("deeper"), call = add_class("call");
  begin_thread(1);
  span(1, 10, inner);  // before the call
  put(12, Kind::Begin, inner);
  span(13, 14, deeper);
  put(15, Kind::End);
  span(11, 20, call);
  const auto& batch = decode();
  EXPECT_EQ(batch.ranges.class_id, (std::vector<uint32_t>{inner, deeper, inner, call}));
  EXPECT_EQ(batch.ranges.depth, (std::vector<uint16_t>{0, 2, 1, 0}));
  EXPECT_TRUE(batch.ranges.lane.empty());
}

TEST_F(ThreadSpanTest, GetsAnotherLaneIfItDoesNotNest) {
  const uint32_t id = add_class("r");
  begin_thread(1);
  span(10, 20, id);
  span(15, 25, id);  // overlaps half of it
  EXPECT_EQ(decode().ranges.lane, (std::vector<uint16_t>{0, 1}));
  span(22, 30, id);  // began before a range that is already in the file
  EXPECT_EQ(decode().ranges.lane, (std::vector<uint16_t>{2}));
  put(40, Kind::Begin, id);
  span(35, 50, id);  // around a range that is still open
  span(50, 60, id);
  EXPECT_EQ(decode().ranges.lane, (std::vector<uint16_t>{1, 0}));
}

TEST_F(QueueSpanTest, AQueueIsATrackWithItsOwnClock) {
  const uint32_t id = add_class("kernel");
  put(1, Kind::Sync, 0, {1, 0});
  begin_queue(4, "compute", "GPU-1111");
  put(1, Kind::ClockPair, 0, {1000, 2000, 3000, 4, 5, 0});
  span(1100, 1200, id, 9);
  const auto& batch = decode();
  EXPECT_EQ(batch.ranges.end, (std::vector<uint64_t>{1200}));
  EXPECT_EQ(batch.ranges.duration, (std::vector<uint64_t>{100}));
  EXPECT_EQ(batch.ranges.correlation, (std::vector<uint64_t>{9}));
  EXPECT_TRUE(batch.ranges.lane.empty());
  trace::Track track;
  ASSERT_TRUE(decoder.take_changed_track(track));
  EXPECT_EQ(track.kind, TrackKind::DeviceQueue);
  EXPECT_EQ(track.name, "compute");
  EXPECT_EQ(track.device_uuid, "GPU-1111");
  EXPECT_EQ(track.queue, 4u);
  trace::ClockDomain domain;
  ASSERT_TRUE(clocks.find(track.clock)->changes(domain));
  EXPECT_EQ(domain.pairs, (std::vector<trace::ClockPair>{{1000, 2000, 3000, 4, 5}}));
  EXPECT_EQ(domain.period_numerator, 40u);
  EXPECT_EQ(domain.period_denominator, 3u);
}

TEST_F(QueueSpanTest, OverlappingSpansAreSortedByEndAndGetLanes) {
  const uint32_t a = add_class("a"), b = add_class("b");
  put(1, Kind::Sync, 0, {1, 0});
  begin_queue(1, "q", "GPU");
  span(10, 50, a, 1);
  span(20, 30, b, 2);
  const auto& batch = decode();
  EXPECT_EQ(batch.ranges.class_id, (std::vector<uint32_t>{b, a}));
  EXPECT_EQ(batch.ranges.lane, (std::vector<uint16_t>{1, 0}));
  EXPECT_EQ(batch.ranges.correlation, (std::vector<uint64_t>{2, 1}));
}

TEST_F(QueueSpanTest, AWaitForTheCollectorIsCountedAndIsNotARange) {
  put(1, Kind::Sync, 0, {1, 0});
  begin_queue(1, "q", "GPU");
  put(50, Kind::Blocked, 0, {20});
  EXPECT_EQ(decode().ranges.size(), 0u);
  EXPECT_EQ(decoder.blocked_ticks(), 30u);
}

TEST_F(QueueSpanTest, InvalidSpansAreCountedAtADeviceTime) {
  const uint32_t id = add_class("kernel");
  put(1, Kind::Sync, 0, {1, 0});
  begin_queue(1, "q", "GPU");
  span(7000, 8000, id);
  span(9000, 8500, id);  // backwards
  put(123, Kind::ClockPair, 0, {1});
  decode();
  const auto losses = decoder.take_losses();
  ASSERT_EQ(losses.size(), 2u);
  for (const auto& loss : losses) EXPECT_EQ(loss.first, 8000u);
}

TEST_F(QueueSpanTest, ACounterThatWrapsContinues) {
  const uint32_t id = add_class("kernel");
  put(1, Kind::Sync, 0, {1, 0});
  begin_queue(1, "q", "GPU", 16);
  span(0xff00, 0xff80, id);
  span(0xfff0, 0x0010, id);
  span(0x0100, 0x0200, id);
  const auto& batch = decode();
  EXPECT_EQ(batch.ranges.end, (std::vector<uint64_t>{0xff80, 0x10010, 0x10200}));
  EXPECT_EQ(batch.ranges.duration, (std::vector<uint64_t>{0x80, 0x20, 0x100}));
  EXPECT_TRUE(batch.ranges.lane.empty());
}

TEST_F(QueueSpanTest, AThreadMayUseTheRingAfterAQueue) {
  const uint32_t id = add_class("r");
  put(1, Kind::Sync, 0, {1, 0});
  begin_queue(1, "q", "GPU");
  span(1000, 2000, id);
  begin_thread(77);
  span(10, 20, id);
  decode();
  const uint32_t queue = decoder.track();
  const auto& batch = decode();
  EXPECT_NE(batch.track, queue);
  EXPECT_EQ(batch.ranges.end, (std::vector<uint64_t>{20}));
  trace::Track track;
  ASSERT_TRUE(decoder.take_changed_track(track));
  EXPECT_EQ(track.kind, TrackKind::Thread);
}

TEST_F(QueueSpanTest, TheQueueOfAFlightRecorderMayDescribeItselfAgain) {
  const uint32_t id = add_class("kernel");
  put(1, Kind::Sync, 0, {1, 0});
  begin_queue(1, "q", "GPU");
  span(10, 20, id);
  begin_queue(1, "q", "GPU");
  span(20, 30, id);
  EXPECT_EQ(decode().ranges.size(), 2u);
  const uint32_t track = decoder.track();
  decoder.lose_cells(500, 0, "");
  begin_queue(1, "q", "GPU");
  span(40, 50, id);
  decode();
  EXPECT_EQ(decoder.track(), track);
  auto losses = decoder.take_losses();
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].cause, LossCause::Overwritten);
  EXPECT_EQ(losses[0].track, track);
  decoder.lose_cells(500, 0, "");
  begin_queue(2, "another", "GPU");
  span(60, 70, id);
  decode();
  EXPECT_NE(decoder.track(), track);
  losses = decoder.take_losses();
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].track, decoder.track());
}

TEST_F(QueueSpanTest, ALaterCollectorContinuesInTheMiddle) {
  const uint32_t id = add_class("kernel");
  trace::ClockDomain domain;
  domain.id = 3;
  domain.kind = trace::ClockKind::Device;
  domain.pairs = {{900, 1, 1, 1}};
  clocks.resume({{3, domain}});
  trace::Track track;
  track.id = 5;
  track.kind = TrackKind::DeviceQueue;
  track.clock = 3;
  next_track = 6;
  decoder.resume(track, {});
  span(1000, 1100, id, 4);
  put(1, Kind::ClockPair, 0, {1200, 2, 2, 2, 0, 0});
  const auto& batch = decode();
  EXPECT_EQ(batch.track, 5u);
  EXPECT_EQ(batch.ranges.correlation, (std::vector<uint64_t>{4}));
  EXPECT_EQ(clocks.find(uint32_t{3})->whole().pairs.size(), 2u);
}

TEST_F(QueueSpanTest, RandomBytesDoNotCrash) {
  const kymo_arg text{"s", {}, 0, KYMO_STRING}, real{nullptr, {}, 0, KYMO_DOUBLE};
  add_class("a", {text, real});
  add_class("b");
  std::mt19937_64 random(7);
  constexpr Kind kKinds[] = {Kind::Span, Kind::QueueBegin,  Kind::ClockPair, Kind::Sync,       Kind::AsyncBegin,
                             Kind::Span, Kind::ThreadBegin, Kind::Blocked,   Kind::Begin,      Kind::End,
                             Kind::Loss, Kind::AsyncEnd,    Kind::Span,      Kind::Allocation, Kind::Pad};
  for (int round = 0; round < 2000; ++round) {
    for (int i = 0; i < 64; ++i) {
      const Kind kind = kKinds[random() % std::size(kKinds)];
      const uint64_t small = random() % 3 == 0 ? random() : random() % 100;
      put_cell(small, static_cast<uint64_t>(kind) | (random() % 9) << 8 | (random() % 4) << 32);
    }
    while (position < head) {
      const auto& ranges = decode().ranges;
      ASSERT_EQ(ranges.end.size(), ranges.depth.size());
      ASSERT_TRUE(ranges.lane.empty() || ranges.lane.size() == ranges.size());
      ASSERT_TRUE(ranges.correlation.empty() || ranges.correlation.size() == ranges.size());
    }
    decoder.take_losses();
  }
}

}  // namespace
}  // namespace kymo::collect
