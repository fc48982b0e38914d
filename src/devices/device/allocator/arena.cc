#include "device/allocator/arena.h"

#include <utility>

namespace kymo::device {
namespace {

// Huge blocks are not split, so a block that is much too large does not fit.
bool fits(const Block* block, size_t size) {
  return block->pool != MemoryPool::Huge || block->size - size <= kHugeSlack;
}

}  // namespace

StreamCache& Arena::cache_of(StreamId stream) {
  if (StreamCache* const known = find(stream)) return *known;
  caches_.push_back(std::make_unique<StreamCache>(stream, longest_));
  return *(by_stream_[stream] = caches_.back().get());
}

Block* Arena::take_huge(Bins& bins, size_t size) {
  Block* const block = bins.search(size, [size](const Block* candidate) { return fits(candidate, size); });
  return block == nullptr ? nullptr : cut(block, bins, size);
}

Block* Arena::best_of(MemoryPool pool, size_t size, StreamCache& home) {
  return home.pool(pool).search(size, [size](const Block* block) { return fits(block, size); });
}

Block* Arena::best_elsewhere(MemoryPool pool, size_t size, const StreamCache& home, bool idle_only) {
  Block* best = nullptr;
  for (const auto& cache : caches_) {
    if (cache.get() == &home) continue;
    Block* const found = cache->pool(pool).search(
        size, [&](const Block* block) { return fits(block, size) && (!idle_only || idle(block)); });
    if (found != nullptr && (best == nullptr || found->size < best->size)) best = found;
  }
  return best;
}

void Arena::tidy() {
  for (const auto& cache : caches_)
    for (Block*& last : cache->last_freed) join(std::exchange(last, nullptr), *cache);
  if (tidy_mark_ == idle_mark_) return;
  for (Segment* segment = segments_; segment != nullptr; segment = segment->next) {
    Block* block = segment->first;
    while (Block* const after = block->after) {
      const bool both_free = block->state == Block::State::Free && after->state == Block::State::Free;
      if (!both_free || (block->home != after->home && !idle(block) && !idle(after))) {
        block = after;
        continue;
      }
      // The merged block belongs to the stream of the part that is not idle.
      StreamCache& home = idle(block) ? *after->home : *block->home;
      const uint64_t freed_at = after->freed_at;
      after->home->pool(after->pool).remove(after);
      block->size += after->size;
      absorb(after);
      settle(block, home, freed_at);
    }
  }
  tidy_mark_ = idle_mark_;
}

void Arena::add(std::unique_ptr<Segment> segment, Block* whole, StreamCache& home) {
  whole->address = segment->address;
  whole->size = segment->size;
  whole->stream = home.id;
  whole->state = Block::State::Free;
  whole->pool = segment->pool;
  whole->loose = false;
  whole->home = &home;
  whole->before = whole->after = nullptr;
  whole->freed_at = 0;
  whole->segment = segment.get();
  segment->first = whole;
  segment->next = segments_;
  if (segments_ != nullptr) segments_->previous = segment.get();
  home.pool(whole->pool).insert(whole);
  segments_ = segment.release();
}

std::unique_ptr<Segment> Arena::remove(Segment* segment) {
  Block* const whole = segment->first;
  whole->home->pool(whole->pool).remove(whole);
  nodes_.give(whole);
  if (segment->previous != nullptr)
    segment->previous->next = segment->next;
  else
    segments_ = segment->next;
  if (segment->next != nullptr) segment->next->previous = segment->previous;
  segment->next = segment->previous = nullptr;
  return std::unique_ptr<Segment>(segment);
}

void Arena::forget() {
  for (const auto& cache : caches_) {
    for (Bins& bins : cache->pools) bins.clear();
    cache->last_freed.fill(nullptr);
  }
  while (segments_ != nullptr) {
    const std::unique_ptr<Segment> segment(segments_);
    segments_ = segment->next;
    for (Block* block = segment->first; block != nullptr;) {
      Block* const after = block->after;
      block->segment = nullptr;
      block->before = block->after = nullptr;
      if (block->state == Block::State::Live)
        block->state = Block::State::Orphan;
      else
        nodes_.give(block);
      block = after;
    }
  }
}

}  // namespace kymo::device
