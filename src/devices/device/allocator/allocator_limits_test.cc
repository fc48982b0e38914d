// Watermarks, the limit, a driver that has no more memory, and which memory is released when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "device/allocator/allocator.h"
#include "device/allocator/test_check.h"
#include "device/allocator/test_simulated_source.h"
#include "kymo/error.h"

namespace kymo::device {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kRecommended = 1000 * kMiB;

class AllocatorLimitsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    AllocatorCheck::verify(allocator);
    EXPECT_EQ(source.faults(), "");
  }
  Block* allocate(size_t bytes, StreamId stream = 0) {
    Block* const block = allocator.allocate(bytes, stream);
    source.begin(*block);
    return block;
  }
  std::string refusal(size_t bytes) {
    try {
      allocator.allocate(bytes, 0);
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.asked(), bytes);
      EXPECT_EQ(error.in_use(), allocator.current_allocated());
      EXPECT_EQ(error.limit(), allocator.limit());
      return error.what();
    }
    return "succeeded";
  }

  SimulatedSource source{4 * kRecommended, kRecommended};
  Allocator allocator{source, AllocatorOptions{}};  // limit 1000 MiB, low watermark 800 MiB
};

TEST_F(AllocatorLimitsTest, LimitThrowsWithStatisticsAndFreeingMakesRoom) {
  std::vector<Block*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(allocate(100 * kMiB));
  EXPECT_EQ(allocator.reserved(), kRecommended);
  EXPECT_THAT(refusal(100 * kMiB),
              AllOf(HasSubstr("asked for 100.0 MiB"), HasSubstr("1000.0 MiB in use"), HasSubstr("0 bytes cached"),
                    HasSubstr("limit 1000.0 MiB (1 x"), HasSubstr("KYMO_HIGH_WATERMARK_RATIO")));
  EXPECT_EQ(allocator.statistics().failures, 1u);
  allocator.free(blocks.back());
  EXPECT_EQ(allocate(100 * kMiB)->size, 100 * kMiB);
  EXPECT_EQ(allocator.reserved(), kRecommended);
}

TEST_F(AllocatorLimitsTest, RequestAboveTheLimitIsRefusedAndReleasesNothing) {
  allocator.free(allocate(100 * kMiB));
  EXPECT_THAT(refusal(kRecommended + 1), HasSubstr("100.0 MiB cached"));
  EXPECT_EQ(source.synchronizes + source.releases, 0u);
}

TEST_F(AllocatorLimitsTest, WithoutALimitOnlyTheDriverRefuses) {
  allocator.set_fraction(0);
  std::vector<Block*> blocks;
  for (int i = 0; i < 40; ++i) blocks.push_back(allocate(100 * kMiB));
  EXPECT_THAT(refusal(100 * kMiB), AllOf(HasSubstr("the driver has no more"), Not(HasSubstr("limit 1"))));
  for (Block* block : blocks) allocator.free(block);
  EXPECT_EQ(allocate(3000 * kMiB)->size, 3000 * kMiB);  // after the smaller segments were released
}

TEST_F(AllocatorLimitsTest, LimitCanBeUsedCompletely) {
  allocator.set_fraction(0.0105);  // 10.5 MiB: no large segment, and no second small one
  std::vector<Block*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(allocate(kMiB));
  blocks.push_back(allocate(512));  // from the remaining 0.5 MiB
  EXPECT_LE(source.taken(), allocator.limit());
  EXPECT_THAT(refusal(kMiB), HasSubstr("out of device memory"));
}

TEST_F(AllocatorLimitsTest, SegmentShrinksToTheRequestIfALargeOneDoesNotFit) {
  allocator.set_fraction(0.02);  // 20 MiB
  Block* const block = allocate(5 * kMiB);
  EXPECT_EQ(allocator.reserved(), 6 * kMiB);
  allocator.free(block);
  allocator.set_fraction(1);
  source.capacity = 13 * kMiB;
  allocate(7 * kMiB - 512);  // the driver has 7 MiB
  EXPECT_EQ(allocator.reserved(), 13 * kMiB - 512);
}

