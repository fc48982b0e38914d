#include "analyze/self_time.h"

#include <gtest/gtest.h>

namespace kymo::analyze {
namespace {

SelfTime self_time_down_to(uint16_t depth) {
  SelfTime self;
  self.prepare({&depth, 1});
  return self;
}

TEST(SelfTimeTest, AParentIsLessItsDirectChildrenOnly) {
  SelfTime self = self_time_down_to(2);
  EXPECT_EQ(self.of(2, 10), 10u);
  EXPECT_EQ(self.of(1, 30), 20u);
  EXPECT_EQ(self.of(1, 5), 5u);
  EXPECT_EQ(self.of(0, 100), 65u);
  EXPECT_EQ(self.of(0, 7), 7u) << "the next sibling has none of those children";
}

TEST(SelfTimeTest, ChildrenLongerThanTheirParentLeaveItZero) {
  SelfTime self = self_time_down_to(1);
  self.of(1, 50);
  EXPECT_EQ(self.of(0, 20), 0u);
}

TEST(SelfTimeTest, RoomGrowsWithoutForgetting) {
  SelfTime self = self_time_down_to(1);
  self.of(1, 10);
  const uint16_t deep = 900;
  self.prepare({&deep, 1});
  EXPECT_EQ(self.of(0, 100), 90u);
}

TEST(SelfTimeTest, AfterAGapOnlyRangesOpenOnBothSidesKeepTheirChildren) {
  SelfTime self = self_time_down_to(2);
  self.of(2, 10);
  self.of(1, 30);
  self.of(2, 4);  // its parent's end is in the gap
  std::vector<trace::OpenRange> open(2);
  open[0].start = 1000;  // since before the gap
  open[1].start = 5000;  // since inside it
  self.resume(open, 2000);
  EXPECT_EQ(self.of(1, 50), 50u);
  EXPECT_EQ(self.of(0, 200), 120u);
}

}  // namespace
}  // namespace kymo::analyze
