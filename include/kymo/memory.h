// The counters of a device's caching allocator: bytes and counts since the device was opened, peaks since
// reset_peak_memory().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kymo::device {

// Requests of similar size share memory: up to 1 MiB, below 10 MiB, larger ones, and those with their own allocation.
enum class MemoryPool : uint8_t { Small, Large, ExtraLarge, Huge };
inline constexpr size_t kMemoryPools = 4;
inline constexpr const char* kMemoryPoolNames[kMemoryPools] = {"small", "large", "extra large", "huge"};
constexpr size_t pool_index(MemoryPool pool) { return static_cast<size_t>(pool); }

struct PoolStatistics {
  uint64_t current = 0;        // allocated and not freed, rounded to 512 bytes
  uint64_t peak = 0;           // the max of `current`
  uint64_t reserved = 0;       // allocated from the driver and not returned
  uint64_t peak_reserved = 0;  // the max of `reserved`
  uint64_t cached = 0;         // reserved - current: unused, kept for later

  uint64_t allocations = 0;  // successful ones: hits + misses - failures
  uint64_t frees = 0;
  uint64_t hits = 0;         // served from the cache
  uint64_t misses = 0;       // not served from the cache: the driver was asked, or would have been
  uint64_t failures = 0;     // misses that ended in OutOfMemory or in an exception of the source
  uint64_t collections = 0;  // how often old unused memory was returned because of the low watermark
  uint64_t retries = 0;      // misses that the driver or the limit refused at the first attempt

  bool operator==(const PoolStatistics&) const = default;
};

// The totals. A peak is the peak of the total, not the sum of the pools' peaks. A request counts in the pool of its
// size, memory counts in the pool of its segment. When memory is short, a request may be served from a segment of
// another pool.
struct MemoryStatistics : PoolStatistics {
  std::array<PoolStatistics, kMemoryPools> pools;

  uint64_t limit = 0;         // the max of `reserved`; 0: only the limit of the device
  uint64_t low_limit = 0;     // collections start at this value; 0: never
  uint64_t synchronizes = 0;  // how often the allocator made the host wait for the device
  uint64_t orders = 0;        // how often it made one stream wait for another
  uint64_t bad_frees = 0;     // frees of memory that was already free: ignored

  const PoolStatistics& pool(MemoryPool which) const { return pools[pool_index(which)]; }
};

}  // namespace kymo::device
