#include "analyze/merge/merge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "analyze/report/events.h"
#include "trace/test_recorder.h"

namespace kymo::analyze {
namespace {

using trace::testing::TemporaryFolder;

// A rank with 100 collectives. Its clock is `offset` behind and drifts; `late` is how much later it arrives at each.
// `zero` is what its CLOCK_MONOTONIC has at tick 0, `realtime` what its CLOCK_REALTIME has. `run` decides on the times
// between the collectives.
void write_rank(const std::string& path, uint8_t number, int64_t offset, double drift, uint64_t late,
                const std::string& boot, uint64_t zero = 0, uint64_t realtime = 1'700'000'000'000'000'000,
                unsigned run = 77) {
  trace::Writer writer(path, trace::Writer::Mode::Create);
  trace::WriterId id;
  id.bytes.fill(number);
  trace::Origin origin;
  origin.pid = number;
  origin.boot_id = boot;
  writer.origin(id, origin);
  trace::ClockDomain clock;
  clock.id = 1;
  // The second pair is long before the end of the trace.
  clock.pairs = {{0, zero, realtime, 20}, {1'000'000'000, zero + 1'000'000'000, realtime + 1'000'000'000, 20}};
  writer.clock(id, clock);
  trace::Track track;
  track.id = 1;
  track.kind = trace::TrackKind::DeviceQueue;
  track.clock = 1;
  track.device_uuid = "GPU " + std::to_string(number);
  writer.tracks(id, {&track, 1});
  const trace::EventClass event_class{1, "ncclDevKernel_AllReduce", "kernel", 0, {}};
  writer.classes(id, {&event_class, 1});
  trace::EventBatch batch;
  batch.track = 1;
  std::mt19937 random(run);  // the same for all ranks
  std::mt19937 noise(number);
  int64_t time = 2'000'000'000;
  for (int i = 0; i < 100; ++i) {
    time += static_cast<int64_t>(30'000'000 + random() % 90'000'000);
    const int64_t end = time + 500'000 + static_cast<int64_t>(noise() % 2000),
                  begin = time + static_cast<int64_t>(late);
    const auto own = [&](int64_t at) {
      return static_cast<uint64_t>(at - offset - std::llround(drift * static_cast<double>(at)));
    };
    batch.ranges.end.push_back(own(end));
    batch.ranges.duration.push_back(own(end) - own(begin));
    batch.ranges.class_id.push_back(1);
    batch.ranges.depth.push_back(0);
  }
  batch.sequence_end = batch.ranges.size();
  writer.events(id, batch);
  writer.close();
}

// The ends of all ranges, in order of the file.
std::vector<std::vector<int64_t>> ends(const std::string& path) {
  const trace::Reader reader(path);
  EventWalk walk(reader);
  std::vector<std::vector<int64_t>> all(walk.tracks().size());
  walk.each(
      trace::kRangeTimes, [](const TrackOfTrace&) { return true; },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        for (const uint64_t end : batch.ranges.end) all[track.number].push_back(track.ns(end));
      });
  return all;
}

TEST(MergeTest, PutsRanksOnOneClockWithinTheStatedError) {
  const TemporaryFolder folder;
  write_rank(folder / "0.kymo", 1, 0, 0, 0, "a");
  write_rank(folder / "1.kymo", 2, 11'560'000, 30e-6, 200'000, "b");
  write_rank(folder / "2.kymo", 3, -700'000'000, -50e-6, 100'000, "c");
  std::vector<trace::Reader> readers;
  for (const char* const name : {"0.kymo", "1.kymo", "2.kymo"}) readers.emplace_back(folder / name);
  const std::vector<Rank> ranks = align_ranks(readers, {});
  ASSERT_EQ(ranks.size(), 3u);
  EXPECT_EQ(ranks[0].by, AlignedBy::Reference);
  EXPECT_EQ(ranks[1].by, AlignedBy::Collectives);
  EXPECT_EQ(ranks[1].alignment.moments, 100u);
  EXPECT_NEAR(ranks[1].alignment.drift, 30e-6, 2e-6);
  EXPECT_LT(ranks[1].alignment.error_ns, 10'000u);

  write_merged(readers, ranks, folder / "all.kymo");
  const auto all = ends(folder / "all.kymo");
  ASSERT_EQ(all.size(), 3u);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_LE(std::abs(all[1][i] - all[0][i]), static_cast<int64_t>(ranks[1].alignment.error_ns + 2000));
    EXPECT_LE(std::abs(all[2][i] - all[0][i]), static_cast<int64_t>(ranks[2].alignment.error_ns + 2000));
  }
  // The error is in the file.
  const trace::Reader merged(folder / "all.kymo");
  for (const auto& [id, writer] : merged.writers()) {
    if (writer.origin.pid != 2) continue;
    EXPECT_GE(writer.clocks.at(1).pairs.front().error_ns, ranks[1].alignment.error_ns);
  }

  // The second rank arrives last at every collective.
  EXPECT_EQ(ranks[1].last_at, 100u);
  EXPECT_EQ(ranks[0].last_at + ranks[2].last_at, 0u);
  EXPECT_NEAR(static_cast<double>(ranks[1].others_waited_ns), 100 * (200'000.0 + 100'000.0), 100 * 10'000.0);
}

TEST(MergeTest, ATraceWithTheEventsOfAnotherOneIsItsTwin) {
  const TemporaryFolder folder;
  write_rank(folder / "0.kymo", 1, 0, 0, 0, "a");
  write_rank(folder / "1.kymo", 2, 0, 0, 0, "b");
  std::vector<trace::Reader> readers;
  for (const char* const name : {"0.kymo", "1.kymo", "0.kymo"}) readers.emplace_back(folder / name);
  const std::vector<Rank> ranks = align_ranks(readers, {});
  EXPECT_FALSE(ranks[0].twin || ranks[1].twin);
  EXPECT_EQ(ranks[2].twin, 0u);
}

// CLOCK_MONOTONIC counts from the boot, and in imported traces from anywhere: its offset says nothing to people.
TEST(MergeTest, TheOffsetOfTheSystemClocksDoesNotDependOnTheBoot) {
  const TemporaryFolder folder;
  write_rank(folder / "0.kymo", 1, 0, 0, 0, "a");
  write_rank(folder / "1.kymo", 2, 11'560'000, 0, 0, "b", 5'000'000'000'000);
  write_rank(folder / "2.kymo", 3, -3'000'000, 0, 0, "c");
  std::vector<trace::Reader> readers;
  for (const char* const name : {"0.kymo", "1.kymo", "2.kymo"}) readers.emplace_back(folder / name);
  const std::vector<Rank> ranks = align_ranks(readers, {});
  EXPECT_FALSE(ranks[0].system_clock_offset_ns);
  ASSERT_TRUE(ranks[1].system_clock_offset_ns && ranks[2].system_clock_offset_ns);
  EXPECT_NEAR(static_cast<double>(*ranks[1].system_clock_offset_ns), 11'560'000, 5'000);
  EXPECT_NEAR(static_cast<double>(*ranks[2].system_clock_offset_ns), -3'000'000, 5'000);
  EXPECT_FALSE(align_ranks(readers, {.mark = "no such mark"})[1].system_clock_offset_ns);
}

// Imported times since 1970 have clock pairs at 1970, where a drift of 30 ppm is 14 hours.
TEST(MergeTest, ClockPairsFarFromTheEventsDoNotMoveThem) {
  constexpr int64_t kStart = 1'700'000'000'000'000'000;
  const TemporaryFolder folder;
  write_rank(folder / "0.kymo", 1, -kStart, 0, 0, "", 0, 0);
  write_rank(folder / "1.kymo", 2, 1'000'000 - kStart, 30e-6, 0, "", 0, 0);
  std::vector<trace::Reader> readers;
  for (const char* const name : {"0.kymo", "1.kymo"}) readers.emplace_back(folder / name);
  const std::vector<Rank> ranks = align_ranks(readers, {});
  EXPECT_NEAR(ranks[1].alignment.drift, 30e-6, 2e-6);
  write_merged(readers, ranks, folder / "all.kymo");
  const auto all = ends(folder / "all.kymo"), before = ends(folder / "0.kymo");
  EXPECT_EQ(all[0], before[0]);
  for (size_t i = 0; i < 100; ++i)
    EXPECT_LE(std::abs(all[1][i] - all[0][i]), static_cast<int64_t>(ranks[1].alignment.error_ns + 2000));
}

TEST(MergeTest, TracesOfOneHostKeepTheirDistances) {
  const TemporaryFolder folder;
  write_rank(folder / "0.kymo", 1, 0, 0, 0, "a");
  write_rank(folder / "1.kymo", 2, 11'560'000, 30e-6, 0, "b");
  write_rank(folder / "2.kymo", 3, 11'560'000, 30e-6, 0, "b");
  std::vector<trace::Reader> readers;
  for (const char* const name : {"0.kymo", "1.kymo", "2.kymo"}) readers.emplace_back(folder / name);
  const std::vector<Rank> ranks = align_ranks(readers, {});
  EXPECT_EQ(ranks[2].by, AlignedBy::Collectives);
  EXPECT_EQ(ranks[2].through, 1u);
  EXPECT_EQ(ranks[2].alignment.to_reference(5'000'000'000), ranks[1].alignment.to_reference(5'000'000'000));
}

// The same collectives an hour later, with other times between them.
TEST(MergeTest, AnotherRunStaysWhereItsSystemClockIs) {
  const TemporaryFolder folder;
  write_rank(folder / "0.kymo", 1, 0, 0, 0, "a");
  write_rank(folder / "1.kymo", 2, -3'600'000'000'000, 0, 0, "b", 0, 1'700'000'000'000'000'000, 78);
  std::vector<trace::Reader> readers;
  for (const char* const name : {"0.kymo", "1.kymo"}) readers.emplace_back(folder / name);
  const std::vector<Rank> ranks = align_ranks(readers, {});
  EXPECT_EQ(ranks[1].by, AlignedBy::SystemClock);
  EXPECT_NE(ranks[1].reason.find("same run"), std::string::npos) << ranks[1].reason;
  EXPECT_EQ(ranks[0].collectives, 0u);
}

TEST(MergeTest, TheSameBootIsExact) {
  const TemporaryFolder folder;
  write_rank(folder / "0.kymo", 1, 0, 0, 0, "a");
  write_rank(folder / "1.kymo", 2, 0, 0, 0, "a");
  std::vector<trace::Reader> readers;
  for (const char* const name : {"0.kymo", "1.kymo"}) readers.emplace_back(folder / name);
  const std::vector<Rank> ranks = align_ranks(readers, {});
  EXPECT_EQ(ranks[1].by, AlignedBy::SameBoot);
  write_merged(readers, ranks, folder / "all.kymo");
  EXPECT_EQ(ends(folder / "all.kymo")[1], ends(folder / "1.kymo")[0]);
}

TEST(MergeTest, WithoutCollectivesTheErrorIsUnknown) {
  const TemporaryFolder folder;
  write_rank(folder / "0.kymo", 1, 0, 0, 0, "a");
  write_rank(folder / "1.kymo", 2, 0, 0, 0, "b");
  std::vector<trace::Reader> readers;
  for (const char* const name : {"0.kymo", "1.kymo"}) readers.emplace_back(folder / name);
  const std::vector<Rank> ranks = align_ranks(readers, {.mark = "no such mark"});
  EXPECT_EQ(ranks[1].by, AlignedBy::SystemClock);
  EXPECT_EQ(ranks[1].alignment.error_ns, kUnknownError);
}

}  // namespace
}  // namespace kymo::analyze
