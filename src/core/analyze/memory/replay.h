// Replays the allocations of a trace and matches each with its free: what is allocated, what is freed, what is left.
//
// Takes linear time in the number of changes, and memory for the blocks alive at once. Several passes over a trace give
// the same numbers in the same order. So an export that must know the future (was this temporary?) uses little memory.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyze/memory/changes.h"
#include "base/hash.h"
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
  // `by` is the free. If the free is missing, it is the next allocation at the same address, or has none: the process
  // ran another program.
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

// A table of live blocks by memory and address. Uses open addressing in one array, because every change looks it up.
class Living {
 public:
  Living() : places_(kFirstPlaces) {}

  // Null if not found. Valid until the next insert or remove.
  const Block* find(uint32_t memory, uint64_t address) const {
    const size_t at = place_of(memory, address);
    return is_free(places_[at]) ? nullptr : &places_[at];
  }

  // There must be no block at its address yet. The address must not be 0.
  void insert(const Block& block) {
    if (++count_ * 4 > places_.size() * 3) grow();
    places_[place_of(block.memory, block.address)] = block;
  }

  void remove(uint32_t memory, uint64_t address) {
    size_t hole = place_of(memory, address);
    if (is_free(places_[hole])) return;
    --count_;
    // Entries that were stored further on because this place was in use move back.
    for (size_t at = next(hole); !is_free(places_[at]); at = next(at)) {
      const size_t home = home_of(places_[at].memory, places_[at].address);
      if (distance(home, at) < distance(hole, at)) continue;
      places_[hole] = places_[at];
      hole = at;
    }
    places_[hole] = Block{};
  }

  size_t size() const { return count_; }

  template <class Visit>
  void each(Visit&& visit) const {
    for (const Block& block : places_)
      if (!is_free(block)) visit(block);
  }

 private:
  static constexpr size_t kFirstPlaces = 1024;  // always a power of two

  static bool is_free(const Block& block) { return block.address == 0; }
  size_t next(size_t at) const { return (at + 1) & (places_.size() - 1); }
  size_t distance(size_t from, size_t to) const { return (to - from) & (places_.size() - 1); }
  size_t home_of(uint32_t memory, uint64_t address) const {
    return base::SeededHash::of(address, memory) & (places_.size() - 1);
  }
  size_t place_of(uint32_t memory, uint64_t address) const {
    size_t at = home_of(memory, address);
    while (!is_free(places_[at]) && (places_[at].address != address || places_[at].memory != memory)) at = next(at);
    return at;
  }
  void grow() {
    std::vector<Block> before(places_.size() * 2);
    before.swap(places_);
    for (const Block& block : before)
      if (!is_free(block)) places_[place_of(block.memory, block.address)] = block;
  }

  std::vector<Block> places_;
  size_t count_ = 0;
};

}  // namespace kymo::memory
