// Replays the allocations of a trace and matches each with its free: what is allocated, what is freed, what is left.
//
// Takes linear time in the number of changes, and memory for the blocks alive at once. Several passes over a trace give
// the same numbers in the same order. So an export that must know the future (was this temporary?) uses little memory.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/memory/category.h"
#include "analyze/memory/changes.h"
#include "trace/reader.h"

namespace kymo::memory {

// One allocation.
struct Block {
  uint64_t address = 0;  // 0: the allocator gives no address; then only sums of sizes are kept, and freed
  uint64_t bytes = 0;
  int64_t taken_ns = 0;
  uint64_t number = 0;    // of the allocation, counted from 0
  uint64_t point = 0;     // convert::Event::number
  uint64_t taken_at = 0;  // the number of its call of taken(), counted with those of returned(), from 1
  StackId stack = 0;
  uint32_t memory = 0, thread = 0, range = 0, outermost = 0;
  Category category = Category::Unknown;
  bool sampled = false;
};

class BlockVisitor {
 public:
  virtual ~BlockVisitor() = default;
  virtual void taken(const Block&) {}
  // `by` is the free. If the free is missing, it is the next allocation at the same address.
  virtual void returned(const Block&, const MemoryChange& /*by*/) {}
  // Its process has ended while others continue: the block is not in use any more, but was never freed.
  virtual void ended(const Block& block, int64_t /*end_ns*/) { remaining(block); }
  // A free of memory that was allocated before the recording.
  virtual void unknown_return(const MemoryChange&) {}
  // Called at the end, in no particular order.
  virtual void remaining(const Block&) {}
};

// Which allocations were temporary: allocated and freed within one outermost range.
using Temporaries = std::vector<bool>;  // by Block::number; numbers beyond its end are not temporary

struct ReplayCounts {
  uint64_t allocations = 0, returns = 0;
  uint64_t unknown_returns = 0;
  uint64_t left_out = 0;      // allocations beyond Changes::most_alive()
  uint64_t lost_returns = 0;  // an address was allocated again without a free in between
};

// The changes are untrusted: sums do not overflow, and frees of unknown blocks are counted. `temporaries` is known from
// an earlier pass: those blocks get the category Temporary if they have no other.
ReplayCounts replay(Changes& changes, BlockVisitor& visitor, const Temporaries* temporaries = nullptr);

}  // namespace kymo::memory