TEST_F(AllocatorLimitsTest, OneSufficientIdleSegmentIsReleasedWithoutWaiting) {
  Allocator never_collects(source, {.unified = false, .high = 1, .low = 0});
  std::vector<Block*> blocks;
  for (const size_t mib : {100, 200, 300, 400}) blocks.push_back(never_collects.allocate(mib * kMiB, 0));
  for (const int i : {0, 1, 2}) never_collects.free(blocks[i]);
  never_collects.idle_since(never_collects.moment());
  Block* const block =
      never_collects.allocate(150 * kMiB, 0);  // neither 100 nor 200 fits: one is too small, one wastes too much
  EXPECT_EQ(source.releases, 1u);
  EXPECT_EQ(never_collects.reserved(), 950 * kMiB);  // the 200 was released, not the 300
  EXPECT_EQ(never_collects.statistics().retries, 1u);
  EXPECT_EQ(source.synchronizes, 0u);
  never_collects.free(block);
  never_collects.free(blocks[3]);
}

TEST_F(AllocatorLimitsTest, FragmentedFreeMemoryIsReleasedForALargeRequest) {
  std::vector<Block*> blocks;
  for (int i = 0; i < 9; ++i) blocks.push_back(allocate(100 * kMiB, static_cast<StreamId>(i)));
  for (Block* block : blocks) allocator.free(block);
  EXPECT_EQ(allocate(900 * kMiB)->size, 900 * kMiB);
  EXPECT_EQ(allocator.reserved(), 900 * kMiB);
  EXPECT_GE(source.synchronizes, 1u);
}

TEST_F(AllocatorLimitsTest, RequestUsesAPoolOfLargerBlocksAsLastResort) {
  Block* const block = allocate(20 * kMiB);  // 20 MiB left in its segment
  allocator.set_fraction(0.04);
  EXPECT_EQ(allocator.reserved(), allocator.limit());
  Block* const small = allocate(512);
  EXPECT_EQ(small->size, 512u);
  EXPECT_EQ(allocator.statistics().pool(MemoryPool::ExtraLarge).current, 20 * kMiB + 512);
  allocator.free(small);
  allocator.free(block);
}

TEST_F(AllocatorLimitsTest, BelowTheLowWatermarkNothingIsCollected) {
  for (size_t mib = 70; mib <= 700; mib += 630) allocator.free(allocate(mib * kMiB));
  EXPECT_EQ(allocator.reserved(), 770 * kMiB);
  EXPECT_EQ(allocator.statistics().collections, 0u);
  EXPECT_EQ(source.releases, 0u);
}

TEST_F(AllocatorLimitsTest, AboveTheLowWatermarkTheLongestUnusedIsReleasedFirst) {
  std::vector<Block*> blocks;
  for (const size_t mib : {150, 200, 250}) blocks.push_back(allocate(mib * kMiB));
  allocator.free(blocks[1]);
  for (int i = 0; i < 100; ++i) allocator.free(allocate(512));  // time passes
  allocator.free(blocks[0]);
  allocator.free(blocks[2]);
  EXPECT_EQ(allocator.statistics().collections, 0u);
  Block* const block = allocate(300 * kMiB);  // 908 with the small segment: 108 above the low watermark
  const MemoryStatistics now = allocator.statistics();
  EXPECT_EQ(now.collections, 1u);
  EXPECT_EQ(now.pool(MemoryPool::Huge).collections, 1u);
  EXPECT_EQ(now.pool(MemoryPool::Huge).reserved, 700 * kMiB);  // 150 + 250 + 300
  EXPECT_EQ(source.releases, 1u);
  allocator.free(block);
}

TEST_F(AllocatorLimitsTest, CollectingStopsAtTheLowWatermarkAndKeepsLiveBlocks) {
  std::vector<Block*> blocks;
  for (int i = 0; i < 7; ++i) blocks.push_back(allocate(100 * kMiB));
  for (int i = 0; i < 3; ++i) allocator.free(blocks[i]);
  Block* const block = allocate(199 * kMiB);
  EXPECT_EQ(source.releases, 1u);  // 700 + 199 is 99 above the low watermark
  EXPECT_EQ(allocator.reserved(), 800 * kMiB);
  allocator.free(block);
}

