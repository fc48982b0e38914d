// The self time of ranges: the time that is not in the ranges directly inside. Input are ranges sorted by their ends.
//
// Children end before their parent, so one running sum per depth is enough: when a range ends, it takes the sum of the
// depth below, which is its children, and adds itself to the sum of its own depth. Sums are kept between chunks, so a
// range that spans many chunks is correct. Use one object per track. Costs 8 KiB. Very large depths and lanes, which
// only a broken program or a forged file has, are stored separately, so that they cost only what is really used. The
// file stores depths up to 65,535; what is deeper has this depth too, and its nesting follows from the times.
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
  uint64_t of(uint16_t depth, uint64_t duration, uint64_t end) {
    if (depth + 1u >= kUsualDepths) [[unlikely]]
      return of_unusual(0, depth, duration, end);
    uint64_t* const sums = sums_.data() + depth;
    const uint64_t inside = sums[1];
    sums[1] = 0;
    sums[0] += duration;
    return without(duration, inside);
  }

  // The next range of a lane to end. Each lane nests on its own.
  uint64_t of(uint16_t lane, uint16_t depth, uint64_t duration, uint64_t end) {
    return lane == 0 ? of(depth, duration, end) : of_unusual(lane, depth, duration, end);
  }

  // Part of the track is missing before the next ranges. Keeps the sums of those ranges that are open now and were open
  // before `last_end`, the end of the part that is there. The parents of all other sums are lost. Ranges that are open
  // between chunks are on lane 0.
  void resume(std::span<const trace::OpenRange> open, uint64_t last_end) {
    for (size_t depth = 1; depth < kUsualDepths; ++depth) {
      const bool parent_is_open = depth <= open.size() && open[depth - 1].start < last_end;
      if (!parent_is_open) sums_[depth] = 0;
    }
    unusual_.clear();
    deepest_.clear();
  }

 private:
  static constexpr uint32_t kUsualDepths = 1024;
  static constexpr uint16_t kDeepest = UINT16_MAX;
  static constexpr size_t kMaxUnusual = 1 << 20;

  static uint64_t without(uint64_t duration, uint64_t inside) { return inside < duration ? duration - inside : 0; }

  uint64_t of_unusual(uint16_t lane, uint16_t depth, uint64_t duration, uint64_t end) {
    if (unusual_.size() > kMaxUnusual) unusual_.clear();  // their parents never came
    const uint32_t key = uint32_t{lane} << 16 | depth;
    if (lane == 0 && depth < kUsualDepths) {
      sums_[depth] += duration;
    } else if (depth < kDeepest) {
      unusual_[key] += duration;
    }
    if (depth + 1 >= kDeepest) return of_deepest(lane, depth, duration, end);
    const auto children = unusual_.find(key + 1);
    if (children == unusual_.end()) return duration;
    const uint64_t inside = children->second;
    unusual_.erase(children);
    return without(duration, inside);
  }

  // A range of the deepest depth, or of the one above it. The ranges inside are those that began after it.
  uint64_t of_deepest(uint16_t lane, uint16_t depth, uint64_t duration, uint64_t end) {
    const uint64_t begin = end - std::min(end, duration);
    std::vector<Ended>& ended = deepest_[lane];
    uint64_t inside = 0;
    for (; !ended.empty() && ended.back().begin >= begin; ended.pop_back()) inside += ended.back().duration;
    if (ended.size() > kMaxUnusual) ended.clear();
    if (depth == kDeepest) ended.push_back({begin, duration});
    return without(duration, inside);
  }

  struct Ended {
    uint64_t begin, duration;
  };

  std::vector<uint64_t> sums_;                                // [depth]: ended since the last range of the depth above
  std::unordered_map<uint32_t, uint64_t> unusual_;            // the same for all others, by lane and depth
  std::unordered_map<uint16_t, std::vector<Ended>> deepest_;  // by lane: ended, and not yet inside another
};

}  // namespace kymo::analyze
