// Splits a launch whose threads are not a multiple of its groups into launches whose threads are.
//
//   threads 1000 × 70, groups 64 × 16            ┌──────────────┬────┐  the interior: 15 × 4 groups of 64 × 16
//                                                │ interior     │ e1 │  e1: 1 × 4 groups of 40 × 16, from x = 960
//                                                ├──────────────┼────┤  e2: 15 × 1 groups of 64 × 6, from y = 64
//                                                │ e2           │ e3 │  e3: one group of 40 × 6
//                                                └──────────────┴────┘
// There are up to eight pieces in three dimensions. Every thread is in exactly one piece. Its group and its position in
// the group are the same as on a device with partial groups. Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "device/backend.h"

namespace kymo::device {

struct Piece {
  Extent offset{0, 0, 0};
  Extent threads;
  Extent group;
  bool operator==(const Piece&) const = default;
};

class Pieces {
 public:
  std::span<const Piece> all() const { return {pieces_.data(), count_}; }

 private:
  friend Pieces cut(const Extent&, const Extent&, bool);
  std::array<Piece, 8> pieces_;
  size_t count_ = 0;
};

// If no kernel can see its groups (`groups_visible` is false), an edge runs in the largest power-of-two groups that
// divide it. A driver that compiles a kernel for each group size then compiles fewer of them.
Pieces cut(const Extent& threads, const Extent& group, bool groups_visible);

inline bool divides(const Extent& threads, const Extent& group) {
  // Groups are usually powers of two, and a division costs more than everything else here.
  const auto one = [](uint64_t n, uint64_t by) { return (by & (by - 1)) == 0 ? (n & (by - 1)) == 0 : n % by == 0; };
  return one(threads.x, group.x) && one(threads.y, group.y) && one(threads.z, group.z);
}

// Whether a partial group lacks only its last threads. Then the other threads have the same linear index in it as in a
// group of exactly their number.
inline bool lacks_only_last(const Extent& threads, const Extent& group) {
  if (group.x > 1 && threads.x % group.x != 0) return group.y == 1 && group.z == 1;
  return group.z == 1 || threads.y % group.y == 0;
}

// The remainder in each dimension: threads modulo group.
inline Extent tail_of(const Extent& threads, const Extent& group) {
  return {threads.x % group.x, threads.y % group.y, threads.z % group.z};
}

}  // namespace kymo::device
