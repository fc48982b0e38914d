#include "analyze/loss_text.h"

#include <gtest/gtest.h>

namespace kymo::analyze {
namespace {

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
