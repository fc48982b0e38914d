#include "collect/ring_decoder.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <memory>
#include <random>

#include "collect/ring_test_support.h"

namespace kymo::collect {
namespace {

using record::Kind;
using trace::LossCause;
using trace::PointKind;

TEST_F(RingDecoderTest, RangesAreSortedByEndAndHaveDepths) {
  const uint32_t outer = add_class("outer"), inner = add_class("inner");
  begin_thread(77);
  put(10, Kind::Begin, outer);
  put(12, Kind::Begin, inner);
  put(15, Kind::End);
  put(20, Kind::End);
  const auto& batch = decode();
  EXPECT_EQ(batch.ranges.class_id, (std::vector<uint32_t>{inner, outer}));
  EXPECT_EQ(batch.ranges.depth, (std::vector<uint16_t>{1, 0}));
  EXPECT_EQ(batch.ranges.end, (std::vector<uint64_t>{15, 20}));
  EXPECT_EQ(batch.ranges.duration, (std::vector<uint64_t>{3, 10}));
  EXPECT_EQ(batch.ring, 3u);
  EXPECT_EQ(batch.sequence_end, head);
}

TEST_F(RingDecoderTest, ARangeMayBeginInOneBatchAndEndInAnother) {
  const kymo_arg text{nullptr, {}, 0, KYMO_STRING};
  const uint32_t id = add_class("file {}", {text});
  begin_thread(1);
  uint64_t name = 0;
  std::memcpy(&name, "a.txt", 5);
  put(10, Kind::Begin, id, {5, name});
  EXPECT_EQ(decode().closing.size(), 1u);
  put(30, Kind::End);
  const auto& batch = decode();
  ASSERT_EQ(batch.opening.size(), 1u);
  EXPECT_EQ(batch.opening[0].text, "a.txt");
  ASSERT_EQ(batch.ranges.size(), 1u);
  EXPECT_EQ(batch.ranges.duration[0], 20u);
  EXPECT_EQ(batch.ranges.values.text, "a.txt");
  EXPECT_TRUE(batch.closing.empty());
}

TEST_F(RingDecoderTest, AnEndOfARangeFromBeforeTheRecordingIsNotALoss) {
  begin_thread(1);
  put(10, Kind::End);
  EXPECT_EQ(decode().ranges.size(), 0u);
  EXPECT_TRUE(decoder.take_losses().empty());
}

// So that cells made are cells kept plus cells lost.
TEST_F(RingDecoderTest, RangeThatLostOneOfItsCellsIsPartOfTheLoss) {
  const uint32_t id = add_class("r");
  begin_thread(1);
  put(10, Kind::Begin, id);
  put(11, Kind::Begin, id);
  put(12, Kind::End);
  EXPECT_EQ(decode().ranges.size(), 1u);
  EXPECT_TRUE(decoder.take_losses().empty());
  head += 100;  // overwritten
  position = head;
  decoder.lose_cells(100, 1, "");
  put(900, Kind::End);
  put(901, Kind::Begin, id);
  put(902, Kind::End);
  EXPECT_EQ(decode().ranges.size(), 1u);
  uint64_t lost = 0;
  for (const trace::Loss& loss : decoder.take_losses()) {
    EXPECT_EQ(loss.cause, LossCause::Overwritten);
    lost += loss.count;
  }
  EXPECT_EQ(lost, 102u) << "the begin before the gap and the end after it are no range";
  begin_thread(2);
  put(950, Kind::End);
  decode();
  EXPECT_TRUE(decoder.take_losses().empty()) << "a new thread has no lost begins";
}

TEST_F(RingDecoderTest, TheNextThreadOfARingGetsAnotherBatchAndTrack) {
  const uint32_t id = add_class("r");
  begin_thread(1);
  put(10, Kind::Begin, id);
  begin_thread(2);
  put(20, Kind::Begin, id);
  put(21, Kind::End);
  EXPECT_EQ(decode().closing.size(), 1u) << "the first thread left a range open";
  const uint32_t first = decoder.track();
  const auto& batch = decode();
  EXPECT_EQ(position, head);
  EXPECT_NE(batch.track, first);
  EXPECT_TRUE(batch.opening.empty());
  EXPECT_EQ(batch.ranges.depth, (std::vector<uint16_t>{0}));
}

TEST_F(RingDecoderTest, ArgumentsAreSplitByType) {
  const kymo_arg integer{"n", {}, 0, KYMO_INT}, real{"x", {}, 0, KYMO_DOUBLE}, text{"s", {}, 0, KYMO_STRING};
  const uint32_t id = add_class("m", {integer, text, real});
  begin_thread(1);
  uint64_t letters[2] = {};
  std::memcpy(letters, "ten chars!", 10);
  put(10, Kind::Instant, id, {static_cast<uint64_t>(-5), 10, letters[0], letters[1], std::bit_cast<uint64_t>(2.5)});
  const auto& points = decode().points;
  EXPECT_EQ(points.values.ints, (std::vector<uint64_t>{static_cast<uint64_t>(-5), 10}));
  EXPECT_EQ(points.values.doubles, (std::vector<double>{2.5}));
  EXPECT_EQ(points.values.text, "ten chars!");
}

TEST_F(RingDecoderTest, APayloadThatDoesNotMatchItsClassIsCountedAndDecodingContinues) {
  const kymo_arg text{"s", {}, 0, KYMO_STRING};
  const uint32_t id = add_class("m", {text}), plain = add_class("plain");
  begin_thread(1);
  put(10, Kind::Begin, id, {1 << 20, 0});  // a text of one megabyte in one word
  put(11, Kind::End);
  put(12, Kind::Begin, plain);
  put(13, Kind::End);
  EXPECT_EQ(decode().ranges.class_id, (std::vector<uint32_t>{trace::kInlineName, plain}));
  const auto losses = decoder.take_losses();
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].cause, LossCause::DamagedRecord);
}

