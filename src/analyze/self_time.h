// The time a range spent in itself and not in the ranges directly inside it, from ranges in the order of their ends.
//
// Children end before their parent, so one running sum for each depth is all it takes: a range that ends takes the sum
// of the depth below it, which are its children, and joins the sum of its own depth. Sums stay between chunks, so a
// range that spans many of them comes out right. One of these per track and lane.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/model.h"

namespace kymo::analyze {

class SelfTime {
 public:
  // Makes room for ranges as deep as the deepest of these. Needed before of().
  void prepare(std::span<const uint16_t> depths) {
    uint16_t deepest = 0;
    for (const uint16_t depth : depths) deepest = std::max(deepest, depth);
    if (children_.size() < deepest + size_t{2}) children_.resize(deepest + size_t{2});
  }

  // The next range to end.
  uint64_t of(uint16_t depth, uint64_t duration) noexcept {
    uint64_t* const sums = children_.data() + depth;
    const uint64_t inside = sums[1];
    sums[1] = 0;
    sums[0] += duration;
    return inside < duration ? duration - inside : 0;
  }

  // Something of the track is missing before the ranges that come next. Keeps the sums of those ranges that are open
  // now and were open before `last_end`, when the part that is there ended; the parents of all others are lost.
  void resume(std::span<const trace::OpenRange> open, uint64_t last_end) {
    for (size_t depth = 1; depth < children_.size(); ++depth) {
      const bool parent_is_open = depth <= open.size() && open[depth - 1].start < last_end;
      if (!parent_is_open) children_[depth] = 0;
    }
  }

 private:
  std::vector<uint64_t> children_;  // [depth]: ended since the last range of the depth above
};

}  // namespace kymo::analyze
