// Blocks that move between streams, and the waits that this needs.
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "device/allocator/allocator.h"
#include "device/allocator/test_check.h"
#include "device/allocator/test_simulated_source.h"

namespace kymo::device {
namespace {

class AllocatorStreamsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    AllocatorCheck::verify(allocator);
    EXPECT_EQ(source.faults(), "");
  }
  Block* allocate(size_t bytes, StreamId stream) {
    Block* const block = allocator.allocate(bytes, stream);
    source.begin(*block);
    return block;
  }

  SimulatedSource source{size_t{16} << 30};
  Allocator allocator{source, AllocatorOptions{}};
};

TEST_F(AllocatorStreamsTest, BlockOfAnotherStreamIsOrderedBeforeItIsHandedOut) {
  Block* const first = allocate(100 * kMiB, 1);
  const Address address = first->address;
  allocator.free(first);
  Block* const second = allocate(100 * kMiB, 2);
  EXPECT_EQ(second->address, address);
  EXPECT_EQ(second->stream, 2u);
  EXPECT_EQ(source.orders, 1u);
  allocator.free(second);
  allocator.free(allocate(100 * kMiB, 2));  // it belongs to the second stream now
  EXPECT_EQ(source.orders, 1u);
  EXPECT_EQ(source.synchronizes, 0u);
  EXPECT_EQ(allocator.statistics().orders, 1u);
}

TEST_F(AllocatorStreamsTest, TheStreamsOwnBlockIsPreferred) {
  Block* const other = allocate(100 * kMiB, 1);
  Block* const own = allocate(110 * kMiB, 2);
  const Address address = own->address;
  allocator.free(own);
  allocator.free(other);
  EXPECT_EQ(allocate(100 * kMiB, 2)->address, address);
  EXPECT_EQ(source.orders, 0u);
}

TEST_F(AllocatorStreamsTest, NewMemoryFromTheDriverIsForEveryStream) {
  allocate(5 * kMiB, 1);
  allocate(5 * kMiB, 2);
  allocate(5 * kMiB, 3);
  EXPECT_EQ(allocator.reserved(), kLargeSegment);
  EXPECT_EQ(source.orders, 0u);
}

TEST_F(AllocatorStreamsTest, SmallRequestsPreferANewSegmentToWaitingForAnotherStream) {
  std::vector<Block*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(allocate(kMiB, 1));
  for (Block* block : blocks) allocator.free(block);
  allocate(kMiB, 2);
  EXPECT_EQ(source.orders, 0u);
  EXPECT_EQ(allocator.reserved(), 2 * kSmallSegment);
}

TEST_F(AllocatorStreamsTest, SmallRequestsWaitForAnotherStreamIfTheDriverHasNoMemory) {
  source.capacity = kSmallSegment;
  std::vector<Block*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(allocate(kMiB, 1));
  for (int i = 0; i < 4; ++i) allocator.free(blocks[i]);
  EXPECT_LT(allocate(kMiB, 2)->address, blocks[4]->address);
  EXPECT_EQ(allocator.reserved(), kSmallSegment);
}

TEST_F(AllocatorStreamsTest, FreeMakesTheHomeStreamWaitForTheOtherUsers) {
  Block* const block = allocate(5 * kMiB, 1);
  for (const StreamId other : {2u, 3u, 1u, 3u, 62u, 63u, 62u}) {
    source.also(*block, other);
    allocator.used_on(block, other);
  }
  allocator.free(block);
  EXPECT_EQ(source.orders, 4u);  // 2, 3, 62, 63
  allocator.free(allocate(5 * kMiB, 1));
  EXPECT_EQ(source.orders, 4u);
  allocator.free(allocate(5 * kMiB, 1));  // the block has no other users any more
  EXPECT_EQ(source.orders, 4u);
  EXPECT_EQ(source.synchronizes, 0u);
}

TEST_F(AllocatorStreamsTest, TheLastStreamsWork) {
  allocator.free(allocate(100 * kMiB, kMaxStreams - 2));
  allocator.free(allocate(100 * kMiB, kMaxStreams - 1));
  EXPECT_EQ(source.orders, 1u);
  EXPECT_EQ(allocator.reserved(), 100 * kMiB);
}

