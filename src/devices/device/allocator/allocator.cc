#include "device/allocator/allocator.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::device {
namespace {

constexpr size_t kLongestHuge = size_t{1} << 48;  // for the bins: all longer blocks share the last one

MemoryPool pool_of(size_t size, size_t extra_large) {
  if (size <= kMaxSmall) return MemoryPool::Small;
  if (size < kMinExtraLarge) return MemoryPool::Large;
  return size < extra_large / 2 ? MemoryPool::ExtraLarge : MemoryPool::Huge;
}

void add(uint64_t& value, uint64_t& peak, uint64_t bytes) {
  value += bytes;
  if (value > peak) peak = value;
}

}  // namespace

Allocator::Allocator(MemorySource& source, const AllocatorOptions& options)
    : max_request_(source.max_allocation() / kBlockAlignment * kBlockAlignment),
      extra_large_(max_extra_large_segment(options.unified, source.recommended_max())),
      arena_({kSmallSegment, kLargeSegment, extra_large_, kLongestHuge}),
      source_(source),
      recommended_max_(source.recommended_max()),
      low_(options.low) {
  options.check();
  set_limits(options.high);
}

Allocator::~Allocator() {
  try {
    source_.synchronize();
  } catch (...) {  // a lost device does not use the memory any more either
  }
  for (Segment* segment = arena_.first_segment(); segment != nullptr; segment = segment->next)
    source_.release(segment->address, segment->size);
  arena_.forget();
}

Block* Allocator::allocate(size_t bytes, StreamId stream) {
  if (bytes - 1 >= max_request_) [[unlikely]]  // also true for 0 bytes
    refuse(bytes);
  const size_t size = round_up(bytes, kBlockAlignment);
  const MemoryPool pool = pool_of(size, extra_large_);
  {
    const std::lock_guard held(lock_);
    ++now_;
    if (StreamCache* const home = arena_.find(stream)) [[likely]] {
      if (Block* const block = arena_.take(pool, size, *home)) [[likely]] {
        block->requested = bytes;
        ++pools_[pool_index(pool)].hits;
        count_live(block);
        return block;
      }
    }
  }
  return allocate_slow(bytes, size, pool, stream);
}

void Allocator::free(Block* block) noexcept {
  if (block == nullptr) return;
  bool ordered = true;
  if (block->used_on.load(std::memory_order_relaxed) != 0 || block->used_on_more != nullptr) [[unlikely]]
    ordered = wait_for_others(*block);
  const std::lock_guard held(lock_);
  if (block->state != Block::State::Live) [[unlikely]]
    return end_of_not_live(block);
  count_taken_back(block);
  ++pools_[pool_index(block->pool)].frees;
  if (ordered) [[likely]]
    return arena_.give(block, now_);
  block->state = Block::State::Parked;
  block->freed_at = now_;
  block->next = parked_;
  parked_ = block;
}

void Allocator::used_on(Block* block, StreamId stream) {
  if (stream == block->stream) return;
  constexpr StreamId kBits = 64;
  if (stream < kBits) {
    block->used_on.fetch_or(uint64_t{1} << stream, std::memory_order_relaxed);
    return;
  }
  const std::lock_guard held(lock_);
  if (block->used_on_more == nullptr) block->used_on_more = std::make_unique<std::vector<StreamId>>();
  auto& more = *block->used_on_more;
  if (std::find(more.begin(), more.end(), stream) == more.end()) more.push_back(stream);
}

// The block's home stream waits for the other streams that use it; false if the device call failed.
bool Allocator::wait_for_others(Block& block) noexcept {
  uint64_t bits = block.used_on.exchange(0, std::memory_order_relaxed);
  const auto more = std::move(block.used_on_more);
  try {
    for (; bits != 0; bits &= bits - 1) {
      source_.order(static_cast<StreamId>(std::countr_zero(bits)), block.stream);
      orders_.fetch_add(1, std::memory_order_relaxed);
    }
    if (more != nullptr) {
      for (const StreamId other : *more) {
        source_.order(other, block.stream);
        orders_.fetch_add(1, std::memory_order_relaxed);
      }
    }
    return true;
  } catch (...) {
    return false;
  }
}

void Allocator::end_of_not_live(Block* block) noexcept {
  if (block->state == Block::State::Orphan)
    arena_.nodes().give(block);
  else
    ++bad_frees_;
}

void Allocator::count_live(const Block* block) {
  PoolStatistics& pool = pools_[pool_index(block->pool)];
  add(pool.current, pool.peak, block->size);
  add(total_.current, total_.peak, block->size);
}

void Allocator::count_taken_back(const Block* block) {
  pools_[pool_index(block->pool)].current -= block->size;
  total_.current -= block->size;
}

void Allocator::count_reserved(MemoryPool which, size_t bytes) {
  PoolStatistics& pool = pools_[pool_index(which)];
  add(pool.reserved, pool.peak_reserved, bytes);
  add(total_.reserved, total_.peak_reserved, bytes);
}

void Allocator::count_released(MemoryPool which, size_t bytes) {
  pools_[pool_index(which)].reserved -= bytes;
  total_.reserved -= bytes;
}

void Allocator::set_limits(double high) {
  const auto bytes_of = [this](double ratio) {
    return ratio == 0 ? 0 : std::max<size_t>(1, static_cast<size_t>(ratio * static_cast<double>(recommended_max_)));
  };
  limit_ = bytes_of(high);
  low_limit_ = bytes_of(high > 0 ? std::min(low_, high) : low_);
}

void Allocator::set_fraction(double fraction) {
  if (!(fraction >= 0 && fraction <= kMaxWatermark))
    throw InvalidArgument(base::format(
        "memory fraction {} is out of range: use 0 (no limit) to {}, a fraction of the recommended maximum of {} bytes",
        fraction, kMaxWatermark, recommended_max_));
  {
    const std::lock_guard held(lock_);
    set_limits(fraction);
    if (limit_ == 0 || total_.reserved <= limit_) return;
  }
  empty_cache();
}

void Allocator::empty_cache() {
  wait_until_idle();
  release_unused();
}

uint64_t Allocator::moment() {
  const std::lock_guard held(lock_);
  return now_++;
}

void Allocator::idle_since(uint64_t moment) {
  const std::lock_guard held(lock_);
  arena_.set_idle_mark(std::min(moment, now_ - 1));
  for (Block** link = &parked_; *link != nullptr;) {
    Block* const block = *link;
    if (!arena_.idle(block)) {
      link = &block->next;
      continue;
    }
    *link = block->next;
    arena_.give(block, block->freed_at);
  }
}

void Allocator::forget() {
  const std::lock_guard growing(growth_);
  const std::lock_guard held(lock_);
  arena_.forget();
  parked_ = nullptr;
  total_.current = total_.reserved = 0;
  for (PoolStatistics& pool : pools_) pool.current = pool.reserved = 0;
}

}  // namespace kymo::device
