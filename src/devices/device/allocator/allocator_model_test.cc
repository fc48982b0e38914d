// Random work, compared with a simple model. After every step the allocator's statistics match a list of the live
// blocks, no two of them overlap, and every change of stream was ordered (the simulated device checks that).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "device/allocator/allocator.h"
#include "device/allocator/test_check.h"
#include "device/allocator/test_simulated_source.h"
#include "kymo/error.h"

namespace kymo::device {
namespace {

size_t random_request(std::mt19937_64& random, int powers) {
  const size_t power = size_t{256} << random() % powers;
  return power + random() % power;
}

struct ModelCase {
  const char* name;
  unsigned seed;
  StreamId streams;
  size_t capacity, recommended;  // MiB
  int failures_of_100;
  int powers;  // the number of powers of two, from 256 bytes
};

class AllocatorModelTest : public ::testing::TestWithParam<ModelCase> {
 protected:
  void check() {
    const MemoryStatistics now = allocator_.statistics();
    ASSERT_EQ(now.current, current_);
    ASSERT_EQ(now.peak, peak_);
    ASSERT_EQ(now.reserved, source_.taken());
    ASSERT_EQ(now.cached, now.reserved - now.current);
    ASSERT_EQ(now.allocations - now.frees, live_.size());
    ASSERT_EQ(now.bad_frees, 0u);
    ASSERT_EQ(source_.faults(), "");
  }

  void allocate() {
    const size_t bytes = random_request(random_, GetParam().powers);
    const auto stream = static_cast<StreamId>(random_() % GetParam().streams);
    Block* block = nullptr;
    try {
      block = allocator_.allocate(bytes, stream);
    } catch (const OutOfMemory& error) {
      ++refused_;
      ASSERT_EQ(error.in_use(), current_);
      if (source_.failures_of_100 == 0) check_refusal(round_up(bytes, kBlockAlignment));
      return;
    }
    ASSERT_EQ(block->requested, bytes);
    ASSERT_EQ(block->size, round_up(bytes, kBlockAlignment));
    ASSERT_EQ(block->stream, stream);
    ASSERT_TRUE(allocator_.limit() == 0 || source_.taken() <= std::max<size_t>(allocator_.limit(), excused_));
    const auto after = by_address_.lower_bound(block->address);
    ASSERT_TRUE(after == by_address_.end() || block->address + block->size <= after->first);
    ASSERT_TRUE(after == by_address_.begin() || std::prev(after)->second <= block->address);
    by_address_[block->address] = block->address + block->size;
    source_.begin(*block);
    live_.push_back(block);
    current_ += block->size;
    peak_ = std::max(peak_, current_);
  }

  // The driver had no more memory, and no gap in the reserved memory is as large as the request.
  void check_refusal(size_t size) {
    const size_t limit = allocator_.limit() == 0 ? ~size_t{0} : allocator_.limit();
    ASSERT_GT(source_.taken() + size, std::min(limit, source_.capacity));
    if (size > limit) return;
    for (const auto& [address, length] : source_.segments()) {
      Address free_from = address;
      for (auto next = by_address_.lower_bound(address); free_from < address + length; ++next) {
        const bool inside = next != by_address_.end() && next->first < address + length;
        // A huge segment with a live block is not split.
        if (length < 64 * kMiB) {
          ASSERT_LT((inside ? next->first : address + length) - free_from, size);
        }
        free_from = inside ? next->second : address + length;
      }
    }
  }

  void free() {
    if (live_.empty()) return;
    std::swap(live_[random_() % live_.size()], live_.back());
    Block* const block = live_.back();
    live_.pop_back();
    by_address_.erase(block->address);
    current_ -= block->size;
    allocator_.free(block);
  }

  void use_elsewhere() {
    if (live_.empty()) return;
    Block* const block = live_[random_() % live_.size()];
    const auto stream = static_cast<StreamId>(random_() % SimulatedSource::kStreams);
    source_.also(*block, stream);
    allocator_.used_on(block, stream);
  }

  void something_rare() {
    switch (random_() % 6) {
      case 0:
        allocator_.empty_cache();
        break;
      case 1: {
        const uint64_t before = allocator_.moment();
        source_.synchronize();
        allocator_.idle_since(before);
        break;
      }
      case 2:
        allocator_.set_fraction(static_cast<double>(random_() % 4) / 2);
        excused_ = source_.taken();  // above a limit that was set later
        break;
      case 3:
        allocator_.reset_peak();
        peak_ = current_;
        break;
      case 4:
        source_.failures_of_100 = source_.failures_of_100 == 0 ? GetParam().failures_of_100 : 0;
        break;
      default:
        for (size_t i = live_.size() / 2; i > 0; --i) free();
    }
  }

