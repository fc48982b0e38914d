#include "analyze/self_time.h"

#include <gtest/gtest.h>

namespace kymo::analyze {
namespace {

TEST(SelfTimeTest, ParentExcludesOnlyItsDirectChildren) {
  SelfTime self;
  EXPECT_EQ(self.of(2, 10), 10u);
  EXPECT_EQ(self.of(1, 30), 20u);
  EXPECT_EQ(self.of(1, 5), 5u);
  EXPECT_EQ(self.of(0, 100), 65u);
  EXPECT_EQ(self.of(0, 7), 7u) << "the next sibling has none of those children";
}

TEST(SelfTimeTest, ChildrenLongerThanTheirParentLeaveZeroSelfTime) {
  SelfTime self;
  self.of(1, 50);
  EXPECT_EQ(self.of(0, 20), 0u);
}

TEST(SelfTimeTest, RecursionOfAnyDepthIsCorrect) {
  SelfTime self;
  for (uint32_t depth = UINT16_MAX; depth > 0; --depth) {
    const uint64_t duration = 10ull * (UINT16_MAX - depth + 1);
    EXPECT_EQ(self.of(static_cast<uint16_t>(depth), duration), 10u) << depth;
  }
}

TEST(SelfTimeTest, LanesNestSeparately) {
  SelfTime self;
  EXPECT_EQ(self.of(0, 1, 10), 10u);
  EXPECT_EQ(self.of(3, 1, 20), 20u);
  EXPECT_EQ(self.of(0, 0, 100), 90u);
  EXPECT_EQ(self.of(3, 0, 100), 80u);
  EXPECT_EQ(self.of(3, 0, 100), 100u);
}

TEST(SelfTimeTest, AfterAGapOnlyRangesOpenOnBothSidesKeepTheirChildren) {
  SelfTime self;
  self.of(2, 10);
  self.of(1, 30);
  self.of(2, 4);  // its parent ends in the gap
  std::vector<trace::OpenRange> open(2);
  open[0].start = 1000;  // open since before the gap
  open[1].start = 5000;  // opened in the gap
  self.resume(open, 2000);
  EXPECT_EQ(self.of(1, 50), 50u);
  EXPECT_EQ(self.of(0, 200), 120u);
}

}  // namespace
}  // namespace kymo::analyze
