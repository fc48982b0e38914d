#include "analyze/self_time.h"

#include <gtest/gtest.h>

namespace kymo::analyze {
namespace {

constexpr uint64_t kAnyEnd = 1'000'000;  // the end counts only for ranges that are too deep for the file

TEST(SelfTimeTest, ParentExcludesOnlyItsDirectChildren) {
  SelfTime self;
  EXPECT_EQ(self.of(2, 10, kAnyEnd), 10u);
  EXPECT_EQ(self.of(1, 30, kAnyEnd), 20u);
  EXPECT_EQ(self.of(1, 5, kAnyEnd), 5u);
  EXPECT_EQ(self.of(0, 100, kAnyEnd), 65u);
  EXPECT_EQ(self.of(0, 7, kAnyEnd), 7u) << "the next sibling has none of those children";
}

TEST(SelfTimeTest, ChildrenLongerThanTheirParentLeaveZeroSelfTime) {
  SelfTime self;
  self.of(1, 50, kAnyEnd);
  EXPECT_EQ(self.of(0, 20, kAnyEnd), 0u);
}

TEST(SelfTimeTest, RecursionOfAnyDepthIsCorrect) {
  SelfTime self;
  for (uint32_t depth = UINT16_MAX; depth > 0; --depth) {
    const uint64_t duration = 10ull * (UINT16_MAX - depth + 1);
    EXPECT_EQ(self.of(static_cast<uint16_t>(depth), duration, 2'000'000 - depth), 10u) << depth;
  }
}

// The file has the depth 65,535 for all that is deeper.
TEST(SelfTimeTest, RangesBelowTheDeepestDepthOfAFileAreCorrect) {
  SelfTime self;
  constexpr uint64_t kLevels = 100'000;
  for (uint64_t level = kLevels; level-- > 0;) {
    // From `level` to `3 * kLevels - level`, and beside the range inside a short one.
    const auto depth = static_cast<uint16_t>(std::min<uint64_t>(level, UINT16_MAX));
    const auto inner = static_cast<uint16_t>(std::min<uint64_t>(level + 1, UINT16_MAX));
    const uint64_t begin = 10 * level, end = 30 * kLevels - 10 * level;
    EXPECT_EQ(self.of(inner, 2, end - 3), 2u);
    EXPECT_EQ(self.of(depth, end - begin, end), level + 1 == kLevels ? end - begin - 2 : 18u) << level;
  }
}

TEST(SelfTimeTest, LanesNestSeparately) {
  SelfTime self;
  EXPECT_EQ(self.of(0, 1, 10, kAnyEnd), 10u);
  EXPECT_EQ(self.of(3, 1, 20, kAnyEnd), 20u);
  EXPECT_EQ(self.of(0, 0, 100, kAnyEnd), 90u);
  EXPECT_EQ(self.of(3, 0, 100, kAnyEnd), 80u);
  EXPECT_EQ(self.of(3, 0, 100, kAnyEnd), 100u);
}

TEST(SelfTimeTest, AfterAGapOnlyRangesOpenOnBothSidesKeepTheirChildren) {
  SelfTime self;
  self.of(2, 10, kAnyEnd);
  self.of(1, 30, kAnyEnd);
  self.of(2, 4, kAnyEnd);  // its parent ends in the gap
  std::vector<trace::OpenRange> open(2);
  open[0].start = 1000;  // open since before the gap
  open[1].start = 5000;  // opened in the gap
  self.resume(open, 2000);
  EXPECT_EQ(self.of(1, 50, kAnyEnd), 50u);
  EXPECT_EQ(self.of(0, 200, kAnyEnd), 120u);
}

}  // namespace
}  // namespace kymo::analyze
