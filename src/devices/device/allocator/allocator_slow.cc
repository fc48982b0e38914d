// allocate() if the stream's own bins have no block.

#include "base/text.h"
#include "device/allocator/allocator.h"
#include "kymo/error.h"

namespace kymo::device {
namespace {

std::string words(uint64_t bytes) {
  if (bytes < kMiB) return base::format("{} bytes", bytes);
  constexpr size_t kGiB = 1024 * kMiB;
  if (bytes < 10 * kGiB) return base::format("{:.1f} MiB", static_cast<double>(bytes) / kMiB);
  return base::format("{:.2f} GiB", static_cast<double>(bytes) / kGiB);
}

}  // namespace

StreamCache& Allocator::cache_of(StreamId stream) {
  const std::lock_guard held(lock_);
  return arena_.cache_of(stream);
}

Block* Allocator::allocate_slow(size_t bytes, size_t size, MemoryPool pool, StreamId stream) {
  StreamCache& home = cache_of(stream);
  PoolStatistics& counts = pools_[pool_index(pool)];
  const bool from_any_stream = pool != MemoryPool::Small;
  Block* block = from_cache(bytes, size, pool, home, from_any_stream);
  Growing growing(growth_, std::defer_lock);
  if (block == nullptr) {
    growing.lock();
    // The thread that held the lock may have got enough memory for this request too.
    block = from_cache(bytes, size, pool, home, from_any_stream);
  }
  if (block != nullptr) {
    const std::lock_guard held(lock_);
    ++counts.hits;
    return block;
  }
  {
    const std::lock_guard held(lock_);
    ++counts.misses;
  }
  try {
    return miss(bytes, size, pool, home, growing);
  } catch (...) {
    const std::lock_guard held(lock_);
    ++counts.failures;
    throw;
  }
}

// Steps 2 to 7 of the header's list.
Block* Allocator::miss(size_t bytes, size_t size, MemoryPool pool, StreamCache& home, Growing& growing) {
  {
    std::unique_lock held(lock_);
    const bool hopeless = limit_ != 0 && size > limit_;
    held.unlock();
    if (hopeless) out_of_memory(bytes, home.id);
  }
  if (pool != MemoryPool::Small) collect(size, pool, growing);
  if (Block* const block = grow(bytes, size, pool, home)) return block;

  {
    const std::lock_guard held(lock_);
    ++pools_[pool_index(pool)].retries;
  }
  if (release_best_fit(size))
    if (Block* const block = grow(bytes, size, pool, home)) return block;

  growing.unlock();
  wait_until_idle();
  growing.lock();
  if (Block* const block = from_cache(bytes, size, pool, home, true)) return block;
  release_unused();
  if (Block* const block = grow(bytes, size, pool, home)) return block;
  if (Block* const block = from_other_pools(bytes, size, pool, home)) return block;
  out_of_memory(bytes, home.id);
}

Block* Allocator::from_cache(size_t bytes, size_t size, MemoryPool pool, StreamCache& home, bool from_any_stream) {
  std::unique_lock held(lock_);
  arena_.tidy();
  Block* found = arena_.best_of(pool, size, home);
  if (found == nullptr) found = arena_.best_elsewhere(pool, size, home, true);
  if (found == nullptr && from_any_stream) found = arena_.best_elsewhere(pool, size, home, false);
  return found == nullptr ? nullptr : finish(found, bytes, size, home, held);
}

Block* Allocator::from_other_pools(size_t bytes, size_t size, MemoryPool but, StreamCache& home) {
  std::unique_lock held(lock_);
  for (const MemoryPool pool : {MemoryPool::Small, MemoryPool::Large, MemoryPool::ExtraLarge, MemoryPool::Huge}) {
    if (pool == but) continue;
    Block* found = arena_.best_of(pool, size, home);
    if (found == nullptr) found = arena_.best_elsewhere(pool, size, home, false);
    if (found != nullptr) return finish(found, bytes, size, home, held);
  }
  return nullptr;
}

// Hands out a free block; if it belonged to another stream, the streams are ordered first. Releases the lock during
// that.
Block* Allocator::finish(Block* found, size_t bytes, size_t size, StreamCache& home, std::unique_lock<SpinLock>& held) {
  StreamCache* const former = found->home;
  const bool order = former != &home && !arena_.idle(found);
  Block* const block = arena_.take(found, size);
  block->home = &home;
  block->stream = home.id;
  block->requested = bytes;
  count_live(block);
  held.unlock();
  if (!order) return block;
  try {
    source_.order(former->id, home.id);
    orders_.fetch_add(1, std::memory_order_relaxed);
    return block;
  } catch (...) {
    held.lock();
    if (block->state != Block::State::Live) {
      end_of_not_live(block);
    } else {
      count_taken_back(block);
      block->home = former;
      block->stream = former->id;
      arena_.give(block, now_);
    }
    throw;
  }
}

size_t Allocator::segment_length(size_t size, MemoryPool pool) const {
  switch (pool) {
    case MemoryPool::Small:
      return kSmallSegment;
    case MemoryPool::Large:
      return kLargeSegment;
    case MemoryPool::ExtraLarge:
      return extra_large_segment(size, extra_large_);
    case MemoryPool::Huge:
      break;
  }
  return round_up(size, kHugeRounding);
}

// A new segment: of the pool's size, else for this request alone. Null if the limit or the driver refuses.
Block* Allocator::grow(size_t bytes, size_t size, MemoryPool pool, StreamCache& home) {
  const size_t alone = round_up(size, kHugeRounding);
  size_t length = segment_length(size, pool);
  if (pool == MemoryPool::ExtraLarge) {
    const std::lock_guard held(lock_);
    if (low_limit_ != 0 && total_.reserved + length > low_limit_) length = alone;
  }
  size_t shortest_tried = ~size_t{0};
  for (const size_t wanted : {length, alone, size}) {
    if (wanted >= shortest_tried || wanted > max_request_) continue;
    shortest_tried = wanted;
    if (Block* const block = grow_by(wanted, bytes, size, pool, home)) return block;
  }
  return nullptr;
}

Block* Allocator::grow_by(size_t length, size_t bytes, size_t size, MemoryPool pool, StreamCache& home) {
  auto segment = std::make_unique<Segment>();
  segment->size = length;
  segment->pool = pool;
  Block* whole = nullptr;
  {
    const std::lock_guard held(lock_);
    if (limit_ != 0 && total_.reserved + length > limit_) return nullptr;
    whole = arena_.nodes().take();
    count_reserved(pool, length);
  }
  const auto give_up = [&] {
    const std::lock_guard held(lock_);
    arena_.nodes().give(whole);
    count_released(pool, length);
  };
  try {
    segment->address = source_.allocate(length);
  } catch (...) {
    give_up();
    throw;
  }
  if (segment->address == 0) {
    give_up();
    return nullptr;
  }
  std::unique_lock held(lock_);
  arena_.add(std::move(segment), whole, home);
  return finish(whole, bytes, size, home, held);
}

void Allocator::refuse(size_t bytes) const {
  if (bytes == 0) throw InvalidArgument("cannot allocate 0 bytes: ask for 1 or more");
  throw OutOfMemory(
      base::format("asked for {} in one piece, but the max size of an allocation on this device is {}: split it up",
                   words(bytes), words(max_request_)),
      bytes, current_allocated(), limit());
}

void Allocator::out_of_memory(size_t bytes, StreamId stream) const {
  const MemoryStatistics now = statistics();
  std::string message = base::format(
      "out of device memory: asked for {} on stream {}; {} in use, {} cached in blocks that are too small, ",
      words(bytes), stream, words(now.current), words(now.cached));
  if (now.limit != 0)
    message += base::format(
        "limit {} ({:.2f} x the recommended maximum). Free something, or raise the limit with "
        "KYMO_HIGH_WATERMARK_RATIO or set_per_process_memory_fraction(), up to {}; 0.0 removes the limit, and the "
        "device may then run out of memory",
        words(now.limit), static_cast<double>(now.limit) / static_cast<double>(recommended_max_), kMaxWatermark);
  else
    message +=
        "no limit set: the driver has no more memory. Free something, or end other programs that use this device";
  throw OutOfMemory(message, bytes, now.current, now.limit);
}

}  // namespace kymo::device
