#include "device/allocator/allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "device/allocator/test_check.h"
#include "device/allocator/test_simulated_source.h"
#include "kymo/error.h"

namespace kymo::device {
namespace {

constexpr size_t kGiB = 1024 * kMiB;

class AllocatorTest : public ::testing::Test {
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

  SimulatedSource source{16 * kGiB};
  Allocator allocator{source, AllocatorOptions{}};
};

TEST_F(AllocatorTest, BlockHasItsRequestedAndItsRoundedSize) {
  Block* const block = allocate(1000, 3);
  EXPECT_EQ(block->requested, 1000u);
  EXPECT_EQ(block->size, 1024u);
  EXPECT_EQ(block->stream, 3u);
  EXPECT_EQ(block->address % 512, 0u);
  EXPECT_EQ(allocator.current_allocated(), 1024u);
  allocator.free(block);
  EXPECT_EQ(allocator.current_allocated(), 0u);
}

TEST_F(AllocatorTest, SegmentSizeDependsOnTheRequest) {
  struct Case {
    size_t bytes, segment;
    MemoryPool pool;
  };
  const Case cases[] = {{1, 8 * kMiB, MemoryPool::Small},
                        {kMiB, 8 * kMiB, MemoryPool::Small},
                        {kMiB + 1, 32 * kMiB, MemoryPool::Large},
                        {10 * kMiB - 512, 32 * kMiB, MemoryPool::Large},
                        {10 * kMiB, 20 * kMiB, MemoryPool::ExtraLarge},
                        {11 * kMiB - 512, 20 * kMiB, MemoryPool::ExtraLarge},
                        {32 * kMiB, 64 * kMiB, MemoryPool::ExtraLarge},
                        {64 * kMiB - 512, 126 * kMiB, MemoryPool::ExtraLarge},
                        {64 * kMiB, 64 * kMiB, MemoryPool::Huge},
                        {65 * kMiB + 1, 66 * kMiB, MemoryPool::Huge}};
  for (const Case& c : cases) {
    Block* const block = allocate(c.bytes);
    EXPECT_EQ(allocator.reserved(), c.segment) << c.bytes;
    EXPECT_EQ(allocator.statistics().pool(c.pool).reserved, c.segment) << c.bytes;
    EXPECT_EQ(allocator.statistics().pool(c.pool).current, block->size) << c.bytes;
    allocator.free(block);
    allocator.empty_cache();
  }
}

TEST_F(AllocatorTest, SharedMemoryHasLargerExtraLargeSegmentsUpToASixteenth) {
  Allocator shared(source, AllocatorOptions::defaults(true));
  shared.free(shared.allocate(500 * kMiB, 0));
  EXPECT_EQ(shared.reserved(), 1000 * kMiB);
  SimulatedSource less(4 * kGiB);
  Allocator on_less(less, AllocatorOptions::defaults(true));
  on_less.free(on_less.allocate(127 * kMiB, 0));
  EXPECT_EQ(on_less.reserved(), 254 * kMiB);
  on_less.free(on_less.allocate(500 * kMiB, 0));
  EXPECT_EQ(on_less.reserved(), 754 * kMiB);
}

TEST_F(AllocatorTest, ALargeRequestTakesAtMostTwiceItsSizeFromTheDriver) {
  Allocator shared(source, AllocatorOptions::defaults(true));
  for (size_t bytes = 10 * kMiB; bytes < 2 * kGiB; bytes += bytes / 3 + 4096) {
    const size_t before = shared.reserved();
    shared.allocate(bytes, 0);
    EXPECT_LE(shared.reserved() - before, 2 * bytes) << bytes;
  }
}

TEST_F(AllocatorTest, FreedBlockIsReusedWithoutTheDriver) {
  for (const size_t bytes : {size_t{512}, kMiB, 5 * kMiB, 20 * kMiB, 500 * kMiB}) {
    Block* const block = allocate(bytes);
    const Address address = block->address;
    allocator.free(block);
    const size_t asked = source.allocations;
    for (int i = 0; i < 3; ++i) {
      Block* const again = allocate(bytes);
      EXPECT_EQ(again->address, address);
      allocator.free(again);
    }
    EXPECT_EQ(source.allocations, asked);
  }
  EXPECT_EQ(source.orders + source.synchronizes, 0u);
}

TEST_F(AllocatorTest, SmallestFreeBlockThatFitsIsUsed) {
  std::vector<Block*> blocks;
  for (const size_t kib : {300, 1, 100, 1, 200, 1}) blocks.push_back(allocate(kib << 10));
  const Address hole = blocks[2]->address;
  for (const int i : {0, 2, 4}) allocator.free(blocks[i]);
  EXPECT_EQ(allocate(90 << 10)->address, hole);
}

TEST_F(AllocatorTest, FreedNeighboursAreMergedInAnyOrder) {
  for (const std::vector<int>& order : {std::vector{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}}) {
    std::vector<Block*> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(allocate(kMiB));  // the whole segment
    const Address begin = blocks[0]->address;
    for (const int i : order) allocator.free(blocks[i]);
    allocator.free(nullptr);
    AllocatorCheck::verify(allocator);
    Block* const joined = allocate(kMiB);  // at any position in the segment
    EXPECT_LT(joined->address, begin + 3 * kMiB);
    allocator.free(joined);
    for (int i = 3; i < 8; ++i) allocator.free(blocks[i]);
    Block* const large = allocate(kMiB - 512);
    EXPECT_EQ(allocator.reserved(), kSmallSegment);
    allocator.free(large);
  }
  allocator.empty_cache();
  EXPECT_EQ(allocator.reserved(), 0u);
}

TEST_F(AllocatorTest, HugeBlockIsReusedWholeUnlessItWastesTooMuch) {
  allocator.free(allocate(200 * kMiB));
  Block* const block = allocate(170 * kMiB);
  EXPECT_EQ(allocator.reserved(), 200 * kMiB);
  EXPECT_EQ(allocator.current_allocated(), 170 * kMiB);
  allocator.free(block);
  allocator.free(allocate(100 * kMiB));
  EXPECT_EQ(allocator.reserved(), 300 * kMiB);
}

TEST_F(AllocatorTest, ZeroAndTooLargeRequestsAreRefusedAtOnce) {
  EXPECT_THROW(allocator.allocate(0, 0), InvalidArgument);
  try {
    allocator.allocate(~size_t{0}, 0);
    FAIL();
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.asked(), ~uint64_t{0});
  }
  SimulatedSource shorter(4 * kGiB, 0, 100 * kMiB);
  Allocator on_shorter(shorter, AllocatorOptions{});
  EXPECT_THROW(on_shorter.allocate(100 * kMiB + 1, 0), OutOfMemory);
  EXPECT_EQ(shorter.allocations + shorter.synchronizes, 0u);
  on_shorter.free(on_shorter.allocate(60 * kMiB, 0));  // so it does not allocate a segment of 120 MiB
  EXPECT_EQ(on_shorter.reserved(), 60 * kMiB);
}

TEST_F(AllocatorTest, EmptyCacheReleasesOnlyUnusedMemory) {
  Block* const kept = allocate(512);
  for (const size_t bytes : {5 * kMiB, 20 * kMiB, 500 * kMiB}) allocator.free(allocate(bytes));
  allocator.empty_cache();
  EXPECT_EQ(allocator.reserved(), kSmallSegment);
  EXPECT_EQ(source.taken(), kSmallSegment);
  allocator.free(kept);
  allocator.empty_cache();
  EXPECT_EQ(allocator.reserved(), 0u);
  EXPECT_EQ(source.taken(), 0u);
}

TEST_F(AllocatorTest, PeaksAreKeptUntilReset) {
  Block* const small = allocate(kMiB);
  Block* const large = allocate(5 * kMiB);
  allocator.free(large);
  allocator.free(allocate(2 * kMiB));
  MemoryStatistics now = allocator.statistics();
  EXPECT_EQ(now.peak, 6 * kMiB);
  EXPECT_EQ(now.pool(MemoryPool::Large).peak, 5 * kMiB);
  EXPECT_EQ(now.current, kMiB);
  EXPECT_EQ(now.reserved, kSmallSegment + kLargeSegment);
  EXPECT_EQ(now.cached, now.reserved - kMiB);
  allocator.empty_cache();
  EXPECT_EQ(allocator.statistics().peak_reserved, kSmallSegment + kLargeSegment);
  allocator.reset_peak();
  now = allocator.statistics();
  EXPECT_EQ(now.peak, kMiB);
  EXPECT_EQ(now.pool(MemoryPool::Large).peak, 0u);
  EXPECT_EQ(now.peak_reserved, kSmallSegment);
  allocator.free(small);
}

TEST_F(AllocatorTest, RequestsAreCountedAsHitsAndMisses) {
  for (int i = 0; i < 5; ++i) allocator.free(allocate(3 * kMiB));
  const PoolStatistics large = allocator.statistics().pool(MemoryPool::Large);
  EXPECT_EQ(large.allocations, 5u);
  EXPECT_EQ(large.frees, 5u);
  EXPECT_EQ(large.hits, 4u);
  EXPECT_EQ(large.misses, 1u);
  EXPECT_EQ(large.failures + large.retries + large.collections, 0u);
}

TEST_F(AllocatorTest, ASecondFreeIsCountedAndIgnored) {
  Block* const block = allocate(512);
  allocator.free(block);
  allocator.free(block);
  EXPECT_EQ(allocator.statistics().bad_frees, 1u);
  EXPECT_EQ(allocator.current_allocated(), 0u);
}

TEST_F(AllocatorTest, AfterAResetNothingIsReleasedAndOldBlocksCanBeFreed) {
  Block* const live = allocate(5 * kMiB);
  allocator.free(allocate(512));
  source.reset();
  allocator.forget();
  EXPECT_EQ(source.releases, 0u);
  EXPECT_EQ(allocator.current_allocated() + allocator.reserved(), 0u);
  Block* const fresh = allocate(5 * kMiB);
  EXPECT_NE(fresh, live);
  allocator.free(live);
  EXPECT_EQ(allocator.current_allocated(), 5 * kMiB);
  EXPECT_EQ(allocator.statistics().bad_frees, 0u);
  allocator.free(fresh);
  allocator.empty_cache();
  EXPECT_EQ(source.taken(), 0u);
}

TEST(AllocatorEndTest, DestructorReleasesEverything) {
  SimulatedSource source(kGiB);
  {
    Allocator allocator(source, AllocatorOptions{});
    source.begin(*allocator.allocate(5 * kMiB, 0));  // never freed
    allocator.free(allocator.allocate(512, 1));
  }
  EXPECT_EQ(source.taken(), 0u);
  EXPECT_EQ(source.faults(), "");
}

}  // namespace
}  // namespace kymo::device
