// The caching allocator of a device. It hands out memory in tens of nanoseconds, from segments that took the driver
// milliseconds to allocate.
//
//   segment (8 MiB, one call to the driver)
//   +--------+-----------+------+---------------------------+
//   | live   | free      | live | free                      |    blocks, neighbours linked, no gaps
//   +--------+-----------+------+---------------------------+
//                 |                   |
//   bins of the block's stream, by size: 64 to each power of two, a bit for each bin that is not empty
//
// allocate() takes the smallest block of the same stream that is large enough (two bit scans), and cuts off the rest.
// free() merges a block with its free neighbours and puts it back into a bin. The cost of both does not depend on the
// number of blocks. Small, large, extra large and huge requests have their own segments: block.h.
//
// Streams. Work on a stream runs in the order in which it was queued. So a freed block can be handed out again to its
// own stream at once, while the work that used it is still pending. If no block of a stream fits, the stream can get a
// block of another stream. Then the allocator first makes the new stream wait, on the device, for the block's stream
// (MemorySource::order). A small request takes a new segment instead: 8 MiB cost less than a stream that waits. Work on
// a stream other than the block's own must be announced with used_on(). free() then makes the block's own stream wait
// for it. A free neighbour of another stream is not merged until the device was idle. The host waits only when memory
// is returned to the driver.
//
// A request tries these steps, in this order:
//   1. a block of its stream; an idle block of any stream; a block of another stream (not for small requests);
//   2. above the low watermark: release unused segments, longest unused first, until below the watermark;
//   3. a new segment within the limit: of the pool's size, else the request rounded to 2 MiB, else its exact size;
//   4. release the idle segment that fits best, or some of the largest; then step 3;
//   5. wait for the device, merge all free blocks, look again; release everything unused; then step 3;
//   6. a block of any pool that is large enough;
//   7. OutOfMemory, with the requested size, the sizes in use and cached, the limit, and what to do.
//
// Threads. Every function can be called from any thread. One small lock guards the blocks. It is held for some tens of
// nanoseconds, longer only if all blocks must be visited, and never while the source is called. A second lock, which
// allocate() takes if the cache has no block, lets one thread at a time ask the driver for memory. The threads that
// wait for this lock may then find memory in the cache. synchronize() is called with neither lock held, and order()
// never with the small lock: the block belongs to the caller by then, so no other thread can get it.
//
// Failure. Exceptions of the source pass through, and nothing is lost: the block is free again, and the statistics are
// right. free() cannot throw. If order() throws there, free() keeps the block aside until the device was next idle.
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
#include "device/allocator/spin_lock.h"
#include "device/memory_source.h"
#include "kymo/memory.h"

namespace kymo::device {

// How much memory the caching allocator may hold, and at which size it starts to release unused memory.
//
// Both are ratios of the recommended maximum of the device (MemorySource::recommended_max):
//
//   high   the limit; 0 means no limit except the device's own. On a discrete device the recommended maximum is all
//          the memory that there is, so the default is 1.0. Memory shared with the host can be overcommitted, so the
//          default there is 1.7.
//   low    above this, memory that was unused for long is released before more is allocated; 0: never. The default is
//          0.8, shared 1.4. You need not set it together with the high one: if it is above the limit, the limit is
//          used.

inline constexpr double kMaxWatermark = 2.0;

struct AllocatorOptions {
  bool unified = false;  // device and host share their memory
  double high = 1.0;
  double low = 0.8;

  // The defaults for such a device.
  static AllocatorOptions defaults(bool unified);

  // The defaults, changed by KYMO_HIGH_WATERMARK_RATIO and KYMO_LOW_WATERMARK_RATIO, or if those are not set by
  // PYTORCH_MPS_HIGH_WATERMARK_RATIO and PYTORCH_MPS_LOW_WATERMARK_RATIO. The variables are read at each call; an empty
  // one counts as not set. Throws InvalidArgument with the variable, its value and the valid range: for text that is
  // not a number, for a high ratio outside 0..2, for a low ratio outside 0..high (0..2 without a limit).
  static AllocatorOptions from_environment(bool unified);

