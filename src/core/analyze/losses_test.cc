#include "analyze/losses.h"

#include <gtest/gtest.h>

namespace kymo::analyze {
namespace {

LossSummary loss_at(int64_t ns, const std::string& track, uint64_t count = 1) {
  LossSummary loss;
  loss.cause = trace::LossCause::UnknownRange;
  loss.pid = 42;
  loss.track = track;
  loss.count = count;
  loss.first_realtime_ns = loss.last_realtime_ns = ns;
  return loss;
}

TEST(LossGroupsTest, ThousandEqualLossesAreOneGroup) {
  std::vector<LossSummary> losses;
  for (int64_t i = 0; i < 1000; ++i) losses.push_back(loss_at(5000 - i, "worker"));
  const auto groups = group_losses(losses, LossGroups::ByTrack);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].count, 1000u);
  EXPECT_EQ(groups[0].track, "worker");
  EXPECT_EQ(groups[0].tracks, 1u);
  EXPECT_EQ(groups[0].first_realtime_ns, 4001);
  EXPECT_EQ(groups[0].last_realtime_ns, 5000);
}

TEST(LossGroupsTest, TracksAreCombinedOnlyByProcess) {
  const std::vector<LossSummary> losses{loss_at(1, "a"), loss_at(2, "b", 5), loss_at(3, "a")};
  const auto by_track = group_losses(losses, LossGroups::ByTrack);
  ASSERT_EQ(by_track.size(), 2u);
  EXPECT_EQ(by_track[0].track, "b");
  EXPECT_EQ(by_track[1].count, 2u);
  const auto by_process = group_losses(losses, LossGroups::ByProcess);
  ASSERT_EQ(by_process.size(), 1u);
  EXPECT_EQ(by_process[0].count, 7u);
  EXPECT_EQ(by_process[0].tracks, 2u);
  EXPECT_EQ(by_process[0].track, "");
}

TEST(LossGroupsTest, DifferentCausesProcessesAndDetailsAreSeparate) {
  std::vector<LossSummary> losses(4, loss_at(1, "a"));
  losses[1].cause = trace::LossCause::RingFull;
  losses[2].pid = 43;
  losses[3].detail = "another";
  EXPECT_EQ(group_losses(losses, LossGroups::ByProcess).size(), 4u);
}

TEST(LossGroupsTest, LossWithoutATimeDoesNotChangeTheTimes) {
  const auto groups = group_losses({loss_at(0, "a"), loss_at(7, "a"), loss_at(0, "a")}, LossGroups::ByTrack);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].first_realtime_ns, 7);
  EXPECT_EQ(groups[0].last_realtime_ns, 7);
  EXPECT_EQ(groups[0].count, 3u);
}

LossSummary loss_of(trace::LossCause cause, const char* track, uint64_t count) {
  LossSummary loss;
  loss.cause = cause;
  loss.pid = 42;
  loss.track = track;
  loss.count = count;
  return loss;
}

TEST(LossTextTest, CompleteTraceHasNoLines) { EXPECT_TRUE(loss_lines(Summary()).empty()); }

TEST(LossTextTest, LossesOfOneCauseAreOneLine) {
  Summary summary;
  summary.losses = {loss_of(trace::LossCause::RingFull, "a", 1'000), loss_of(trace::LossCause::RingFull, "b", 24)};
  const std::vector<std::string> lines = loss_lines(summary);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "1,024 events on 2 threads because their rings were full (policy drop)");
}

TEST(LossTextTest, MissingEndIsALine) {
  Summary summary;
  summary.missing = {{42, "train", ""}, {}};
  const std::vector<std::string> lines = loss_lines(summary);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[0].starts_with("the last events of process 42 (train): "));
  EXPECT_TRUE(lines[1].starts_with("the recording was not completed"));
}

}  // namespace
}  // namespace kymo::analyze
