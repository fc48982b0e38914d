// Paths of numbers: a tree in which each node has at most one child for each number.
//
// Nodes have numbers too, in the order of their creation: a parent comes before its children. Finding a child is one
// lookup in a hash table whose order a forged file cannot predict. Uses about 50 bytes for each node.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/seeded_hash.h"

namespace kymo::views {

class PathTrie {
 public:
  struct Node {
    uint32_t parent = 0, number = 0;
    uint64_t count = 0, ticks = 0;
  };
  static constexpr uint32_t kRoot = 0;

  PathTrie() : nodes_(1), slots_(kFirstSlots), multiplier_(base::SeededHash()(1) | 1) {}

  // The child, or kRoot if there is none.
  uint32_t find(uint32_t parent, uint32_t number) const { return slots_[slot_of(parent, number)].node; }

  // The child. It is created if there is none.
  uint32_t child(uint32_t parent, uint32_t number) {
    if (const uint32_t found = find(parent, number); found != kRoot) return found;
    const auto node = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back({parent, number});
    if (nodes_.size() > slots_.size() / 2) grow();
    slots_[slot_of(parent, number)] = {key_of(parent, number), node};
    return node;
  }

  Node& operator[](uint32_t node) { return nodes_[node]; }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  static constexpr size_t kFirstSlots = 64;  // a power of two
  struct Slot {
    uint64_t key = 0;
    uint32_t node = kRoot;  // kRoot: free
  };

  static uint64_t key_of(uint32_t parent, uint32_t number) { return uint64_t{parent} << 32 | number; }

  // Where the child is, or the free slot for it.
  size_t slot_of(uint32_t parent, uint32_t number) const {
    const uint64_t key = key_of(parent, number);
    const size_t mask = slots_.size() - 1;
    size_t at = ((key ^ key >> 29) * multiplier_ >> 20) & mask;
    while (slots_[at].node != kRoot && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    for (const Slot& slot : old) {
      if (slot.node != kRoot)
        slots_[slot_of(static_cast<uint32_t>(slot.key >> 32), static_cast<uint32_t>(slot.key))] = slot;
    }
  }

  std::vector<Node> nodes_;  // [0] is the root
  std::vector<Slot> slots_;
  uint64_t multiplier_;
};

}  // namespace kymo::views