TEST_F(AllocatorLimitsTest, BlockFreedWhileCollectingIsKept) {
  Block* const block = allocate(500 * kMiB, 1);
  allocator.free(allocate(450 * kMiB, 1));
  source.after_synchronize = [&] {
    source.also(*block, 1);
    allocator.free(block);
  };
  allocator.free(allocate(400 * kMiB, 2));  // 550 above: the 450 are released, the 500 must not be
  EXPECT_EQ(allocator.reserved(), 900 * kMiB);
  EXPECT_EQ(allocator.statistics().collections, 1u);
}

TEST_F(AllocatorLimitsTest, ALowWatermarkOfZeroMeansNeverCollect) {
  Allocator never(source, {.unified = false, .high = 0, .low = 0});
  for (size_t mib = 100; mib < 800; mib += 100) never.free(never.allocate(mib * kMiB, 0));
  EXPECT_EQ(never.statistics().collections, 0u);
  EXPECT_EQ(never.statistics().low_limit, 0u);
  EXPECT_EQ(never.reserved(), 2800 * kMiB);
}

TEST_F(AllocatorLimitsTest, ExtraLargeSegmentsDoNotExceedTheLowWatermark) {
  allocate(700 * kMiB);
  allocate(60 * kMiB);
  EXPECT_EQ(allocator.reserved(), 760 * kMiB);
}

TEST_F(AllocatorLimitsTest, TheFractionCanChangeWhileBlocksAreLive) {
  Block* const live = allocate(300 * kMiB);
  allocator.free(allocate(400 * kMiB));
  allocator.set_fraction(0.5);
  EXPECT_EQ(allocator.reserved(), 300 * kMiB);  // unused memory was released at once
  EXPECT_EQ(allocator.statistics().low_limit, kRecommended / 2);
  allocator.set_fraction(0.1);  // less than the size of the live blocks
  EXPECT_EQ(allocator.reserved(), 300 * kMiB);
  EXPECT_THAT(refusal(50 * kMiB), HasSubstr("limit 100.0 MiB (0.1 x"));
  allocator.free(live);
  EXPECT_EQ(allocate(50 * kMiB)->size, 50 * kMiB);
  EXPECT_LE(allocator.reserved(), allocator.limit());
  allocator.set_fraction(2);
  EXPECT_EQ(allocator.limit(), 2 * kRecommended);
  EXPECT_EQ(allocator.statistics().low_limit, kRecommended * 8 / 10);
}

TEST_F(AllocatorLimitsTest, BadFractionsAreRefusedAndChangeNothing) {
  for (const double bad : {-0.1, 2.1, std::nan(""), HUGE_VAL, -HUGE_VAL})
    EXPECT_THROW(allocator.set_fraction(bad), InvalidArgument);
  EXPECT_EQ(allocator.limit(), kRecommended);
  allocator.set_fraction(1e-300);  // still a limit, but a very small one
  EXPECT_EQ(allocator.limit(), 1u);
}

TEST_F(AllocatorLimitsTest, ExceptionOfTheSourcePassesThroughAndStatisticsStayCorrect) {
  source.throw_on_allocate = true;
  EXPECT_THROW(allocator.allocate(kMiB, 0), std::runtime_error);
  EXPECT_EQ(allocator.reserved(), 0u);
  EXPECT_EQ(allocator.statistics().failures, 1u);
  source.throw_on_allocate = false;
  allocator.free(allocate(900 * kMiB));
  source.throw_on_synchronize = true;
  EXPECT_THROW(allocator.empty_cache(), std::runtime_error);
  EXPECT_THROW(allocator.allocate(500 * kMiB, 0), std::runtime_error);
  source.throw_on_synchronize = false;
  EXPECT_EQ(allocator.reserved(), 900 * kMiB);
  EXPECT_EQ(allocate(500 * kMiB)->size, 500 * kMiB);
}

}  // namespace
}  // namespace kymo::device
