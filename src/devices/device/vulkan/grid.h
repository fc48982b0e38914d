// Splits a grid of threads into dispatches: full groups inside, smaller ones at the edges, and at most the allowed
// number of groups per dispatch.
//
//   threads 1000 × 70, groups 64 × 16            ┌──────────────┬────┐  the interior: 15 × 4 groups of 64 × 16
//                                                │ interior     │ e1 │  e1: 1 × 4 groups of 40 × 16, from x = 960
//                                                ├──────────────┼────┤  e2: 15 × 1 groups of 64 × 6, from y = 64
//                                                │ e2           │ e3 │  e3: one group of 40 × 6
//                                                └──────────────┴────┘
// Every thread is in exactly one dispatch. Its group and its position in the group are the same as on a device with
// partial groups. Pure, without allocation.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "device/backend.h"

namespace kymo::device::vulkan {

// Along one axis: `count` groups of `size` threads, starting at group `base` and thread `offset`.
struct AxisPiece {
  uint32_t offset = 0, base = 0, count = 0, size = 0;
  bool operator==(const AxisPiece&) const = default;
};

class Axis {
 public:
  // `limit`: the max number of groups in a dispatch. If no kernel can see the groups (`visible` is false), the edge
  // runs in groups of a power of two. A driver that compiles a kernel for each group size then compiles fewer of them.
  Axis(uint64_t threads, uint64_t group, uint32_t limit, bool visible)
      : group_(static_cast<uint32_t>(group)), limit_(limit) {
    // Divisions are most of the cost here, and groups are usually powers of two.
    full_ = static_cast<uint32_t>(std::has_single_bit(group) ? threads >> std::countr_zero(group) : threads / group);
    rest_ = static_cast<uint32_t>(threads - uint64_t{full_} * group);
    edge_ = visible ? rest_ : rest_ & (~rest_ + 1);
    interior_ = full_ <= limit ? full_ != 0 : static_cast<uint32_t>((uint64_t{full_} + limit - 1) / limit);
  }

  uint32_t groups() const { return full_ + (rest_ != 0); }
  uint32_t pieces() const { return interior_ + (rest_ != 0); }
  AxisPiece piece(uint32_t index) const {
    if (index == interior_) return {full_ * group_, full_, rest_ / edge_, edge_};
    const uint32_t base = index * limit_;
    return {base * group_, base, std::min(limit_, full_ - base), group_};
  }

 private:
  uint32_t group_, limit_;
  uint32_t full_, rest_;  // groups, and threads after them
  uint32_t edge_;         // group size for those threads
  uint32_t interior_;     // number of pieces with full groups
};

// Calls `run(x, y, z)` with the pieces of every dispatch; dispatches with equal group sizes come one after the other.
template <class Run>
void for_each_dispatch(const Axis& x, const Axis& y, const Axis& z, Run&& run) {
  for (uint32_t k = 0; k < z.pieces(); ++k)
    for (uint32_t j = 0; j < y.pieces(); ++j)
      for (uint32_t i = 0; i < x.pieces(); ++i) run(x.piece(i), y.piece(j), z.piece(k));
}

}  // namespace kymo::device::vulkan
