// Looks into an allocator: whether its blocks, bins and statistics agree, and which blocks are live.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/text.h"
#include "device/allocator/allocator.h"
#include "kymo/error.h"

namespace kymo::device {

class AllocatorCheck {
 public:
  static std::vector<const Block*> live(const Allocator& allocator) {
    std::vector<const Block*> found;
    const std::lock_guard held(allocator.lock_);
    for (const Segment* segment = allocator.arena_.first_segment(); segment != nullptr; segment = segment->next)
      for (const Block* block = segment->first; block != nullptr; block = block->after)
        if (block->state == Block::State::Live) found.push_back(block);
    return found;
  }

  // Visits everything, and throws Error if something does not agree.
  static void verify(const Allocator& allocator) {
    const std::lock_guard held(allocator.lock_);
    verify(allocator.arena_);
    std::array<uint64_t, kMemoryPools> current{}, reserved{};
    for (const Segment* segment = allocator.arena_.first_segment(); segment != nullptr; segment = segment->next) {
      reserved[pool_index(segment->pool)] += segment->size;
      for (const Block* block = segment->first; block != nullptr; block = block->after)
        if (block->state == Block::State::Live) current[pool_index(block->pool)] += block->size;
    }
    for (size_t i = 0; i < kMemoryPools; ++i)
      // Another thread may be between taking memory from the driver and adding it, or between removing and releasing.
      if (current[i] != allocator.pools_[i].current || reserved[i] > allocator.pools_[i].reserved)
        throw Error(base::format("the {} pool counts {} bytes live of {} and has {} of {}", kMemoryPoolNames[i],
                                 allocator.pools_[i].current, allocator.pools_[i].reserved, current[i], reserved[i]));
  }

 private:
  static void verify(const Arena& arena) {
    const auto require = [](bool right, const char* what, const Block* block) {
      if (!right) throw Error(base::format("the block at {:#x} of {} bytes {}", block->address, block->size, what));
    };
    size_t free_blocks = 0;
    for (const Segment* segment = arena.segments_; segment != nullptr; segment = segment->next) {
      Address expected = segment->address;
      const Block* before = nullptr;
      for (const Block* block = segment->first; block != nullptr; before = block, block = block->after) {
        require(block->address == expected && block->size > 0, "is not where its neighbour ends", block);
        require(block->before == before && block->segment == segment, "is not linked to its neighbour", block);
        require(block->pool == segment->pool && block->stream == block->home->id, "has the wrong pool or home", block);
        require(block->state != Block::State::Unused && block->state != Block::State::Orphan, "is not in use", block);
        const bool whole = segment->pool == MemoryPool::Huge;
        expected += whole ? segment->size : block->size;
        if (block->state != Block::State::Free) continue;
        ++free_blocks;
        if (block->loose) {
          require(block->home->last_freed[pool_index(block->pool)] == block, "is loose but not the last freed block",
                  block);
        } else if (before != nullptr && before->state == Block::State::Free && !before->loose &&
                   arena.tidy_mark_ == arena.idle_mark_) {
          require(before->home != block->home && !arena.idle(before) && !arena.idle(block),
                  "should be merged with its neighbour", block);
        }
      }
      require(expected == segment->address + segment->size, "does not reach the end of its segment", before);
    }
    for (const auto& cache : arena.caches_)
      for (size_t pool = 0; pool < kMemoryPools; ++pool)
        each(cache->pools[pool], [&](const Block* block, uint32_t bin) {
          --free_blocks;
          require(block->state == Block::State::Free && block->home == cache.get() && pool_index(block->pool) == pool &&
                      block->bin == bin && cache->pools[pool].index(block->size) == bin,
                  "is in the wrong bin", block);
        });
    if (free_blocks != 0) throw Error("free blocks and blocks in bins differ in number");
  }

  template <class Visit>
  static void each(const Bins& bins, Visit visit) {
    for (uint32_t bin = bins.next_bin(0); bin != Bins::kNone; bin = bins.next_bin(bin + 1))
      for (const Block* block = bins.heads_[bin]; block != nullptr; block = block->next) visit(block, bin);
  }
};

}  // namespace kymo::device
