// How much memory was in use over time, and what held it at the peak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kymo::memory {

// One allocation (positive) or free (negative) of one memory, sorted by time. A free frees the whole block at its
// address, whatever its size says. Address 0 means that the allocator gives no addresses: then only sizes are summed.
struct Change {
  uint64_t time_ns = 0;
  uint64_t address = 0;
  int64_t bytes = 0;
};

struct Timeline {
  std::vector<uint64_t> in_use;  // after each change
  uint64_t peak_bytes = 0;
  size_t peak_at = 0;                 // the change that made the peak: an index, as all below
  std::vector<size_t> alive_at_peak;  // largest first
  std::vector<size_t> never_freed;    // largest first
  uint64_t unknown_frees = 0;         // of blocks that are not in the changes: no effect
  uint64_t lost_frees = 0;            // an address is allocated again without a free: counts as freed then
};

// Takes linear time in the number of changes, except for sorting the two lists.
Timeline make_timeline(std::span<const Change> changes);

}  // namespace kymo::memory
