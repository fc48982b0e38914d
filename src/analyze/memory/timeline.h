// How much memory was in use over time, and whose it was when it was most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kymo::memory {

// One allocation (positive) or return (negative) of one memory. In the order of time. A return gives back what was
// taken at its address, whatever size it says. At address 0, of an allocator that does not say where, sizes are summed
// up and nothing is told apart.
struct Change {
  uint64_t time_ns = 0;
  uint64_t address = 0;
  int64_t bytes = 0;
};

struct Timeline {
  std::vector<uint64_t> in_use;  // after each change
  uint64_t peak_bytes = 0;
  size_t peak_at = 0;                 // the change that made it: an index, as all below
  std::vector<size_t> alive_at_peak;  // largest first
  std::vector<size_t> never_freed;    // largest first
  uint64_t unknown_frees = 0;         // of what was not allocated among the changes: they change nothing
  uint64_t lost_frees = 0;            // an address allocated again without being freed: it counts as freed then
};

// Linear in the number of changes, but for the sorting of the two lists.
Timeline make_timeline(std::span<const Change> changes);

}  // namespace kymo::memory
