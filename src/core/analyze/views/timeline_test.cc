#include "analyze/views/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "trace/test_recorder.h"

namespace kymo::views {
namespace {

using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

class TimelineTest : public ::testing::Test {
 protected:
  TestRecorder make() {
    TestRecorder recorder(path);
    recorder.add_thread(1, 101, "main");
    recorder.add_thread(2, 102, "worker");
    recorder.add_class(1, "load");
    recorder.add_class(2, "step {}", "", {{"", trace::FieldType::Int}});
    return recorder;
  }
  // Of the whole trace.
  Timeline make_whole(size_t columns, uint16_t depth = 0, const std::vector<std::string>& tracks = {}) {
    const trace::Reader reader(path);
    const convert::TraceTimes times(reader);
    TimelineOptions options;
    options.columns = columns;
    options.depth = depth;
    options.to_ns = times.length_ns();
    return make_timeline(reader, times, convert::TrackChoice(reader, tracks), options);
  }

  TemporaryFolder folder;
  std::string path = folder / "t.kymo";
};

TEST_F(TimelineTest, ColumnHasTheShareOfTimeAndTheBusiestName) {
  TestRecorder recorder = make();
  recorder.complete(1, 0, 100, 1);
  recorder.complete(1, 150, 170, 1);
  recorder.complete(1, 180, 190, 2);
  recorder.complete(1, 350, 400, 1);
  recorder.close();
  const Timeline timeline = make_whole(4);
  ASSERT_EQ(timeline.rows.size(), 1u);
  const TimelineRow& row = timeline.rows[0];
  EXPECT_EQ(row.process, "train (100)");
  EXPECT_EQ(row.track, "main");
  EXPECT_EQ(row.columns, (std::vector<double>{1, 0.3, 0, 0.5}));
  EXPECT_EQ(row.names, (std::vector<std::string>{"load", "load", "", "load"}));
  EXPECT_DOUBLE_EQ(row.busy, 0.45);
}

// The worker waits in the second quarter. The samples of the main thread, which has ranges, have no row.
TEST_F(TimelineTest, SampledThreadWithoutRangesIsBusyWhileItRuns) {
  TestRecorder recorder = make();
  recorder.complete(1, 0, 400, 1);
  recorder.close();
  TestRecorder samples(path, 2, 100, trace::Writer::Mode::Append);
  samples.add_thread(1, 101, "main");
  samples.add_thread(2, 102, "worker");
  samples.add_class(1, "sample", "cpu", {{"node", trace::FieldType::UInt}});
  samples.add_class(2, "on CPU", "cpu", {{"ns", trace::FieldType::UInt}});
  samples.add_class(3, "off CPU", "cpu", {{"ns", trace::FieldType::UInt}, {"preempted", trace::FieldType::Bool}});
  samples.point(1, 400, trace::PointKind::Sample, 2, 0, {int64_t{400}});
  samples.point(2, 100, trace::PointKind::Sample, 3, 0, {int64_t{50}, int64_t{0}});
  samples.point(2, 150, trace::PointKind::Sample, 3, 0, {int64_t{50}, int64_t{1}});
  samples.point(2, 400, trace::PointKind::Sample, 2, 0, {int64_t{300}});
  samples.close();
  const trace::Reader reader(path);
  const convert::TraceTimes times(reader);
  TimelineOptions options;
  options.columns = 4;
  options.to_ns = times.length_ns();
  const Timeline timeline = make_timeline(reader, times, convert::TrackChoice(reader, {}), options,
                                          analyze::read_thread_states(reader).threads);
  ASSERT_EQ(timeline.rows.size(), 2u);
  EXPECT_FALSE(timeline.rows[0].is_sampled);
  EXPECT_EQ(timeline.rows[1].track, "worker");
  EXPECT_TRUE(timeline.rows[1].is_sampled);
  EXPECT_EQ(timeline.rows[1].columns, (std::vector<double>{1, 0, 1, 1}));
  EXPECT_EQ(timeline.rows[1].ready, (std::vector<double>{0, 0.5, 0, 0}));
  EXPECT_TRUE(timeline.rows[0].ready.empty());
}

TEST_F(TimelineTest, SampledThreadThatWaitsInRangesIsNotBusy) {
  TestRecorder recorder = make();
  recorder.add_class(3, "wait for mutex", "wait");
  recorder.complete(1, 0, 400, 1);
  recorder.complete(2, 100, 200, 3);
  recorder.begin(2, 300, 3);
  recorder.close();
  TestRecorder samples(path, 2, 100, trace::Writer::Mode::Append);
  for (const uint32_t track : {1u, 2u}) samples.add_thread(track, 100 + track, track == 1 ? "main" : "worker");
  samples.add_class(1, "sample", "cpu", {{"node", trace::FieldType::UInt}});
  samples.add_class(2, "on CPU", "cpu", {{"ns", trace::FieldType::UInt}});
  samples.add_class(3, "off CPU", "cpu", {{"ns", trace::FieldType::UInt}, {"preempted", trace::FieldType::Bool}});
  samples.point(2, 100, trace::PointKind::Sample, 3, 0, {int64_t{100}, int64_t{0}});
  samples.point(2, 300, trace::PointKind::Sample, 3, 0, {int64_t{100}, int64_t{0}});
  samples.point(2, 400, trace::PointKind::Sample, 2, 0, {int64_t{200}});
  samples.close();
  const trace::Reader reader(path);
  const convert::TraceTimes times(reader);
  TimelineOptions options;
  options.columns = 4;
  options.to_ns = times.length_ns();
  const Timeline timeline = make_timeline(reader, times, convert::TrackChoice(reader, {}), options,
                                          analyze::read_thread_states(reader).threads);
  ASSERT_EQ(timeline.rows.size(), 2u);
  EXPECT_EQ(timeline.rows[0].columns, (std::vector<double>{1, 1, 1, 1}));
  EXPECT_EQ(timeline.rows[1].columns, (std::vector<double>{1, 0, 1, 0}));
  EXPECT_EQ(timeline.rows[1].names, (std::vector<std::string>{"", "wait for mutex", "", "wait for mutex"}));
}

TEST_F(TimelineTest, LongRangesHaveBlocksWithTheirTexts) {
  TestRecorder recorder = make();
  recorder.begin(1, 0, 2, {int64_t{7}});
  recorder.end(1, 695);
  recorder.begin(1, 700, 1);
  recorder.end(1, 750);
  recorder.begin(1, 800, 2, {int64_t{8}});
  recorder.point(2, 2'000, trace::PointKind::Instant, 1);
  recorder.close();
  const Timeline timeline = make_whole(20);
  const TimelineRow& row = timeline.rows.at(0);
  ASSERT_EQ(row.blocks.size(), 2u);
  EXPECT_EQ(row.blocks[0].name, "step 7");
  EXPECT_EQ(row.blocks[0].first, 0u);
  EXPECT_EQ(row.blocks[0].last, 6u);
  EXPECT_FALSE(row.blocks[0].unfinished);
  EXPECT_EQ(row.blocks[1].name, "step 8");
  EXPECT_EQ(row.blocks[1].first, 8u);
  EXPECT_EQ(row.blocks[1].last, 19u);
  EXPECT_TRUE(row.blocks[1].unfinished);
  EXPECT_NEAR(row.busy, (695 + 50 + 1200) / 2000.0, 1e-9);
  EXPECT_EQ(timeline.rows.at(1).busy, 0);
}

TEST_F(TimelineTest, DepthSelectsTheRanges) {
  TestRecorder recorder = make();
  recorder.begin(1, 0, 1);
  recorder.begin(1, 50, 2, {int64_t{1}});
  recorder.end(1, 100);
  recorder.end(1, 100);
  recorder.close();
  EXPECT_DOUBLE_EQ(make_whole(2, 0).rows.at(0).busy, 1);
  EXPECT_EQ(make_whole(2, 1).rows.at(0).columns, (std::vector<double>{0, 1}));
  EXPECT_EQ(make_whole(2, 2).rows.at(0).busy, 0);
}

TEST_F(TimelineTest, OnlyChosenTracksAreShown) {
  TestRecorder recorder = make();
  recorder.complete(1, 0, 100, 1);
  recorder.complete(2, 0, 100, 1);
  recorder.close();
  const Timeline timeline = make_whole(2, 0, {"work*"});
  ASSERT_EQ(timeline.rows.size(), 1u);
  EXPECT_EQ(timeline.rows[0].track, "worker");
}

TEST_F(TimelineTest, WhatHangsIsShownUntilItsProcessWasLastSeenAlive) {
  TestRecorder recorder = make();
  recorder.begin(1, 100, 1);
  recorder.begin(1, 150, 2, {int64_t{7}});
  recorder.cut(1);
  recorder.file().ending(recorder.id(), {1'100});
  recorder.close();
  const trace::Reader reader(path);
  const convert::TraceTimes times(reader);
  TimelineOptions options;
  options.columns = 10;
  options.to_ns = length_with_unfinished(reader, times);
  EXPECT_EQ(options.to_ns, 1'000u);
  const Timeline timeline = make_timeline(reader, times, convert::TrackChoice(reader, {}), options);
  ASSERT_EQ(timeline.rows.size(), 1u);
  const TimelineRow& row = timeline.rows[0];
  EXPECT_DOUBLE_EQ(row.busy, 1);
  EXPECT_DOUBLE_EQ(row.busy_ns, 1'000);
  ASSERT_EQ(row.blocks.size(), 1u);
  EXPECT_TRUE(row.blocks[0].unfinished);
  ASSERT_EQ(row.unfinished.size(), 2u);
  EXPECT_EQ(row.unfinished[1].name, "step 7");
  EXPECT_EQ(row.unfinished[1].begin_ns, 50);
  EXPECT_EQ(row.unfinished[1].end_ns, 1'000);
}

TEST_F(TimelineTest, RangesOnLanesAreCountedOnceWhereTheyOverlap) {
  TestRecorder recorder = make();
  recorder.complete(1, 20, 40, 1, 0, 1);
  recorder.complete(1, 0, 60, 1);
  recorder.complete(1, 50, 100, 1, 0, 1);
  recorder.complete(1, 199, 200, 1);
  recorder.close();
  EXPECT_EQ(make_whole(2).rows.at(0).columns, (std::vector<double>{1, 0.01}));
}

TEST_F(TimelineTest, ManyChunksInAColumnAreAddedUp) {
  TestRecorder recorder = make();
  for (uint64_t i = 0; i < 1'000; ++i) {
    recorder.complete(1, 10 * i, 10 * i + 5, 1);
    recorder.cut(1);
  }
  recorder.complete(1, 9'999, 10'000, 1);
  recorder.close();
  const Timeline timeline = make_whole(10);
  for (size_t column = 0; column < 10; ++column) {
    EXPECT_NEAR(timeline.rows.at(0).columns[column], 0.5, 0.002);
    EXPECT_EQ(timeline.rows.at(0).names[column], "load");
  }
}

// The definition, one nanosecond at a time.
TEST_F(TimelineTest, RandomTracesFollowTheDefinition) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    TestRecorder recorder = make();
    constexpr uint64_t kLength = 4'000;
    std::vector<bool> busy(kLength);
    recorder.complete(1, 0, 1, 1);
    busy[0] = true;
    uint64_t time = 1;
    while (true) {
      const uint64_t start = time + random() % 40, end = start + random() % 90;
      if (end >= kLength - 1) break;
      recorder.complete(1, start, end, 1 + random() % 2);
      std::fill(busy.begin() + static_cast<ptrdiff_t>(start), busy.begin() + static_cast<ptrdiff_t>(end), true);
      time = end;
      if (random() % 4 == 0) recorder.cut(1);
    }
    recorder.complete(1, kLength - 1, kLength, 1);
    busy[kLength - 1] = true;
    recorder.close();
    const size_t columns = 1 + random() % 50;
    const Timeline timeline = make_whole(columns);
    const double width = static_cast<double>(kLength) / static_cast<double>(columns);
    for (size_t column = 0; column < columns; ++column) {
      double expected = 0;
      for (uint64_t ns = 0; ns < kLength; ++ns) {
        const double from = std::max(static_cast<double>(ns), static_cast<double>(column) * width);
        const double to = std::min(static_cast<double>(ns + 1), static_cast<double>(column + 1) * width);
        if (busy[ns] && to > from) expected += to - from;
      }
      ASSERT_NEAR(timeline.rows.at(0).columns[column], expected / width, 1e-6) << round << " " << column;
    }
  }
}

}  // namespace
}  // namespace kymo::views