TEST_F(AllocatorStreamsTest, NeighboursOfTwoStreamsAreMergedAfterTheDeviceWasIdle) {
  // Eight blocks fill a segment. They belong to two streams in turn, so they are not merged when they are freed.
  std::vector<Block*> blocks;
  for (StreamId i = 0; i < 8; ++i) blocks.push_back(allocate(4 * kMiB, i % 2));
  for (Block* block : blocks) allocator.free(block);
  EXPECT_EQ(allocator.reserved(), kLargeSegment);
  Block* const apart = allocate(9 * kMiB, 0);
  EXPECT_EQ(allocator.reserved(), 2 * kLargeSegment);
  allocator.free(apart);

  const uint64_t before = allocator.moment();
  source.synchronize();
  allocator.idle_since(before);
  source.orders = 0;
  std::vector<Block*> together;
  for (int i = 0; i < 6; ++i) together.push_back(allocate(9 * kMiB, 1));
  EXPECT_EQ(allocator.reserved(), 2 * kLargeSegment);
  EXPECT_EQ(source.orders, 0u);
  for (Block* block : together) allocator.free(block);
}

TEST_F(AllocatorStreamsTest, BlockFreedDuringTheWaitIsNotIdle) {
  Block* const block = allocate(100 * kMiB, 1);
  const uint64_t before = allocator.moment();
  source.synchronize();
  source.also(*block, 1);
  allocator.free(block);
  allocator.idle_since(before);
  allocator.idle_since(~uint64_t{0} - 1);  // a moment in the future counts as now
  allocator.free(allocate(100 * kMiB, 2));
}

TEST_F(AllocatorStreamsTest, BlockFreedWhileTheCacheIsEmptiedIsKept) {
  Block* const block = allocate(100 * kMiB, 1);
  allocator.free(allocate(200 * kMiB, 1));
  source.after_synchronize = [&] {
    source.also(*block, 1);
    allocator.free(block);
  };
  allocator.empty_cache();
  EXPECT_EQ(allocator.reserved(), 100 * kMiB);
}

TEST_F(AllocatorStreamsTest, BlockMergedWithIdleAndParkedNeighboursBelongsToTheStreamThatFreedLast) {
  std::vector<Block*> blocks;
  for (const size_t mib : {32, 16, 16}) blocks.push_back(allocate(mib * kMiB, 1));  // next to each other
  const Address first = blocks[0]->address;
  allocator.free(blocks[0]);
  source.also(*blocks[1], 2);
  allocator.used_on(blocks[1], 2);
  source.throw_on_order = true;
  allocator.free(blocks[1]);  // parked
  source.throw_on_order = false;
  const uint64_t before = allocator.moment();
  source.synchronize();
  source.also(*blocks[2], 1);
  allocator.free(blocks[2]);
  allocator.idle_since(before);
  const size_t orders = source.orders;
  EXPECT_EQ(allocate(62 * kMiB, 3)->address, first);  // all of the first two blocks and a part of the third
  EXPECT_EQ(source.orders, orders + 1);
}

TEST_F(AllocatorStreamsTest, BlockThatCannotBeOrderedStaysFree) {
  allocator.free(allocate(100 * kMiB, 1));
  const MemoryStatistics before = allocator.statistics();
  source.throw_on_order = true;
  EXPECT_THROW(allocator.allocate(100 * kMiB, 2), std::runtime_error);
  source.throw_on_order = false;
  AllocatorCheck::verify(allocator);
  EXPECT_EQ(allocator.current_allocated(), 0u);
  EXPECT_EQ(allocator.statistics().frees, before.frees);
  const size_t orders = source.orders;
  allocator.free(allocate(100 * kMiB, 1));  // it still belongs to the first stream
  EXPECT_EQ(source.orders, orders);
  EXPECT_EQ(allocator.reserved(), 100 * kMiB);
}

TEST_F(AllocatorStreamsTest, OrderIsTriedAgainAfterAFailure) {
  allocator.free(allocate(100 * kMiB, 1));
  source.throw_on_order = true;
  EXPECT_THROW(allocator.allocate(100 * kMiB, 2), std::runtime_error);
  source.throw_on_order = false;
  allocate(100 * kMiB, 2);
  EXPECT_EQ(allocator.statistics().orders, 1u);
  EXPECT_EQ(allocator.reserved(), 100 * kMiB);
}

TEST_F(AllocatorStreamsTest, BlockIsParkedUntilTheDeviceIsIdleIfItsUsersCannotBeOrdered) {
  Block* const block = allocate(100 * kMiB, 1);
  const uint64_t before = allocator.moment();
  source.synchronize();
  source.also(*block, 2);
  allocator.used_on(block, 2);
  source.throw_on_order = true;
  allocator.free(block);
  source.throw_on_order = false;
  allocator.idle_since(before);  // it was not free then
  EXPECT_EQ(allocator.current_allocated(), 0u);
  AllocatorCheck::verify(allocator);
  Block* const second = allocate(100 * kMiB, 1);
  EXPECT_EQ(allocator.reserved(), 200 * kMiB);
  allocator.empty_cache();
  EXPECT_EQ(allocator.reserved(), 100 * kMiB);
  allocator.free(second);
}

}  // namespace
}  // namespace kymo::device
