// Returns memory to the driver.
//
// A segment can be released if it has no live block and the block that was freed in it last is idle. Segments are
// removed from the arena under the lock and released after it, so no thread waits for the driver unnecessarily.
#include <algorithm>
#include <limits>

#include "device/allocator/allocator.h"

namespace kymo::device {

void Allocator::wait_until_idle() {
  const uint64_t before = moment();
  source_.synchronize();
  idle_since(before);
  const std::lock_guard held(lock_);
  ++synchronizes_;
}

void Allocator::detach(Segment* segment, Segment*& chain) {
  Segment* const removed = arena_.remove(segment).release();
  removed->next = chain;
  chain = removed;
}

void Allocator::release(Segment* chain) noexcept {
  while (chain != nullptr) {
    const std::unique_ptr<Segment> segment(chain);
    chain = segment->next;
    source_.release(segment->address, segment->size);
    const std::lock_guard held(lock_);
    count_released(segment->pool, segment->size);
  }
}

void Allocator::release_unused() {
  Segment* chain = nullptr;
  {
    const std::lock_guard held(lock_);
    arena_.tidy();
    for (Segment *segment = arena_.first_segment(), *next = nullptr; segment != nullptr; segment = next) {
      next = segment->next;
      if (segment->unused() && arena_.idle(segment->first)) detach(segment, chain);
    }
  }
  release(chain);
}

// Releases enough idle memory for a request that the driver or the limit refused: the one segment that fits best, else
// the largest ones. False, and nothing is released, if all idle memory is not enough.
bool Allocator::release_best_fit(size_t size) {
  Segment* chain = nullptr;
  {
    const std::lock_guard held(lock_);
    arena_.tidy();
    size_t need = size;
    if (limit_ != 0 && total_.reserved + size > limit_) need = total_.reserved + size - limit_;
    const auto usable = [this](const Segment* segment) { return segment->unused() && arena_.idle(segment->first); };
    size_t all = 0;
    for (const Segment* segment = arena_.first_segment(); segment != nullptr; segment = segment->next)
      if (usable(segment)) all += segment->size;
    if (all < need) return false;
    while (need > 0) {
      Segment* best = nullptr;
      for (Segment* segment = arena_.first_segment(); segment != nullptr; segment = segment->next) {
        if (!usable(segment)) continue;
        const bool enough = segment->size >= need;
        if (best == nullptr || (enough ? best->size < need || segment->size < best->size : segment->size > best->size))
          best = segment;
      }
      need -= std::min(need, best->size);
      detach(best, chain);
    }
  }
  release(chain);
  return true;
}

// Above the low watermark: releases unused memory above it, the longest unused first. Each round takes the segments
// that were unused for longer than the average, as long as that helps.
void Allocator::collect(size_t size, MemoryPool pool, Growing& growing) {
  const auto candidate = [](const Segment* segment) { return segment->pool != MemoryPool::Small && segment->unused(); };
  size_t unused = 0, idle = 0, target = 0;
  {
    const std::lock_guard held(lock_);
    if (low_limit_ == 0 || total_.reserved + size <= low_limit_) return;
    target = total_.reserved + size - low_limit_;
    arena_.tidy();
    for (const Segment* segment = arena_.first_segment(); segment != nullptr; segment = segment->next) {
      if (!candidate(segment)) continue;
      unused += segment->size;
      if (arena_.idle(segment->first)) idle += segment->size;
    }
  }
  if (unused < size) return;
  if (idle < std::min(target, unused)) {
    growing.unlock();
    wait_until_idle();
    growing.lock();
  }

  Segment* chain = nullptr;
  {
    const std::lock_guard held(lock_);
    arena_.tidy();
    ++pools_[pool_index(pool)].collections;
    for (bool progress = true; progress && target > 0;) {
      uint64_t ages = 0, count = 0;
      for (const Segment* segment = arena_.first_segment(); segment != nullptr; segment = segment->next) {
        if (!candidate(segment) || !arena_.idle(segment->first)) continue;
        ages += now_ - segment->first->freed_at;
        ++count;
      }
      progress = false;
      for (Segment *segment = arena_.first_segment(), *next = nullptr; segment != nullptr && target > 0;
           segment = next) {
        next = segment->next;
        if (!candidate(segment) || !arena_.idle(segment->first)) continue;
        if ((now_ - segment->first->freed_at) * count < ages) continue;
        target -= std::min(target, segment->size);
        detach(segment, chain);
        progress = true;
      }
    }
  }
  release(chain);
}

}  // namespace kymo::device