TEST_F(RingDecoderTest, WaitThatHasNotEndedIsAnOpenRange) {
  const uint32_t outer = add_class("outer");
  const uint32_t wait = add_class("wait for mutex", {{"object", {}, 0, KYMO_POINTER}, {"holder", {}, 0, KYMO_UINT}});
  begin_thread(77);
  put(10, Kind::Begin, outer);
  decode();
  decoder.open_wait(wait, 20, {0x7000, 78}, position);
  const trace::EventBatch& batch = decoder.batch();
  EXPECT_EQ(batch.ranges.size(), 0u);
  EXPECT_EQ(batch.sequence_end, position);
  ASSERT_EQ(batch.closing.size(), 2u);
  EXPECT_EQ(batch.closing[1].class_id, wait);
  EXPECT_EQ(batch.closing[1].start, 20u);
  EXPECT_EQ(batch.closing[1].ints, (std::vector<uint64_t>{0x7000, 78}));
  // It had ended without a record before a range began.
  put(40, Kind::Begin, outer);
  decode();
  decoder.open_wait(wait, 30, {0x7000, 78}, position);
  EXPECT_EQ(decoder.batch().closing, decoder.batch().opening);
}

TEST_F(RingDecoderTest, AnAsyncEndWithoutStartIsReportedOnceAllRingsWereRead) {
  const uint32_t id = add_class("request");
  begin_thread(1);
  put(10, Kind::AsyncBegin, id, {101});
  put(11, Kind::AsyncEnd, 0, {101});
  put(12, Kind::AsyncEnd, 0, {101});
  EXPECT_EQ(decode().points.kind,
            (std::vector<PointKind>{PointKind::AsyncBegin, PointKind::AsyncEnd, PointKind::AsyncEnd}));
  EXPECT_TRUE(handles.unknown_ends().empty());
  const auto unknown = handles.unknown_ends();
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].cause, LossCause::UnknownRange);
}

TEST_F(RingDecoderTest, BlockedTimeIsASeparateRange) {
  begin_thread(1);
  put(50, Kind::Blocked, 0, {20});
  const auto& batch = decode();
  EXPECT_EQ(batch.ranges.class_id, (std::vector<uint32_t>{kBlockedClass}));
  EXPECT_EQ(batch.ranges.duration, (std::vector<uint64_t>{30}));
  EXPECT_EQ(decoder.blocked_ticks(), 30u);
}

TEST_F(RingDecoderTest, RandomBytesDoNotCrash) {
  const kymo_arg text{"s", {}, 0, KYMO_STRING}, real{nullptr, {}, 0, KYMO_DOUBLE};
  add_class("a", {text, real});
  add_class("b");
  std::mt19937_64 random(5);
  for (int round = 0; round < 2000; ++round) {
    for (int i = 0; i < 64; ++i) put_cell(random(), (random() % 24) | (random() % 6) << 8 | (random() % 4) << 32);
    while (position < head) {
      const auto& batch = decode();
      ASSERT_EQ(batch.ranges.end.size(), batch.ranges.depth.size());
      ASSERT_EQ(batch.points.time.size(), batch.points.id.size());
    }
    decoder.take_losses();
  }
}

TEST(ClassTableTest, DamagedEntriesAreIgnored) {
  auto registry = std::make_unique<record::Registry>();
  const kymo_label label{"name", "cat", 4, 3, 0};
  const uint32_t id = record::find_class(*registry, label, nullptr, 0, record::signature_of(label, nullptr, 0));
  reinterpret_cast<record::ClassEntry*>(registry->arena)->bytes = 0x7fffffff;
  ClassTable table;
  table.update(*registry);
  EXPECT_EQ(table.find(id), nullptr);
  registry->offsets[id] = 0xfffffff1;
  table.update(*registry);
  EXPECT_EQ(table.find(id), nullptr);
}

}  // namespace
}  // namespace kymo::collect
