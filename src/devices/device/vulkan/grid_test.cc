#include "device/vulkan/grid.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace kymo::device::vulkan {
namespace {

constexpr uint32_t kNoLimit = 0xFFFFFFFF;

// How many times each thread along an axis runs. Checks that each thread is in the right group.
std::vector<int> runs_of(uint64_t threads, uint64_t group, uint32_t limit, bool visible) {
  const Axis axis(threads, group, limit, visible);
  std::vector<int> runs(threads + group);
  for (uint32_t i = 0; i < axis.pieces(); ++i) {
    const AxisPiece piece = axis.piece(i);
    EXPECT_LE(piece.count, limit);
    EXPECT_GT(piece.count, 0u);
    EXPECT_EQ(piece.offset, piece.base * group);
    for (uint64_t thread = 0; thread < uint64_t{piece.count} * piece.size; ++thread) {
      ++runs[piece.offset + thread];
      if (visible) {
        EXPECT_EQ((piece.offset + thread) / group, piece.base + thread / piece.size);
      }
    }
  }
  return runs;
}

TEST(VulkanGridTest, EveryThreadRunsOnceAndNoOther) {
  for (const bool visible : {true, false}) {
    for (const uint32_t limit : {1u, 3u, kNoLimit}) {
      for (uint64_t threads = 1; threads < 70; ++threads) {
        for (const uint64_t group : {1, 2, 7, 16, 64}) {
          const std::vector<int> runs = runs_of(threads, group, visible ? limit : std::max(limit, 64u), visible);
          for (size_t i = 0; i < runs.size(); ++i)
            ASSERT_EQ(runs[i], i < threads ? 1 : 0) << threads << " by " << group << " limit " << limit << " at " << i;
        }
      }
    }
  }
}

TEST(VulkanGridTest, EdgeUsesAPowerOfTwoIfGroupsAreNotVisible) {
  const Axis axis(64 + 40, 64, kNoLimit, false);
  ASSERT_EQ(axis.pieces(), 2u);
  EXPECT_EQ(axis.piece(1), (AxisPiece{.offset = 64, .base = 1, .count = 5, .size = 8}));
}

TEST(VulkanGridTest, CountsAllGroupsOfTheGrid) {
  EXPECT_EQ(Axis(1000, 64, 4, true).groups(), 16u);
  EXPECT_EQ(Axis(1024, 64, 4, true).groups(), 16u);
  EXPECT_EQ(Axis(3, 64, 4, true).groups(), 1u);
  EXPECT_EQ(Axis(0xFFFFFFFF, 1, 65535, true).groups(), 0xFFFFFFFFu);
}

TEST(VulkanGridTest, AGridOfThreeAxesHasUpToEightDispatches) {
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> sizes;
  uint64_t threads = 0;
  for_each_dispatch(Axis(19, 8, kNoLimit, true), Axis(11, 4, kNoLimit, true), Axis(7, 3, kNoLimit, true),
                    [&](const AxisPiece& x, const AxisPiece& y, const AxisPiece& z) {
                      sizes.emplace(x.size, y.size, z.size);
                      threads += uint64_t{x.count} * x.size * y.count * y.size * z.count * z.size;
                    });
  EXPECT_EQ(sizes.size(), 8u);
  EXPECT_EQ(threads, 19u * 11 * 7);
}

}  // namespace
}  // namespace kymo::device::vulkan
