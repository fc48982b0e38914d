#include "push/store.h"

#include <gtest/gtest.h>

namespace kymo::push {
namespace {

TEST(LossDetectorTest, ALossIsReportedOnceWhenItHasEnded) {
  LossDetector detector;
  EXPECT_FALSE(detector.look({{"a", 10}, {"b", 1}}));
  EXPECT_FALSE(detector.look({{"a", 10}, {"b", 1}}));
  EXPECT_FALSE(detector.look({{"a", 5}, {"b", 1}}));  // may still become less
  EXPECT_FALSE(detector.look({{"b", 1}}));
  EXPECT_TRUE(detector.look({{"b", 1}}));
  EXPECT_FALSE(detector.look({{"b", 1}}));
}

TEST(LossDetectorTest, GrowthIsNotALossAndDoesNotHideOne) {
  LossDetector detector;
  EXPECT_FALSE(detector.look({}));
  EXPECT_FALSE(detector.look({{"a", 10}}));
  EXPECT_FALSE(detector.look({{"a", 3}, {"b", 7}}));
  EXPECT_TRUE(detector.look({{"a", 30}, {"b", 7}}));
  EXPECT_FALSE(detector.look({{"a", 31}, {"b", 8}}));
}

}  // namespace
}  // namespace kymo::push
