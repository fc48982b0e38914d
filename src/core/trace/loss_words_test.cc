#include "trace/loss_words.h"

#include <gtest/gtest.h>

#include <vector>

namespace kymo::trace {
namespace {

TEST(LossWordsTest, EveryCauseHasWords) {
  for (uint16_t cause = 1; cause <= static_cast<uint16_t>(LossCause::Truncated); ++cause)
    EXPECT_EQ(loss_words(static_cast<LossCause>(cause)).cause, static_cast<LossCause>(cause));
  EXPECT_STREQ(loss_words(static_cast<LossCause>(999)).key, "unknown");
}

TEST(LossWordsTest, OnlyEventsCountAsLostEvents) {
  const std::vector<Loss> losses = {
      {LossCause::RingFull, 1, 5, 0, 0, ""},      {LossCause::TextTruncated, 1, 11, 0, 0, ""},
      {LossCause::DamagedRecord, 1, 2, 0, 0, ""}, {LossCause::UnmatchedPop, 1, 7, 0, 0, ""},
      {LossCause::Truncated, 0, 4096, 0, 0, ""},  {LossCause::Reported, 0, 1, 0, 0, "one"}};
  EXPECT_EQ(lost_events(losses), 7u);
}

}  // namespace
}  // namespace kymo::trace
