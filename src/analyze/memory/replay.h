// A trace's allocations once more, each with its return: what is taken, what is given back, what is left at the end.
//
// Linear in the number of changes; memory for what is alive at once. Several passes over a trace give the same numbers
// in the same order, which is how exports that need to know the future (was this a temporary?) stay small.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/memory/category.h"
#include "analyze/memory/changes.h"
#include "trace/reader.h"

namespace kymo::memory {

// One allocation.
struct Block {
  uint64_t address = 0;  // 0: of an allocator that does not say where; sizes are summed up then, and come back in sums
  uint64_t bytes = 0;
  int64_t taken_ns = 0;
  uint64_t number = 0;    // of the allocation, from 0
  uint64_t taken_at = 0;  // which call of taken() and returned() it was, from 1
  StackId stack = 0;
  uint32_t memory = 0, thread = 0, range = 0, outermost = 0;
  Category category = Category::Unknown;
  bool sampled = false;
};

class BlockVisitor {
 public:
  virtual ~BlockVisitor() = default;
  virtual void taken(const Block&) {}
  // `by` is the return; or where there is none, what was allocated at the same address next.
  virtual void returned(const Block&, const MemoryChange& /*by*/) {}
  // Its process has ended and others go on: it is in use no more, and was never returned.
  virtual void ended(const Block& block, int64_t /*end_ns*/) { remaining(block); }
  // Of what was taken before the recording began.
  virtual void unknown_return(const MemoryChange&) {}
  // At the end, in no order.
  virtual void remaining(const Block&) {}
};

// Which allocations were temporary: taken and given back within one outermost range.
using Temporaries = std::vector<bool>;  // by Block::number; what lies beyond its end was not

struct ReplayCounts {
  uint64_t allocations = 0, returns = 0;
  uint64_t unknown_returns = 0;
  uint64_t left_out = 0;      // allocations beyond Changes::most_alive()
  uint64_t lost_returns = 0;  // an address was allocated again without a return between
};

// What the changes say is not trusted: sums do not wrap, returns of what is not there are counted. `temporaries`, known
// from a pass before, give blocks of no other category that one.
ReplayCounts replay(Changes& changes, BlockVisitor& visitor, const Temporaries* temporaries = nullptr);

}  // namespace kymo::memory
