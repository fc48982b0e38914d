#include "device/allocator/allocator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "base/environment.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::device {
namespace {

struct Ratio {
  std::string text;  // NAME=value, for messages
  double value;
};

std::optional<Ratio> ratio_of(base::Variable name, base::Variable alias) {
  for (const base::Variable variable : {name, alias}) {
    const char* const text = base::environment(variable);
    if (text == nullptr || *text == '\0') continue;
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (*end != '\0' || !std::isfinite(value))
      throw InvalidArgument(base::format("{}={} is not valid: use a ratio of the device's recommended maximum, 0 to {}",
                                         variable.name(), text, kMaxWatermark));
    return Ratio{base::format("{}={}", variable.name(), text), value};
  }
  return std::nullopt;
}

void check_high(const std::string& what, double high) {
  if (!(high >= 0 && high <= kMaxWatermark))
    throw InvalidArgument(base::format("{} is out of range: use 0 (no limit) to {}", what, kMaxWatermark));
}

void check_low(const std::string& what, double low, double high) {
  const double max = high > 0 ? high : kMaxWatermark;
  if (!(low >= 0 && low <= max))
    throw InvalidArgument(base::format("{} is out of range: use 0 (never collect) to {}{}", what, max,
                                       max < kMaxWatermark ? ", the high watermark ratio" : ""));
}

}  // namespace

AllocatorOptions AllocatorOptions::defaults(bool unified) {
  AllocatorOptions options;
  options.unified = unified;
  if (unified) {
    options.high = 1.7;
    options.low = 1.4;
  }
  return options;
}

AllocatorOptions AllocatorOptions::from_environment(bool unified) {
  AllocatorOptions options = defaults(unified);
  if (const auto high = ratio_of("KYMO_HIGH_WATERMARK_RATIO", "PYTORCH_MPS_HIGH_WATERMARK_RATIO")) {
    check_high(high->text, high->value);
    options.high = high->value;
    if (options.high > 0) options.low = std::min(options.low, options.high);
  }
  if (const auto low = ratio_of("KYMO_LOW_WATERMARK_RATIO", "PYTORCH_MPS_LOW_WATERMARK_RATIO")) {
    check_low(low->text, low->value, options.high);
    options.low = low->value;
  }
  return options;
}

void AllocatorOptions::check() const {
  check_high(base::format("high watermark ratio {}", high), high);
  check_low(base::format("low watermark ratio {}", low), low, kMaxWatermark);
}

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

std::string words(uint64_t bytes) {
  if (bytes < kMiB) return base::format("{} bytes", bytes);
  constexpr size_t kGiB = 1024 * kMiB;
  if (bytes < 10 * kGiB) return base::format("{:.1f} MiB", static_cast<double>(bytes) / kMiB);
  return base::format("{:.2f} GiB", static_cast<double>(bytes) / kGiB);
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
  if (block->used_on.load(std::memory_order_relaxed) != 0) [[unlikely]]
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
  if (stream != block->stream) block->used_on.fetch_or(uint64_t{1} << stream, std::memory_order_relaxed);
}

// The block's home stream waits for the other streams that use it; false if the device call failed.
bool Allocator::wait_for_others(Block& block) noexcept {
  uint64_t bits = block.used_on.exchange(0, std::memory_order_relaxed);
  try {
    for (; bits != 0; bits &= bits - 1) {
      source_.order(static_cast<StreamId>(std::countr_zero(bits)), block.stream);
      orders_.fetch_add(1, std::memory_order_relaxed);
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

// ---- Requests that the bins of their stream cannot serve -----------------------------------------------------------

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
        "limit {} ({:.3g} x the recommended maximum). Free something, or raise the limit with "
        "KYMO_HIGH_WATERMARK_RATIO or set_per_process_memory_fraction(), up to {}; 0.0 removes the limit, and the "
        "device may then run out of memory",
        words(now.limit), static_cast<double>(now.limit) / static_cast<double>(recommended_max_), kMaxWatermark);
  else
    message +=
        "no limit set: the driver has no more memory. Free something, or end other programs that use this device";
  throw OutOfMemory(message, bytes, now.current, now.limit);
}

// ---- Memory that goes back to the driver ---------------------------------------------------------------------------
//
// A segment can be released if it has no live block and the block that was freed in it last is idle. Segments are
// removed from the arena under the lock and released after it, so no thread waits for the driver unnecessarily.

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

// Above the low watermark: releases unused memory above it, the longest unused first.
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
    while (target > 0) {
      Segment* oldest = nullptr;
      for (Segment* segment = arena_.first_segment(); segment != nullptr; segment = segment->next) {
        if (!candidate(segment) || !arena_.idle(segment->first)) continue;
        if (oldest == nullptr || segment->first->freed_at < oldest->first->freed_at) oldest = segment;
      }
      if (oldest == nullptr) break;
      target -= std::min(target, oldest->size);
      detach(oldest, chain);
    }
  }
  release(chain);
}

// ---- Statistics ----------------------------------------------------------------------------------------------------

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

}  // namespace kymo::device
