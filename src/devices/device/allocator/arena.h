// Segments cut into blocks, and the free blocks by stream and size. This class has no lock and no driver: the allocator
// has those.
//
// A free block belongs to a stream, its home, and is in that stream's bins. take() and give() cost two bit scans and a
// few links each. All other functions may visit all blocks; they are for requests that the cache could not serve.
//
// A freed block stays loose: it is not merged with its free neighbours until the next block of its stream and pool is
// freed. Most programs free a size and then allocate it again, so they neither merge nor cut anything.
//
// Time is counted in requests. The idle mark is the latest moment for which this is known: everything freed before it
// is idle. An idle block can go to any stream, merge with any neighbour, and be released. Memory that is new from the
// driver is idle.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/allocator/bins.h"
#include "device/allocator/block.h"

namespace kymo::device {

// The free blocks of one stream.
struct StreamCache {
  StreamCache(StreamId stream, const std::array<size_t, kMemoryPools>& longest)
      : id(stream), pools{Bins(longest[0]), Bins(longest[1]), Bins(longest[2]), Bins(longest[3])} {}

  StreamId id;
  std::array<Bins, kMemoryPools> pools;
  // The block that was freed last, see Arena::give. Valid only if it is still free, loose and of this stream.
  std::array<Block*, kMemoryPools> last_freed{};

  Bins& pool(MemoryPool which) { return pools[pool_index(which)]; }
};

class Arena {
 public:
  explicit Arena(const std::array<size_t, kMemoryPools>& longest) : longest_(longest) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // The bins of a stream. find() returns null if the stream has none yet; cache_of() creates them.
  StreamCache* find(StreamId stream) { return by_stream_[stream]; }
  StreamCache& cache_of(StreamId stream);

  // A live block of exactly `size` bytes from the stream's own blocks, or null. `size` is a multiple of 512.
  Block* take(MemoryPool pool, size_t size, StreamCache& home) {
    Bins& bins = home.pool(pool);
    if (pool == MemoryPool::Huge) [[unlikely]]
      return take_huge(bins, size);
    Block* const block = bins.best(size);
    return block == nullptr ? nullptr : cut(block, bins, size);
  }

  // The same from one given free block.
  Block* take(Block* block, size_t size) { return cut(block, block->home->pool(block->pool), size); }

  // The best free block of the pool that belongs to another stream: only idle blocks, or any. `size` as above.
  Block* best_elsewhere(MemoryPool pool, size_t size, const StreamCache& home, bool idle_only);
  // The best of the stream's own blocks, found by a full search: take() may miss it.
  Block* best_of(MemoryPool pool, size_t size, StreamCache& home);

  // Frees a live or parked block. The block goes into a bin of its home unchanged, because the same size is often
  // requested next. The block that was freed before it is merged with its free neighbours.
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
  // Merges what can be merged: loose blocks, and neighbours that became idle. Visits all blocks if there may be such
  // blocks.
  void tidy();

  // Adds a segment with its one free block, which belongs to `home` and is idle.
  void add(std::unique_ptr<Segment> segment, Block* whole, StreamCache& home);
  // Removes an unused segment; the caller releases its memory.
  std::unique_ptr<Segment> remove(Segment* segment);
  Segment* first_segment() const { return segments_; }

  // Removes everything; live blocks become orphans. Nothing is released.
  void forget();

  BlockNodes& nodes() { return nodes_; }

 private:
  friend class AllocatorCheck;

  Block* take_huge(Bins& bins, size_t size);

  bool mergeable(const Block* neighbour, const StreamCache& home) const {
    return neighbour != nullptr && neighbour->state == Block::State::Free && !neighbour->loose &&
           (neighbour->home == &home || idle(neighbour));
  }

  // Merges a block with its neighbours if it is still loose. Loose neighbours are merged later.
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

  // Cuts `size` bytes off the front of a free block. The rest keeps the node, and often stays in the same bin.
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

  // Frees a node that is in no bin. Its memory is now part of a neighbour.
  void absorb(Block* block) {
    if (block->before != nullptr)
      block->before->after = block->after;
    else
      block->segment->first = block->after;
    if (block->after != nullptr) block->after->before = block->before;
    nodes_.give(block);
  }

  // Moves a free block that grew into the right bin, of the right stream.
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
  uint64_t tidy_mark_ = 0;  // the idle mark at the last tidy()
  BlockNodes nodes_;
  std::array<StreamCache*, kMaxStreams> by_stream_{};
  std::vector<std::unique_ptr<StreamCache>> caches_;
  Segment* segments_ = nullptr;
  std::array<size_t, kMemoryPools> longest_;
};

}  // namespace kymo::device
