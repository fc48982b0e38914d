#include "analyze/stats.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "trace/test_recorder.h"

namespace kymo::analyze {
namespace {

using trace::FieldType;
using trace::PointKind;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

class StatsTest : public ::testing::Test {
 protected:
  TestRecorder make() {
    TestRecorder recorder(path);
    recorder.add_thread(1, 101, "main");
    recorder.add_thread(2, 102, "worker");
    recorder.add_class(1, "outer", "app");
    recorder.add_class(2, "inner", "app");
    recorder.add_class(3, "step {}", "train", {{"", FieldType::Int}});
    recorder.add_class(4, "heap", "", {{"", FieldType::Int}});
    recorder.add_class(5, "load", "", {{"", FieldType::Double}});
    return recorder;
  }
  Statistics compute(const StatsOptions& options = {}) { return compute_statistics(trace::Reader(path), options); }
  static const RangeRow& row(const Statistics& statistics, const std::string& name) {
    for (const RangeRow& row : statistics.ranges) {
      if (row.name == name) return row;
    }
    ADD_FAILURE() << "no row " << name;
    static const RangeRow none;
    return none;
  }

  TemporaryFolder folder;
  std::string path = folder / "t.kymo";
};

TEST_F(StatsTest, TotalsAndSelfTimesAreComputed) {
  TestRecorder recorder = make();
  recorder.begin(1, 0, 1);
  recorder.begin(1, 10, 2);
  recorder.end(1, 30);
  recorder.begin(1, 40, 2);
  recorder.end(1, 50);
  recorder.end(1, 100);
  recorder.close();
  const Statistics statistics = compute();
  ASSERT_EQ(statistics.ranges.size(), 2u);
  const RangeRow& outer = statistics.ranges[0];
  EXPECT_EQ(outer.name, "outer");
  EXPECT_EQ(outer.category, "app");
  EXPECT_EQ(outer.total_ns, 100u);
  EXPECT_EQ(outer.self_ns, 70u);
  const RangeRow& inner = statistics.ranges[1];
  EXPECT_EQ(inner.count, 2u);
  EXPECT_EQ(inner.total_ns, 30u);
  EXPECT_EQ(inner.self_ns, 30u);
  EXPECT_EQ(inner.min_ns, 10u);
  EXPECT_EQ(inner.median_ns, 15u);
  EXPECT_EQ(inner.p99_ns, 20u);
  EXPECT_EQ(inner.max_ns, 20u);
  EXPECT_FALSE(inner.approximate);
}

// The thread runs from 0 to 1,000, waits until 3,000, runs, is ready from 4,000 to 4,500, and runs until 5,000.
TEST_F(StatsTest, RangesHaveTheStatesOfTheirThread) {
  TestRecorder recorder = make();
  recorder.add_class(6, "sample", "cpu", {{"node", FieldType::UInt}});
  recorder.add_class(7, "on CPU", "cpu", {{"ns", FieldType::UInt}});
  recorder.add_class(8, "off CPU", "cpu", {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}});
  recorder.point(1, 0, PointKind::Sample, 6, 0, {int64_t{1}});
  recorder.begin(1, 0, 1);
  recorder.begin(1, 500, 2);
  recorder.point(1, 1'000, PointKind::Sample, 8, 0, {int64_t{2'000}, int64_t{0}});
  recorder.end(1, 2'500);
  recorder.cut(1);
  recorder.begin(1, 3'500, 2);
  recorder.point(1, 4'000, PointKind::Sample, 8, 0, {int64_t{500}, int64_t{1}});
  recorder.end(1, 4'700);
  recorder.end(1, 5'000);
  recorder.point(1, 5'000, PointKind::Sample, 7, 0, {int64_t{2'500}});
  recorder.begin(1, 5'000, 4);  // never ends
  recorder.begin(2, 100, 3, {int64_t{1}});
  recorder.end(2, 200);
  recorder.close();

  EXPECT_FALSE(row(compute(), "outer").has_states);
  const StatesOfThreads states = read_thread_states(trace::Reader(path));
  const Statistics statistics = compute({.states = &states});
  const RangeRow& outer = row(statistics, "outer");
  ASSERT_EQ(states.threads.size(), 1u);
  EXPECT_EQ(outer.in_state, (StateTimes::Times{2'500, 2'000, 500}));
  EXPECT_EQ(outer.in_state[0], states.threads[0].running_ns);
  EXPECT_EQ(outer.in_state[1], states.threads[0].waiting_ns);
  EXPECT_EQ(outer.in_state[2], states.threads[0].preempted_ns);
  EXPECT_EQ(row(statistics, "inner").in_state, (StateTimes::Times{1'200, 1'500, 500}));
  EXPECT_TRUE(row(statistics, "heap").has_states);
  EXPECT_EQ(row(statistics, "heap").in_state, StateTimes::Times());
  EXPECT_FALSE(row(statistics, "step {}").has_states);
}

TEST_F(StatsTest, SelfTimeWorksAcrossChunksAndThreadsDoNotMix) {
  TestRecorder recorder = make();
  recorder.begin(1, 0, 1);
  for (uint64_t i = 0; i < 10; ++i) {
    recorder.begin(1, 100 * i, 2);
    recorder.end(1, 100 * i + 30);
    recorder.cut(1);
    recorder.begin(2, 100 * i, 2);
    recorder.end(2, 100 * i + 5);
    recorder.cut(2);
  }
  recorder.end(1, 1000);
  recorder.close();
  EXPECT_EQ(row(compute(), "outer").self_ns, 700u);
}

TEST_F(StatsTest, MissingChunkDoesNotMoveChildrenToAnotherParent) {
  TestRecorder recorder = make();
  recorder.begin(1, 0, 1);
  recorder.begin(1, 10, 2);
  recorder.end(1, 60);
  recorder.cut(1);
  recorder.end(1, 70);
  recorder.lose(1);
  recorder.begin(1, 100, 1);
  recorder.end(1, 200);
  recorder.close();
  const Statistics statistics = compute();
  EXPECT_EQ(row(statistics, "outer").self_ns, 100u);
  const auto lost = std::ranges::find_if(statistics.ranges, [](const RangeRow& one) { return one.unfinished; });
  ASSERT_NE(lost, statistics.ranges.end()) << "its end was lost: it counts until the last event before";
  EXPECT_EQ(lost->total_ns, 60u);
  EXPECT_EQ(lost->self_ns, 10u);
}

TEST_F(StatsTest, RowsAreGroupedByClassOrByFullText) {
  TestRecorder recorder = make();
  for (int64_t i = 0; i < 4; ++i) {
    recorder.begin(1, 100 * static_cast<uint64_t>(i), 3, {i % 2});
    recorder.end(1, 100 * static_cast<uint64_t>(i) + 10);
  }
  recorder.close();
  EXPECT_EQ(row(compute(), "step {}").count, 4u);
  StatsOptions options;
  options.full_text = true;
  const Statistics statistics = compute(options);
  EXPECT_EQ(statistics.ranges.size(), 2u);
  EXPECT_EQ(row(statistics, "step 1").count, 2u);
}

TEST_F(StatsTest, InlineNamesHaveTheirOwnRows) {
  TestRecorder recorder = make();
  recorder.begin(1, 0, trace::kInlineName, {"made up"});
  recorder.begin(1, 1, 3, {int64_t{5}});
  recorder.end(1, 4);
  recorder.end(1, 10);
  recorder.close();
  const Statistics statistics = compute();
  EXPECT_EQ(row(statistics, "made up").self_ns, 7u);
  EXPECT_EQ(row(statistics, "step {}").count, 1u);
}

TEST_F(StatsTest, SameNameInTwoProcessesIsOneRow) {
  for (uint8_t writer : {1, 2}) {
    TestRecorder recorder(path, writer, 100u + writer,
                          writer == 1 ? trace::Writer::Mode::Create : trace::Writer::Mode::Append);
    recorder.add_thread(1, 101, "main");
    recorder.add_class(writer, "outer", "app");
    recorder.begin(1, 0, writer);
    recorder.end(1, 10u * writer);
    recorder.close();
  }
  const Statistics statistics = compute();
  ASSERT_EQ(statistics.ranges.size(), 1u);
  EXPECT_EQ(statistics.ranges[0].count, 2u);
  EXPECT_EQ(statistics.ranges[0].total_ns, 30u);
  EXPECT_EQ(statistics.ranges[0].median_ns, 15u);
}

TEST_F(StatsTest, RowsAreGroupedByThreadOrByCategory) {
  TestRecorder recorder = make();
  recorder.begin(1, 0, 1);
  recorder.begin(1, 0, 3, {int64_t{1}});
  recorder.end(1, 40);
  recorder.end(1, 100);
  recorder.begin(2, 0, 2);
  recorder.end(2, 10);
  recorder.close();
  StatsOptions options;
  options.group_by = GroupBy::Thread;
  const Statistics by_thread = compute(options);
  EXPECT_EQ(row(by_thread, "main").count, 2u);
  EXPECT_EQ(row(by_thread, "main").self_ns, 100u);
  EXPECT_EQ(row(by_thread, "worker").tid, 102u);
  EXPECT_EQ(row(by_thread, "worker").pid, 100u);
  options.group_by = GroupBy::Category;
  const Statistics by_category = compute(options);
  EXPECT_EQ(row(by_category, "app").total_ns, 110u);
  EXPECT_EQ(row(by_category, "train").total_ns, 40u);
}

TEST_F(StatsTest, RangesAcrossThreadsAreMatchedInAnyOrder) {
  TestRecorder recorder = make();
  recorder.point(2, 50, PointKind::AsyncEnd, 1, 1);
  recorder.cut(2);
  recorder.point(1, 10, PointKind::AsyncBegin, 1, 1);
  recorder.point(1, 20, PointKind::AsyncBegin, 1, 2);
  recorder.point(1, 30, PointKind::AsyncEnd, 1, 99);
  recorder.close();
  const Statistics statistics = compute();
  ASSERT_EQ(statistics.ranges.size(), 2u);
  EXPECT_TRUE(statistics.ranges[0].across_threads);
  EXPECT_EQ(statistics.ranges[0].total_ns, 40u);
  EXPECT_EQ(statistics.ranges[0].self_ns, 40u);
  EXPECT_TRUE(statistics.ranges[1].across_threads);
  EXPECT_TRUE(statistics.ranges[1].unfinished);
  EXPECT_EQ(statistics.ranges[1].total_ns, 30u) << "from 20 to the last event, at 50";
  EXPECT_EQ(statistics.unfinished, 1u);
  EXPECT_EQ(statistics.unmatched_ends, 1u);
}

TEST_F(StatsTest, InstantsAndCountersHaveRows) {
  TestRecorder recorder = make();
  recorder.point(1, 10, PointKind::Instant, 1);
  recorder.point(1, 20, PointKind::Instant, 1);
  recorder.point(1, 30, PointKind::Counter, 4, 0, {int64_t{-5}});
  recorder.point(1, 40, PointKind::Counter, 4, 0, {int64_t{9}});
  recorder.point(2, 35, PointKind::Counter, 4, 0, {int64_t{2}});
  recorder.point(1, 50, PointKind::Counter, 5, 0, {0.5});
  recorder.point(1, 60, PointKind::FlowBegin, 1, 3);
  recorder.close();
  const Statistics statistics = compute();
  ASSERT_EQ(statistics.instants.size(), 1u);
  EXPECT_EQ(statistics.instants[0].count, 2u);
  ASSERT_EQ(statistics.counters.size(), 2u);
  const CounterRow& heap = statistics.counters[0];
  EXPECT_EQ(heap.min, -5);
  EXPECT_EQ(heap.max, 9);
  EXPECT_EQ(heap.mean, 2);
  EXPECT_EQ(heap.last, 9) << "the latest in time, not in the file";
  EXPECT_EQ(statistics.counters[1].last, 0.5);
  EXPECT_EQ(statistics.other_points, 1u);
}

TEST_F(StatsTest, UnfinishedRangesHaveTheirOwnRows) {
  TestRecorder recorder = make();
  recorder.begin(1, 0, 1);
  recorder.end(1, 5);
  recorder.begin(1, 10, 1);
  recorder.begin(1, 20, 2);
  recorder.end(1, 30);
  recorder.begin(1, 40, 2);
  recorder.point(2, 100, PointKind::Instant, 1);
  recorder.close();
  const Statistics statistics = compute();
  EXPECT_EQ(statistics.unfinished, 2u);
  ASSERT_EQ(statistics.ranges.size(), 4u);
  const RangeRow& outer = statistics.ranges[0];
  EXPECT_TRUE(outer.unfinished);
  EXPECT_EQ(outer.total_ns, 90u) << "until the last sign of life of its process";
  EXPECT_EQ(outer.self_ns, 20u) << "without 10 of a range that ended, and 60 of one that did not";
  EXPECT_EQ(outer.max_ns, 0u);
  EXPECT_TRUE(statistics.ranges[1].unfinished);
  EXPECT_EQ(statistics.ranges[1].total_ns, 60u);
  EXPECT_FALSE(statistics.ranges[3].unfinished);
  EXPECT_EQ(statistics.ranges[3].max_ns, 5u) << "what has not ended is in no maximum";
}

TEST_F(StatsTest, WhereLanesOverlapTheRangeThatBeganLastCounts) {
  TestRecorder recorder = make();
  recorder.complete(1, 5, 10, 2, 1, 0);
  recorder.complete(1, 6, 12, 2, 1, 1);
  recorder.complete(1, 0, 20, 1, 0, 0);
  recorder.complete(1, 1, 30, 3, 0, 1);
  recorder.close();
  const Statistics statistics = compute();
  EXPECT_EQ(row(statistics, "outer").self_ns, 1u);
  EXPECT_EQ(row(statistics, "inner").self_ns, 7u);
  EXPECT_EQ(row(statistics, "step {}").self_ns, 22u);
  EXPECT_EQ(row(statistics, "step {}").total_ns, 29u);
  EXPECT_EQ(row(statistics, "inner").count, 2u);
}

// The file has the depth 65,535 for all that is deeper.
TEST_F(StatsTest, RangesBelowTheDeepestDepthOfAFileNestByTheirTimes) {
  TestRecorder recorder = make();
  recorder.complete(1, 30, 40, 2, UINT16_MAX, 0);
  recorder.complete(1, 20, 70, 3, UINT16_MAX, 0);
  recorder.complete(1, 0, 100, 1, UINT16_MAX, 0);
  recorder.close();
  const Statistics statistics = compute();
  EXPECT_EQ(row(statistics, "outer").self_ns, 50u);
  EXPECT_EQ(row(statistics, "step {}").self_ns, 40u);
}

TEST_F(StatsTest, QuantilesOfTooManyRangesAreMarkedAsApproximate) {
  TestRecorder recorder = make();
  for (uint64_t i = 0; i < 5000; ++i) {
    recorder.begin(1, 10'000 * i, 1);
    recorder.end(1, 10'000 * i + i + 1);
  }
  recorder.close();
  StatsOptions options;
  options.exact_per_name = 1000;
  const Statistics statistics = compute(options);
  const RangeRow& outer = row(statistics, "outer");
  EXPECT_TRUE(outer.approximate);
  EXPECT_GT(outer.relative_error, 0);
  EXPECT_NEAR(static_cast<double>(outer.median_ns), 2500, 2500 * outer.relative_error);
  EXPECT_EQ(outer.min_ns, 1u);
  EXPECT_EQ(outer.max_ns, 5000u);
  EXPECT_EQ(outer.total_ns, 5000u * 5001 / 2);
}

TEST_F(StatsTest, DamagedChunksAreSkippedAndListed) {
  TestRecorder recorder = make();
  for (uint64_t chunk = 0; chunk < 3; ++chunk) {
    recorder.begin(1, 100 * chunk, 1);
    recorder.end(1, 100 * chunk + 10);
    recorder.cut(1);
  }
  recorder.close();
  const trace::EventChunk damaged = trace::Reader(path).event_chunks()[1];
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(damaged.offset + damaged.length - 12));
  file.write("damage", 6);
  file.close();
  const Statistics statistics = compute();
  EXPECT_EQ(row(statistics, "outer").count, 2u);
  ASSERT_EQ(statistics.problems.size(), 1u);
  EXPECT_EQ(statistics.problems[0].offset, damaged.offset);
}

TEST_F(StatsTest, EmptyTraceHasNoRows) {
  make().close();
  EXPECT_TRUE(compute().ranges.empty());
}

TEST_F(StatsTest, DeviceWorkIsSeparateFromHostWork) {
  TestRecorder recorder = make();
  for (const uint32_t id : {3u, 4u}) {
    trace::Track queue;
    queue.id = id;
    queue.kind = trace::TrackKind::DeviceQueue;
    queue.clock = TestRecorder::kClock;
    queue.device_uuid = id == 3 ? "GPU-a" : "GPU-b";
    queue.name = "compute";
    recorder.add_track(queue);
  }
  recorder.complete(1, 0, 10, 1);
  recorder.complete(3, 0, 100, 1);
  recorder.complete(4, 0, 1000, 1);
  recorder.close();
  const Statistics by_name = compute();
  ASSERT_EQ(by_name.ranges.size(), 2u);
  EXPECT_TRUE(by_name.ranges[0].on_device);
  EXPECT_EQ(by_name.ranges[0].total_ns, 1100u);
  EXPECT_FALSE(by_name.ranges[1].on_device);
  EXPECT_EQ(by_name.ranges[1].total_ns, 10u);

  StatsOptions options;
  options.group_by = GroupBy::Thread;
  const Statistics by_thread = compute(options);
  ASSERT_EQ(by_thread.ranges.size(), 3u) << "queues of one name on two devices are two";
  EXPECT_EQ(by_thread.ranges[0].device, "GPU-b");
  EXPECT_EQ(by_thread.ranges[1].device, "GPU-a");
}

TEST_F(StatsTest, IterationsAreOneRowAlsoIfEachHasAName) {
  TestRecorder recorder = make();
  for (uint32_t i = 0; i < 5; ++i) {
    recorder.add_class(20 + i, "ProfilerStep#" + std::to_string(i));
    recorder.complete(1, 100 * i, 100 * i + 10 + i, 20 + i);
  }
  recorder.close();
  const Statistics one_row = compute();
  ASSERT_EQ(one_row.ranges.size(), 1u);
  EXPECT_EQ(one_row.ranges[0].name, "ProfilerStep#{}");
  EXPECT_EQ(one_row.ranges[0].count, 5u);
  EXPECT_EQ(one_row.ranges[0].median_ns, 12u);
  StatsOptions options;
  options.full_text = true;
  EXPECT_EQ(compute(options).ranges.size(), 5u);
}

TEST_F(StatsTest, DefinitionsOfStacksAreNotListed) {
  TestRecorder recorder(path);
  recorder.add_thread(1, 101, "main");
  recorder.add_class(1, "stack node", "kymo.stack", {{"node", FieldType::UInt}});
  recorder.add_class(2, "mark", "app");
  recorder.point(1, 10, PointKind::Instant, 1, 0, {int64_t{16}});
  recorder.point(1, 20, PointKind::Instant, 2);
  recorder.close();
  const Statistics statistics = compute();
  ASSERT_EQ(statistics.instants.size(), 1u);
  EXPECT_EQ(statistics.instants[0].name, "mark");
  EXPECT_EQ(statistics.other_points, 0u);
}

}  // namespace
}  // namespace kymo::analyze
