// A table of live blocks by memory and address. Uses open addressing in one array, because every change looks it up.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyze/memory/replay.h"
#include "base/seeded_hash.h"

namespace kymo::memory {

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