  // For options that were set in code: throws InvalidArgument unless both are in 0..2.
  void check() const;
};

class Allocator {
 public:
  // The source must outlive the allocator. Allocates nothing yet. Throws InvalidArgument as AllocatorOptions::check
  // does.
  Allocator(MemorySource& source, const AllocatorOptions& options);
  // Waits for the device and releases everything, including blocks that were not freed.
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // Memory for work on `stream`, aligned to 512 bytes, with undefined contents. Throws InvalidArgument for 0 bytes.
  // Throws OutOfMemory; it does so at once if the request is larger than the driver's largest allocation or than the
  // limit.
  Block* allocate(size_t bytes, StreamId stream);

  // The work that uses the block must be queued by now; it need not have run. A null pointer is allowed. A second free
  // of the same block is counted and ignored, unless its node is already in use for another block.
  void free(Block* block) noexcept;

  // Work on `stream` uses the block too. Call this before or after you queue that work, and before free().
  void used_on(Block* block, StreamId stream);

  // Waits for the device and releases every segment that has no live block.
  void empty_cache();

  // The limit as a fraction of the recommended maximum; 0 means no limit. The range is 0..2, otherwise InvalidArgument.
  // If more memory is reserved than the new limit, unused memory is released at once, as by empty_cache(). Live blocks
  // stay.
  void set_fraction(double fraction);

  MemoryStatistics statistics() const;
  void reset_peak();                   // sets the peaks to the current values
  uint64_t current_allocated() const;  // bytes
  uint64_t reserved() const;
  uint64_t limit() const;  // 0: none
  MemorySource& source() const { return source_; }

  // For callers that wait for the whole device anyway. The allocator then knows that everything freed before is idle.
  // It hands such blocks to other streams without a wait, and releases them without a second wait. Take the moment
  // before the wait.
  uint64_t moment();
  void idle_since(uint64_t moment);

  // After a device reset: the memory is gone, so nothing is released. The statistics start again, except the counts.
  // Live blocks can be freed later, without effect; their addresses are no longer valid.
  void forget();

 private:
  friend class AllocatorCheck;
  using Growing = std::unique_lock<std::mutex>;

  StreamCache& cache_of(StreamId stream);
  void count_live(const Block* block);
  void count_taken_back(const Block* block);
  void count_reserved(MemoryPool which, size_t bytes);
  void count_released(MemoryPool which, size_t bytes);
  void set_limits(double high);
  bool wait_for_others(Block& block) noexcept;
  void end_of_not_live(Block* block) noexcept;

  // What a request does if the cache of its stream has no block.
  Block* allocate_slow(size_t bytes, size_t size, MemoryPool pool, StreamId stream);
  Block* miss(size_t bytes, size_t size, MemoryPool pool, StreamCache& home, Growing& growing);
  Block* from_cache(size_t bytes, size_t size, MemoryPool pool, StreamCache& home, bool from_any_stream);
  Block* from_other_pools(size_t bytes, size_t size, MemoryPool but, StreamCache& home);
  Block* finish(Block* found, size_t bytes, size_t size, StreamCache& home, std::unique_lock<SpinLock>& held);
  size_t segment_length(size_t size, MemoryPool pool) const;
  Block* grow(size_t bytes, size_t size, MemoryPool pool, StreamCache& home);
  Block* grow_by(size_t length, size_t bytes, size_t size, MemoryPool pool, StreamCache& home);
  [[noreturn]] void refuse(size_t bytes) const;
  [[noreturn]] void out_of_memory(size_t bytes, StreamId stream) const;

  // Returns memory to the driver.
  void collect(size_t size, MemoryPool pool, Growing& growing);
  bool release_best_fit(size_t size);
  void release_unused();
  void wait_until_idle();
  void detach(Segment* segment, Segment*& chain);
  void release(Segment* chain) noexcept;

  // The members that allocate() and free() use, next to each other.
  mutable SpinLock lock_;
  uint64_t now_ = 1;  // number of requests so far
  PoolStatistics total_;
  std::array<PoolStatistics, kMemoryPools> pools_;
  size_t max_request_;
  size_t extra_large_;  // the max size of a segment of that pool
  Arena arena_;

  MemorySource& source_;
  size_t recommended_max_;
  double low_;  // the requested ratio; the lower of it and the high ratio is used
  size_t limit_ = 0, low_limit_ = 0;
  Block* parked_ = nullptr;
  uint64_t synchronizes_ = 0, bad_frees_ = 0;
  std::atomic<uint64_t> orders_{0};
  std::mutex growth_;  // locked before lock_
};

}  // namespace kymo::device
