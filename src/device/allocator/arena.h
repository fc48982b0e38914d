// Segments cut into blocks, and the free ones by stream and size. No lock, no driver: the allocator has those.
//
// A free block belongs to a stream, its home, and lies in that stream's bins. take() and give() cost two bit scans and
// a few links each; everything else here may look at all blocks, and is for requests that the cache could not serve.
//
// A block that was freed stays loose, apart from its free neighbours, until the next one of its stream and pool is
// freed: programs that free a size and want it again, which is most, then neither join nor cut anything.
//
// Time is counted in requests. The idle mark is the last moment before which everything that was freed is known to be
// idle: such a block may go to any stream, merge with any neighbour, and be released. Memory fresh from the driver is
// idle.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "device/allocator/bins.h"
#include "device/allocator/block.h"
#include "device/allocator/block_nodes.h"
#include "device/allocator/sizes.h"

namespace kymo::device {

// The free blocks of one stream.
struct StreamCache {
  StreamCache(StreamId stream, const std::array<size_t, kMemoryPools>& longest)
      : id(stream), pools{Bins(longest[0]), Bins(longest[1]), Bins(longest[2]), Bins(longest[3])} {}

  StreamId id;
  std::array<Bins, kMemoryPools> pools;
  // What was freed last, see Arena::give. Good only where it is still free, loose and of this stream.
  std::array<Block*, kMemoryPools> last_freed{};

  Bins& pool(MemoryPool which) { return pools[pool_index(which)]; }
};

class Arena {
 public:
  explicit Arena(const std::array<size_t, kMemoryPools>& longest) : longest_(longest) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // The bins of a stream: null where it has none yet; made where it has none.
  StreamCache* find(StreamId stream) {
    if (stream < kDirect) [[likely]]
      return direct_[stream];
    const auto found = others_.find(stream);
    return found == others_.end() ? nullptr : found->second;
  }
  StreamCache& cache_of(StreamId stream);

  // A live block of exactly `size` bytes from the stream's own, or null. `size` is a multiple of 512.
  Block* take(MemoryPool pool, size_t size, StreamCache& home) {
    Bins& bins = home.pool(pool);
    if (pool == MemoryPool::Huge) [[unlikely]]
      return take_huge(bins, size);
    Block* const block = bins.best(size);
    return block == nullptr ? nullptr : cut(block, bins, size);
  }

  // The same from one free block, wherever it is.
  Block* take(Block* block, size_t size) { return cut(block, block->home->pool(block->pool), size); }

  // The best of all free blocks of the pool that belong to other streams, idle ones only or any. `size` as above.
  Block* best_elsewhere(MemoryPool pool, size_t size, const StreamCache& home, bool idle_only);
  // The best of the stream's own, however long it takes: take() may miss one.
  Block* best_of(MemoryPool pool, size_t size, StreamCache& home);

  // The end of a live or parked block. It goes into a bin of its home's as it is: often the same size is wanted next.
  // The one that was freed before it becomes part of its free neighbours.
  void give(Block* block, uint64_t now) {
    StreamCache& home = *block->home;
    Block*& last = home.last_freed[pool_index(block->pool)];
    Block* const former = last;
    if (block->pool == MemoryPool::Huge) block->size = block->segment->size;
    block->state = Block::State::Free;
    block->freed_at = now;
    block->loose = true;
    home.pool(block->pool).insert(block);
    last = block;
    if (former != block) join(former, home);
  }

  bool idle(const Block* block) const { return block->freed_at <= idle_mark_; }
  void set_idle_mark(uint64_t mark) {
    if (mark > idle_mark_) idle_mark_ = mark;
  }
  // Puts together what can be: loose blocks, and neighbours that became idle. Looks at all blocks when there may be
  // such.
  void tidy();

  // A segment with its one free block, which is `home`'s and idle.
  void add(std::unique_ptr<Segment> segment, Block* whole, StreamCache& home);
  // The end of an unused one; the caller releases the memory.
  std::unique_ptr<Segment> remove(Segment* segment);
  Segment* first_segment() const { return segments_; }

