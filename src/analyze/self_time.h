// The time a range spent in itself and not in the ranges directly inside it, from ranges in the order of their ends.
//
// Children end before their parent, so one running sum for each depth is all it takes: a range that ends takes the sum
// of the depth below it, which are its children, and joins the sum of its own depth. Sums stay between chunks, so a
// range that spans many of them comes out right. One of these per track. 8 KiB; depths and lanes that only a broken
// program or a forged file has are kept apart, so that they cost what they are and not what they claim.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "trace/model.h"

namespace kymo::analyze {

class SelfTime {
 public:
  SelfTime() : sums_(kUsualDepths) {}

  // The next range of lane 0 to end.
  uint64_t of(uint16_t depth, uint64_t duration) {
    if (depth + 1u >= kUsualDepths) [[unlikely]]
      return of_unusual(0, depth, duration);
    uint64_t* const sums = sums_.data() + depth;
    const uint64_t inside = sums[1];
    sums[1] = 0;
    sums[0] += duration;
    return without(duration, inside);
  }

  // The next range of a lane to end; lanes nest by themselves.
  uint64_t of(uint16_t lane, uint16_t depth, uint64_t duration) {
    return lane == 0 ? of(depth, duration) : of_unusual(lane, depth, duration);
  }

  // Something of the track is missing before the ranges that come next. Keeps the sums of those ranges that are open
  // now and were open before `last_end`, when the part that is there ended; the parents of all others are lost. Ranges
  // open between chunks are on lane 0.
  void resume(std::span<const trace::OpenRange> open, uint64_t last_end) {
    for (size_t depth = 1; depth < kUsualDepths; ++depth) {
      const bool parent_is_open = depth <= open.size() && open[depth - 1].start < last_end;
      if (!parent_is_open) sums_[depth] = 0;
    }
    unusual_.clear();
  }

 private:
  static constexpr uint32_t kUsualDepths = 1024;
  static constexpr size_t kMaxUnusual = 1 << 20;

  static uint64_t without(uint64_t duration, uint64_t inside) { return inside < duration ? duration - inside : 0; }

  uint64_t of_unusual(uint16_t lane, uint16_t depth, uint64_t duration) {
    if (unusual_.size() > kMaxUnusual) unusual_.clear();  // their parents never came
    const uint32_t key = uint32_t{lane} << 16 | depth;
    if (lane == 0 && depth < kUsualDepths) {
      sums_[depth] += duration;
    } else {
      unusual_[key] += duration;
    }
    const auto children = unusual_.find(key + 1);
    if (children == unusual_.end() || depth == UINT16_MAX) return duration;
    const uint64_t inside = children->second;
    unusual_.erase(children);
    return without(duration, inside);
  }

  std::vector<uint64_t> sums_;                      // [depth]: ended since the last range of the depth above
  std::unordered_map<uint32_t, uint64_t> unusual_;  // the same for all else, by lane and depth
};

}  // namespace kymo::analyze
