#include "analyze/summary.h"

#include <gtest/gtest.h>

#include "trace/test_recorder.h"

namespace kymo::analyze {
namespace {

using trace::testing::kRealtimeZero;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

TEST(SummaryTest, DescribesATraceWithoutReadingEvents) {
  TemporaryFolder folder;
  const std::string path = folder / "t.kymo";
  TestRecorder recorder(path);
  recorder.add_thread(1, 101, "main");
  recorder.add_thread(2, 102, "worker");
  recorder.add_class(1, "outer");
  for (uint64_t i = 0; i < 100; ++i) {
    recorder.begin(1, 1000 + 1000 * i, 1);
    recorder.end(1, 1500 + 1000 * i);
  }
  recorder.point(2, 500, trace::PointKind::Instant, 1);
  const trace::Loss losses[] = {{trace::LossCause::UnmatchedPop, 2, 1, 700, 700, ""},
                                {trace::LossCause::RingFull, 1, 12, 2000, 3000, "burst"}};
  recorder.file().losses(recorder.id(), losses);
  const trace::Cost costs[] = {{1, 200, 5'000, 990, 0}, {0, 0, 0, 0, 4444}};
  recorder.file().costs(recorder.id(), costs);
  recorder.close();

  const trace::Reader reader(path);
  const Summary summary = summarise(reader);
  EXPECT_EQ(summary.path, path);
  EXPECT_EQ(summary.file_size, reader.file_size());
  EXPECT_EQ(summary.torn_bytes, 0u);
  EXPECT_TRUE(summary.indexed);
  EXPECT_EQ(summary.ranges, 100u);
  EXPECT_EQ(summary.points, 1u);
  EXPECT_EQ(summary.begin_realtime_ns, static_cast<int64_t>(kRealtimeZero + 500));
  EXPECT_EQ(summary.duration_ns, 100'000u);
  EXPECT_GT(summary.bytes_per_event, 1);

  ASSERT_EQ(summary.processes.size(), 1u);
  const ProcessSummary& process = summary.processes[0];
  EXPECT_EQ(process.origin.pid, 100u);
  EXPECT_EQ(process.collector_cpu_ns, 4444u);
  ASSERT_EQ(process.clocks.size(), 1u);
  EXPECT_EQ(process.clocks[0].error_ns, 20u);
  ASSERT_EQ(process.tracks.size(), 2u);
  const TrackSummary& main = process.tracks[0];
  EXPECT_EQ(main.name, "main");
  EXPECT_EQ(main.ranges, 100u);
  EXPECT_EQ(main.cost_ns, 1000u);
  EXPECT_EQ(main.blocked_ns, 990u);
  EXPECT_DOUBLE_EQ(main.distortion, 1990.0 / 99'500);
  EXPECT_EQ(process.tracks[1].events(), 1u);

  ASSERT_EQ(summary.losses.size(), 2u);
  EXPECT_EQ(summary.lost, 13u);
  EXPECT_EQ(summary.losses[0].cause, trace::LossCause::RingFull);
  EXPECT_EQ(summary.losses[0].track, "main");
  EXPECT_EQ(summary.losses[0].detail, "burst");
  EXPECT_EQ(summary.losses[0].first_realtime_ns, static_cast<int64_t>(kRealtimeZero + 2000));
}

TEST(SummaryTest, TraceWithoutEventsHasNoDuration) {
  TemporaryFolder folder;
  TestRecorder(folder / "t.kymo").close();
  const Summary summary = summarise(trace::Reader(folder / "t.kymo"));
  EXPECT_EQ(summary.events(), 0u);
  EXPECT_EQ(summary.duration_ns, 0u);
  EXPECT_EQ(summary.bytes_per_event, 0);
}

}  // namespace
}  // namespace kymo::analyze