  // Throws Error where blocks, links and bins do not agree.
  void verify() const;

  // Everything goes, live blocks become orphans. Nothing is released.
  void forget();

  BlockNodes& nodes() { return nodes_; }
  const std::vector<std::unique_ptr<StreamCache>>& caches() const { return caches_; }

 private:
  static constexpr StreamId kDirect = 64;

  Block* take_huge(Bins& bins, size_t size);

  bool mergeable(const Block* neighbour, const StreamCache& home) const {
    return neighbour != nullptr && neighbour->state == Block::State::Free && !neighbour->loose &&
           (neighbour->home == &home || idle(neighbour));
  }

  // Puts a loose block together with its neighbours, if it is one still. Neighbours that are loose follow later.
  void join(Block* block, StreamCache& home) {
    if (block == nullptr || block->state != Block::State::Free || !block->loose || block->home != &home) return;
    block->loose = false;
    Block* const before = block->before;
    Block* const after = block->after;
    const bool with_before = mergeable(before, home);
    const bool with_after = mergeable(after, home);
    if (!with_before && !with_after) return;
    home.pool(block->pool).remove(block);
    uint64_t freed_at = block->freed_at;
    if (!with_before) {
      after->address = block->address;
      after->size += block->size;
      absorb(block);
      settle(after, home, freed_at);
      return;
    }
    before->size += block->size;
    absorb(block);
    if (with_after) {
      before->size += after->size;
      freed_at = freed_at > after->freed_at ? freed_at : after->freed_at;
      after->home->pool(after->pool).remove(after);
      absorb(after);
    }
    settle(before, home, freed_at);
  }

  // Off the front of a free block, which keeps its node for the rest: often not even its bin changes.
  Block* cut(Block* block, Bins& bins, size_t size) {
    const size_t rest = block->size - size;
    if (rest == 0 || block->pool == MemoryPool::Huge) {
      bins.remove(block);
      block->size = size;
      block->state = Block::State::Live;
      return block;
    }
    Block* const front = nodes_.take();
    front->address = block->address;
    front->size = size;
    front->stream = block->stream;
    front->state = Block::State::Live;
    front->pool = block->pool;
    front->loose = false;
    front->home = block->home;
    front->freed_at = block->freed_at;
    front->segment = block->segment;
    front->before = block->before;
    front->after = block;
    if (front->before != nullptr)
      front->before->after = front;
    else
      front->segment->first = front;
    block->before = front;
    block->address += size;
    block->size = rest;
    if (!bins.in_place(block)) {
      bins.remove(block);
      bins.insert(block);
    }
    return front;
  }

  // The end of a node that is in no bin, its memory being part of a neighbour now.
  void absorb(Block* block) {
    if (block->before != nullptr)
      block->before->after = block->after;
    else
      block->segment->first = block->after;
    if (block->after != nullptr) block->after->before = block->before;
    nodes_.give(block);
  }

  // A free block that grew: into the right bin, of the right stream.
  void settle(Block* block, StreamCache& home, uint64_t now) {
    block->freed_at = block->freed_at > now ? block->freed_at : now;
    Bins& bins = block->home->pool(block->pool);
    if (block->home == &home && bins.in_place(block)) return;
    bins.remove(block);
    block->home = &home;
    block->stream = home.id;
    home.pool(block->pool).insert(block);
  }

  uint64_t idle_mark_ = 0;
  uint64_t tidy_mark_ = 0;  // the idle mark when tidy() last looked
  BlockNodes nodes_;
  std::array<StreamCache*, kDirect> direct_{};
  std::unordered_map<StreamId, StreamCache*> others_;
  std::vector<std::unique_ptr<StreamCache>> caches_;
  Segment* segments_ = nullptr;
  std::array<size_t, kMemoryPools> longest_;
};

}  // namespace kymo::device
