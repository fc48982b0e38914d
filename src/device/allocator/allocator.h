// The caching allocator of a device: memory in tens of nanoseconds, from segments that the driver gave in milliseconds.
//
//   segment (8 MiB, one call to the driver)
//   +--------+-----------+------+---------------------------+
//   | live   | free      | live | free                      |    blocks, neighbours linked, no gaps
//   +--------+-----------+------+---------------------------+
//                 |                   |
//   bins of the block's stream, by size: 64 to each power of two, a bit for each bin that is not empty
//
// allocate() looks for the least block that is long enough among those of the same stream (two bit scans), and cuts off
// what is too long; free() puts a block together with its free neighbours and back into a bin. Neither looks at how
// many blocks there are. Small, large, extra large and huge requests have segments of their own: sizes.h.
//
// Streams. Work on a stream runs in the order it was queued, so a block that was freed may be handed out again to its
// own stream at once, while the work that used it is still to run. It may go to another stream too, when none of that
// stream's own fits: then the allocator first makes the new stream wait, on the device, for the block's
// (MemorySource::order). A small request rather takes a new segment: 8 MiB cost less than a stream that waits. Work on
// a stream other than the block's own must be announced with used_on(); free() then makes the block's own stream wait
// for it. A free neighbour of another stream stays apart until the device was idle. The host waits only when memory is
// given back.
//
// What a request tries, in this order:
//   1. a block of its stream; one that is idle, of any stream; one of another stream (not for small requests);
//   2. above the low watermark: give back unused segments, the longest unused first, as much as is above it;
//   3. a new segment, within the limit: as long as the pool's are, else the request rounded to 2 MiB, else exactly it;
//   4. give back the one idle segment that fits best, or some of the longest; then 3;
//   5. wait for the device, put everything together, look again; give back all that is unused; then 3;
//   6. a block of any pool that is long enough;
//   7. OutOfMemory, with what was asked, in use, cached, the limit, and what to do.
//
// Threads. All of it may be called from any thread. One small lock guards the blocks: it is held for some tens of
// nanoseconds, longer only when all blocks must be looked at, and never while the source is called. A second one, which
// allocate() takes when the cache has nothing, lets one thread at a time ask the driver for memory, so that those who
// wait may find what it got. synchronize() is called with neither held, order() never with the small one: the block is
// the caller's by then, and nobody else can get it.
//
// Failure. What the source throws passes through, and nothing is lost: the block is free again, the figures are right.
// free() cannot throw: where order() does, it keeps the block aside until the device was next idle.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "device/allocator/arena.h"
#include "device/allocator/block.h"
#include "device/allocator/options.h"
#include "device/allocator/spin_lock.h"
#include "device/memory_source.h"
#include "kymo/memory.h"

namespace kymo::device {

class Allocator {
 public:
  // The source must outlive it. Takes no memory yet. Throws InvalidArgument as AllocatorOptions::check does.
  Allocator(MemorySource& source, const AllocatorOptions& options);
  // Waits for the device and gives everything back, blocks that were not freed included.
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // Memory for work on `stream`, aligned to 512 bytes, its content undefined. Throws InvalidArgument for 0 bytes, and
  // OutOfMemory: at once where the request is longer than the driver's longest allocation or than the limit.
  Block* allocate(size_t bytes, StreamId stream);

  // The work that uses it must have been queued by now; it need not have run. A null pointer is fine, a second free of
  // the same block is counted and ignored as long as its node was not given out again.
  void free(Block* block) noexcept;

  // Work on `stream` uses the block too: call it before or after queueing that, and before free().
  void used_on(Block* block, StreamId stream);

  // Waits for the device and gives every segment back that has no live block.
  void empty_cache();

  // The limit as a fraction of the recommended maximum, 0: none. 0..2, otherwise InvalidArgument. Where more is
  // reserved than that, what is unused is given back at once, as by empty_cache(); live blocks stay.
  void set_fraction(double fraction);

  MemoryStatistics statistics() const;
  void reset_peak();                   // the peaks are what is current now
  uint64_t current_allocated() const;  // bytes
  uint64_t reserved() const;
  uint64_t limit() const;  // 0: none
  MemorySource& source() const { return source_; }

  // For whoever waits for the whole device anyway: the allocator then knows what was freed before to be idle, hands it
  // to other streams without making them wait, and gives it back without waiting again. Take the moment before the
  // wait.
  uint64_t moment();
  void idle_since(uint64_t moment);

  // After a device reset: the memory is gone, so nothing is released. The figures start again, except counts. Blocks
  // that are live may be freed later, to no effect; their addresses mean nothing any more.
  void forget();

  // What is live, for leak reports.
  struct Live {
    Address address;
    size_t size, requested;
    StreamId stream;
  };
  std::vector<Live> live() const;

  // For tests: walks everything and throws Error where the blocks, bins and figures do not agree.
  void verify() const;

 private:
  using Growing = std::unique_lock<std::mutex>;

  StreamCache& cache_of(StreamId stream);
  void count_live(const Block* block);
  void count_taken_back(const Block* block);
  void count_reserved(MemoryPool which, size_t bytes);
  void count_released(MemoryPool which, size_t bytes);
  void set_limits(double high);
  bool wait_for_others(Block& block) noexcept;
  void end_of_not_live(Block* block) noexcept;

  // allocator_slow.cc
  Block* allocate_slow(size_t bytes, size_t size, MemoryPool pool, StreamId stream);
  Block* miss(size_t bytes, size_t size, MemoryPool pool, StreamCache& home, Growing& growing);
  Block* from_cache(size_t bytes, size_t size, MemoryPool pool, StreamCache& home, bool from_any_stream);
  Block* from_other_pools(size_t bytes, size_t size, MemoryPool but, StreamCache& home);
  Block* finish(Block* found, size_t bytes, size_t size, StreamCache& home, std::unique_lock<SpinLock>& held);
  Block* grow(size_t bytes, size_t size, MemoryPool pool, StreamCache& home);
  Block* grow_by(size_t length, size_t bytes, size_t size, MemoryPool pool, StreamCache& home);
  [[noreturn]] void refuse(size_t bytes) const;
  [[noreturn]] void out_of_memory(size_t bytes, StreamId stream) const;

  // allocator_release.cc
  void collect(size_t size, MemoryPool pool, Growing& growing);
  bool release_best_fit(size_t size);
  void release_unused();
  void wait_until_idle();
  void detach(Segment* segment, Segment*& chain);
  void release(Segment* chain) noexcept;

  // What allocate() and free() touch, together.
  mutable SpinLock lock_;
  uint64_t now_ = 1;  // requests so far
  PoolStatistics total_;
  std::array<PoolStatistics, kMemoryPools> pools_;
  size_t max_request_;
  size_t extra_large_;
  Arena arena_;

  MemorySource& source_;
  std::array<size_t, kMemoryPools> segment_lengths_;
  size_t recommended_max_;
  double low_;  // the ratio that was asked for; in force is the lesser of it and the high one
  size_t limit_ = 0, low_limit_ = 0;
  Block* parked_ = nullptr;
  uint64_t synchronizes_ = 0, bad_frees_ = 0;
  std::atomic<uint64_t> orders_{0};
  std::mutex growth_;  // before lock_
};

}  // namespace kymo::device
