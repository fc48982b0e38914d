// The allocator's statistics, and their consistency check.

#include <algorithm>

#include "base/text.h"
#include "device/allocator/allocator.h"
#include "kymo/error.h"

namespace kymo::device {

MemoryStatistics Allocator::statistics() const {
  MemoryStatistics all;
  {
    const std::lock_guard held(lock_);
    static_cast<PoolStatistics&>(all) = total_;
    all.pools = pools_;
    all.limit = limit_;
    all.low_limit = low_limit_;
    all.synchronizes = synchronizes_;
    all.bad_frees = bad_frees_;
  }
  all.orders = orders_.load(std::memory_order_relaxed);
  all.cached = all.reserved - all.current;
  for (PoolStatistics& pool : all.pools) {
    pool.cached = pool.reserved - pool.current;
    pool.allocations = pool.hits + pool.misses - pool.failures;
    all.hits += pool.hits;
    all.misses += pool.misses;
    all.failures += pool.failures;
    all.allocations += pool.allocations;
    all.frees += pool.frees;
    all.collections += pool.collections;
    all.retries += pool.retries;
  }
  return all;
}

void Allocator::reset_peak() {
  const std::lock_guard held(lock_);
  const auto reset = [](PoolStatistics& figures) {
    figures.peak = figures.current;
    figures.peak_reserved = figures.reserved;
  };
  reset(total_);
  for (PoolStatistics& pool : pools_) reset(pool);
}

uint64_t Allocator::current_allocated() const {
  const std::lock_guard held(lock_);
  return total_.current;
}

uint64_t Allocator::reserved() const {
  const std::lock_guard held(lock_);
  return total_.reserved;
}

uint64_t Allocator::limit() const {
  const std::lock_guard held(lock_);
  return limit_;
}

std::vector<Allocator::Live> Allocator::live() const {
  std::vector<Live> found;
  const std::lock_guard held(lock_);
  for (const Segment* segment = arena_.first_segment(); segment != nullptr; segment = segment->next)
    for (const Block* block = segment->first; block != nullptr; block = block->after)
      if (block->state == Block::State::Live)
        found.push_back({block->address, block->size, block->requested, block->stream});
  return found;
}

void Allocator::verify() const {
  const std::lock_guard held(lock_);
  arena_.verify();
  std::array<uint64_t, kMemoryPools> current{}, reserved{};
  for (const Segment* segment = arena_.first_segment(); segment != nullptr; segment = segment->next) {
    reserved[pool_index(segment->pool)] += segment->size;
    for (const Block* block = segment->first; block != nullptr; block = block->after)
      if (block->state == Block::State::Live) current[pool_index(block->pool)] += block->size;
  }
  for (size_t i = 0; i < kMemoryPools; ++i)
    // Another thread may be between taking memory from the driver and adding it, or between removing and releasing.
    if (current[i] != pools_[i].current || reserved[i] > pools_[i].reserved)
      throw Error(base::format("the {} pool counts {} bytes live of {} and has {} of {}", kMemoryPoolNames[i],
                               pools_[i].current, pools_[i].reserved, current[i], reserved[i]));
}

}  // namespace kymo::device
