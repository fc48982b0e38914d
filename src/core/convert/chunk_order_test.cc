#include "convert/chunk_order.h"

#include <gtest/gtest.h>

#include <string>

namespace kymo::convert {
namespace {

struct TestRange {
  uint64_t start, end;
  uint16_t depth;
  uint32_t class_id = 1;
  uint16_t lane = 0;
};

trace::EventBatch batch_of(std::initializer_list<TestRange> ranges, std::initializer_list<uint64_t> points = {}) {
  trace::EventBatch batch;
  bool has_lanes = false;
  for (const TestRange& range : ranges) {
    batch.ranges.end.push_back(range.end);
    batch.ranges.duration.push_back(range.end - range.start);
    batch.ranges.class_id.push_back(range.class_id);
    batch.ranges.depth.push_back(range.depth);
    batch.ranges.lane.push_back(range.lane);
    has_lanes |= range.lane != 0;
  }
  if (!has_lanes) batch.ranges.lane.clear();
  for (const uint64_t time : points) {
    batch.points.time.push_back(time);
    batch.points.kind.push_back(trace::PointKind::Instant);
    batch.points.class_id.push_back(1);
    batch.points.id.push_back(0);
  }
  return batch;
}

trace::OpenRange open_range(uint64_t start, uint32_t class_id = 1) {
  trace::OpenRange open;
  open.start = start;
  open.class_id = class_id;
  return open;
}

// "(" and ")" with the number of the range for begin and end, "." with the number of the point.
std::string text_of(const ChunkOrder& order) {
  std::string text;
  for (const Step& step : order.steps()) {
    text += step.kind == Step::Kind::Begin ? "(" : step.kind == Step::Kind::End ? ")" : ".";
    text += std::to_string(step.index) + " ";
  }
  return text;
}

TEST(ChunkOrderTest, ParentsBeginBeforeTheirChildren) {
  const auto batch = batch_of({{10, 20, 2}, {5, 30, 1}, {31, 32, 1}, {0, 40, 0}, {50, 60, 0}});
  ChunkOrder order;
  order.arrange(batch, {});
  EXPECT_EQ(text_of(order), "(3 (1 (0 )0 )1 (2 )2 )3 (4 )4 ");
}

TEST(ChunkOrderTest, EqualTicksDoNotChangeTheTree) {
  const auto batch = batch_of({{7, 7, 2}, {7, 7, 2}, {7, 7, 1}, {7, 7, 0}, {7, 7, 0}});
  ChunkOrder order;
  order.arrange(batch, {});
  EXPECT_EQ(text_of(order), "(3 (2 (0 )0 (1 )1 )2 )3 (4 )4 ");
}

TEST(ChunkOrderTest, RangesOpenBeforeTheChunkHaveNoBegin) {
  const auto batch = batch_of({{110, 120, 2}, {50, 130, 1}, {140, 150, 1}});
  const std::vector<trace::OpenRange> open = {open_range(10), open_range(50)};
  ChunkOrder order;
  auto with_closing = batch;
  with_closing.closing = {open_range(10)};
  order.arrange(with_closing, open);
  EXPECT_EQ(text_of(order), "(0 )0 )1 (2 )2 ");
  EXPECT_TRUE(order.began_before(1));
  EXPECT_FALSE(order.began_before(0));
  EXPECT_EQ(order.still_open(), 1u);
  EXPECT_EQ(order.kept_open(), 1u);
}

TEST(ChunkOrderTest, RangesLeftOpenBeginAtTheirStart) {
  auto batch = batch_of({{1, 2, 0}, {12, 13, 1}, {21, 22, 2}});
  batch.closing = {open_range(10), open_range(20), open_range(30)};
  ChunkOrder order;
  order.arrange(batch, {});
  EXPECT_EQ(text_of(order), "(0 )0 (3 (1 )1 (4 (2 )2 (5 ");
}

TEST(ChunkOrderTest, OpenRangesThatVanishAreDetected) {
  auto batch = batch_of({{110, 120, 2}});
  batch.closing = {open_range(10), open_range(99)};
  const std::vector<trace::OpenRange> open = {open_range(10), open_range(50)};
  ChunkOrder order;
  order.arrange(batch, open);
  EXPECT_EQ(order.still_open(), 2u);
  EXPECT_EQ(order.kept_open(), 1u);
  EXPECT_EQ(text_of(order), "(2 (0 )0 ");
}

TEST(ChunkOrderTest, PointsAreInsideRangesThatBeginOrEndAtTheSameTick) {
  const auto batch = batch_of({{10, 20, 1}, {5, 30, 0}}, {4, 5, 10, 15, 20, 30, 31});
  ChunkOrder order;
  order.arrange(batch, {});
  EXPECT_EQ(text_of(order), ".0 (1 .1 (0 .2 .3 .4 )0 .5 )1 .6 ");
}

TEST(ChunkOrderTest, LanesAreOrderedSeparately) {
  const auto batch = batch_of({{0, 10, 0, 1, 0}, {6, 7, 1, 1, 1}, {5, 15, 0, 1, 1}, {12, 20, 0, 1, 0}});
  ChunkOrder order;
  order.arrange(batch, {});
  EXPECT_EQ(text_of(order), "(0 )0 (3 )3 ");
  const auto lanes = ChunkOrder::lanes(batch.ranges);
  ASSERT_EQ(lanes.size(), 1u);
  order.arrange_lane(batch, lanes.at(1));
  EXPECT_EQ(text_of(order), "(2 (1 )1 )2 ");
}

TEST(ChunkOrderTest, EmptyBatchGivesNoSteps) {
  ChunkOrder order;
  order.arrange({}, {});
  EXPECT_TRUE(order.steps().empty());
}

}  // namespace
}  // namespace kymo::convert
