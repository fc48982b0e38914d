#include "trace/range_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "trace/test_support.h"

namespace kymo::trace {
namespace {

using ::testing::ElementsAre;

TEST(RangeTimesTest, LoopHasConstantGaps) {
  const std::vector<uint64_t> end{107, 117, 127}, duration{7, 7, 7};
  const std::vector<uint16_t> depth{0, 0, 0};
  std::vector<uint64_t> gap(3);
  EXPECT_EQ(to_gaps(end, duration, depth, 0, gap), 100u);
  EXPECT_THAT(gap, ElementsAre(0, 3, 3));
}

TEST(RangeTimesTest, ParentIsStoredByItsEnd) {
  // One parent from 100 to 140 contains two children.
  const std::vector<uint64_t> end{110, 130, 140}, duration{5, 15, 40};
  const std::vector<uint16_t> depth{1, 1, 0};
  std::vector<uint64_t> gap(3);
  EXPECT_EQ(to_gaps(end, duration, depth, 0, gap), 105u);
  EXPECT_THAT(gap, ElementsAre(0, 5, 10));
}

TEST(RangeTimesTest, RangeOpenedBeforeTheFirstIsStoredByItsEnd) {
  const std::vector<uint64_t> end{1000}, duration{999};
  const std::vector<uint16_t> depth{0};
  std::vector<uint64_t> gap(1);
  EXPECT_EQ(to_gaps(end, duration, depth, 1, gap), 1000u);
}

TEST(RangeTimesTest, AnyTimesRoundTrip) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    const size_t n = 1 + random() % 100, open_before = random() % 3;
    std::vector<uint64_t> end(n), duration(n), gap(n);
    std::vector<uint16_t> depth(n);
    for (size_t i = 0; i < n; ++i) {
      end[i] = testing::wild(random);
      duration[i] = testing::wild(random);
      depth[i] = static_cast<uint16_t>(random() % 4);
    }
    const uint64_t base = to_gaps(end, duration, depth, open_before, gap);
    to_ends(gap, duration, depth, open_before, base);
    EXPECT_EQ(gap, end);
  }
}

}  // namespace
}  // namespace kymo::trace