  SimulatedSource source_{GetParam().capacity * kMiB, GetParam().recommended* kMiB};
  Allocator allocator_{source_, AllocatorOptions{}};
  std::mt19937_64 random_{GetParam().seed};
  std::vector<Block*> live_;
  std::map<Address, Address> by_address_;
  uint64_t current_ = 0, peak_ = 0;
  size_t refused_ = 0, excused_ = 0;
};

TEST_P(AllocatorModelTest, StatisticsBlocksAndOrderAreCorrectAfterEveryStep) {
  for (int step = 0; step < 6000; ++step) {
    const auto what = random_() % 100;
    if (what < 48)
      allocate();
    else if (what < 90)
      free();
    else if (what < 99)
      use_elsewhere();
    else
      something_rare();
    if (HasFatalFailure()) return;
    ASSERT_NO_FATAL_FAILURE(check()) << "step " << step;
    if (step % 16 == 0) AllocatorCheck::verify(allocator_);
  }
  while (!live_.empty()) free();
  EXPECT_EQ(allocator_.current_allocated(), 0u);
  allocator_.empty_cache();
  EXPECT_EQ(allocator_.reserved(), 0u);
  EXPECT_EQ(source_.taken(), 0u);
  EXPECT_EQ(source_.faults(), "");
  if (std::min(GetParam().capacity, GetParam().recommended) < 1000) {
    EXPECT_GT(refused_, 0u);  // such a case must have refusals
  }
}

INSTANTIATE_TEST_SUITE_P(Random, AllocatorModelTest,
                         ::testing::Values(ModelCase{"OneStream", 1, 1, 65536, 65536, 0, 19},
                                           ModelCase{"FourStreams", 2, 4, 65536, 65536, 0, 19},
                                           ModelCase{"AllStreams", 3, kMaxStreams, 65536, 65536, 0, 18},
                                           ModelCase{"TightLimit", 4, 3, 65536, 700, 0, 19},
                                           ModelCase{"TightDriver", 5, 3, 600, 65536, 0, 19},
                                           ModelCase{"TinyDriver", 6, 4, 40, 65536, 0, 15},
                                           ModelCase{"FailingDriver", 7, 4, 8192, 4096, 40, 18},
                                           ModelCase{"SmallOnly", 8, 2, 65536, 65536, 0, 12},
                                           ModelCase{"SmallOnlyTight", 9, 5, 9, 9, 20, 12}),
                         [](const auto& made) { return made.param.name; });

// Several threads, each with its own stream. They also use and free each other's blocks.
TEST(AllocatorThreadsTest, ThreadsThatShareAnAllocatorNeverShareABlock) {
  constexpr int kThreads = 8, kSteps = 1500, kShared = 32;
  SimulatedSource source(600 * kMiB);
  Allocator allocator(source, AllocatorOptions{});
  std::array<std::atomic<Block*>, kShared> shared{};
  std::atomic<int> refused{0};
  const auto work = [&](StreamId stream) {
    std::mt19937_64 random(stream);
    for (int step = 0; step < kSteps; ++step) {
      Block* mine = nullptr;
      try {
        mine = allocator.allocate(random_request(random, 17), stream);
        source.begin(*mine);
      } catch (const OutOfMemory&) {
        ++refused;
      }
      // The thread that takes a block out of its place owns it.
      Block* const other = shared[random() % kShared].exchange(mine);
      if (other != nullptr) {
        source.also(*other, stream);
        allocator.used_on(other, stream);
        allocator.free(other);
      }
      if (random() % 200 == 0) allocator.empty_cache();
      if (random() % 100 == 0) {
        const uint64_t before = allocator.moment();
        source.synchronize();
        allocator.idle_since(before);
      }
      if (random() % 50 == 0) {
        const MemoryStatistics now = allocator.statistics();
        EXPECT_LE(now.current, now.reserved);
        EXPECT_LE(AllocatorCheck::live(allocator).size(), size_t{kShared} + kThreads);
      }
      if (random() % 50 == 0) AllocatorCheck::verify(allocator);
    }
  };
  std::vector<std::thread> threads;
  for (StreamId stream = 1; stream <= kThreads; ++stream) threads.emplace_back(work, stream);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(source.faults(), "");
  for (auto& place : shared) allocator.free(place.exchange(nullptr));
  EXPECT_EQ(allocator.current_allocated(), 0u);
  AllocatorCheck::verify(allocator);
  allocator.empty_cache();
  EXPECT_EQ(source.taken(), 0u);
  EXPECT_EQ(source.faults(), "");
  const MemoryStatistics end = allocator.statistics();
  EXPECT_EQ(end.allocations, size_t{kThreads} * kSteps - static_cast<size_t>(refused.load()));
  EXPECT_EQ(end.allocations, end.frees);
}

TEST(AllocatorThreadsTest, EveryRequestIsCountedOnceUnderContention) {
  constexpr int kThreads = 8, kPairs = 20'000;
  SimulatedSource source(size_t{1} << 30);
  Allocator allocator(source, AllocatorOptions{});
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      for (int pair = 0; pair < kPairs; ++pair) allocator.free(allocator.allocate(4096, static_cast<StreamId>(i)));
    });
  for (std::thread& thread : threads) thread.join();
  const MemoryStatistics end = allocator.statistics();
  EXPECT_EQ(end.allocations, uint64_t{kThreads} * kPairs);
  EXPECT_EQ(end.frees, end.allocations);
  EXPECT_EQ(end.current, 0u);
}

// 512 blocks of 512 B .. 64 MiB, with the same probability for each power of two, replaced at random 50,000 times.
TEST(AllocatorFragmentationTest, RandomMixedSizesReserveLessThanOneAndAHalfTimesTheirPeak) {
  SimulatedSource source(size_t{256} << 30);
  Allocator allocator(source, AllocatorOptions{});
  std::mt19937_64 random(11);
  std::vector<Block*> blocks(512);
  for (int step = 0; step < 50'000; ++step) {
    Block*& block = blocks[random() % blocks.size()];
    allocator.free(block);
    block = allocator.allocate(2 * random_request(random, 17), 0);
  }
  const MemoryStatistics now = allocator.statistics();
  EXPECT_LT(static_cast<double>(now.peak_reserved), 1.5 * static_cast<double>(now.peak));
  EXPECT_LT(now.misses, 200u);
  RecordProperty("reserved_to_peak_percent", static_cast<int>(100 * now.peak_reserved / now.peak));
  for (Block* block : blocks) allocator.free(block);
}

}  // namespace
}  // namespace kymo::device
