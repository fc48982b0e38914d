// What the caching allocator of a device counts. Bytes and counts since the device was opened; peaks since
// reset_peak_memory().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kymo::device {

// Requests of like size share memory: up to 1 MiB, below 10 MiB, more, and those that have an allocation of their own.
enum class MemoryPool : uint8_t { Small, Large, ExtraLarge, Huge };
inline constexpr size_t kMemoryPools = 4;
inline constexpr const char* kMemoryPoolNames[kMemoryPools] = {"small", "large", "extra large", "huge"};
constexpr size_t pool_index(MemoryPool pool) { return static_cast<size_t>(pool); }

struct PoolStatistics {
  uint64_t current = 0;        // handed out and not freed, as rounded to 512 bytes
  uint64_t peak = 0;           // the most `current` has been
  uint64_t reserved = 0;       // taken from the driver and not given back
  uint64_t peak_reserved = 0;  // the most that has been
  uint64_t cached = 0;         // reserved - current: unused, kept for later

  uint64_t allocations = 0;  // that succeeded: hits + misses - failures
  uint64_t frees = 0;
  uint64_t hits = 0;         // served from the cache
  uint64_t misses = 0;       // not so: the driver was asked, or would have been
  uint64_t failures = 0;     // misses that ended in OutOfMemory or what the source threw
  uint64_t collections = 0;  // times old unused memory was given back because of the low watermark
  uint64_t retries = 0;      // misses that the driver or the limit refused at first

  bool operator==(const PoolStatistics&) const = default;
};

// The totals, whose peaks are of the total, not totals of peaks. Requests count in the pool of their size, memory in
// the pool of its segment; when memory is short a request may be served from a segment of another pool.
struct MemoryStatistics : PoolStatistics {
  std::array<PoolStatistics, kMemoryPools> pools;

  uint64_t limit = 0;         // reserved never grows beyond; 0: none but the device's own
  uint64_t low_limit = 0;     // collecting starts here; 0: never
  uint64_t synchronizes = 0;  // times the allocator made the host wait for the device
  uint64_t orders = 0;        // times it made one stream wait for another
  uint64_t bad_frees = 0;     // frees of what was free already: ignored

  const PoolStatistics& pool(MemoryPool which) const { return pools[pool_index(which)]; }
};

}  // namespace kymo::device
