// Gives each moment of a thread to one range: the innermost one, which is the one that began last.
//
// Ranges of a thread are inside each other or apart. Those of other tools may overlap without one being inside the
// other, by as little as a nanosecond. Then the time that both have belongs to the one that began later. So each
// nanosecond counts once, and no range is left out. Nesting follows from the times alone and may be of any depth.
//
// Ranges come by their ends, the last one first, and a range before what is inside it: a chunk of a trace, read
// backwards. Costs a few comparisons per range if the ranges nest, and a logarithm of the open ones otherwise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/model.h"

namespace kymo::analyze {

template <typename Owner>
class Innermost {
 public:
  // The next range. Calls take(owner, begin, end) for each part of the time after its end that is known now. The part
  // of a range after the end of the range before it is dropped if they do not come in order: it belongs to others.
  template <typename Take>
  void add(int64_t begin, int64_t end, Owner owner, Take&& take) {
    go_back_to(end, take);
    const Open open{std::min(begin, end), count_++, std::move(owner)};
    if (nested_.empty() || open.begin >= nested_.back().begin)
      nested_.push_back(open);
    else
      crossing_.emplace(std::pair(open.begin, open.number), open.owner);
  }

  // The owner of the innermost range so far that contains the time from `begin` to the end of the last range; null:
  // none does.
  const Owner* around(int64_t begin) const {
    const auto after =
        std::partition_point(nested_.begin(), nested_.end(), [&](const Open& open) { return open.begin <= begin; });
    const auto crossing = crossing_.upper_bound({begin, std::numeric_limits<uint64_t>::max()});
    const Open* const nested = after == nested_.begin() ? nullptr : &*std::prev(after);
    if (crossing == crossing_.begin()) return nested == nullptr ? nullptr : &nested->owner;
    const auto& other = *std::prev(crossing);
    return nested != nullptr && nested->key() > other.first ? &nested->owner : &other.second;
  }

  // There are no more ranges.
  template <typename Take>
  void finish(Take&& take) {
    go_back_to(std::numeric_limits<int64_t>::min(), take);
  }

 private:
  struct Open {
    int64_t begin;
    uint64_t number;  // of two that begin at the same time, the later one is inside
    Owner owner;
    std::pair<int64_t, uint64_t> key() const { return {begin, number}; }
  };

  template <typename Take>
  void go_back_to(int64_t time, Take& take) {
    while (now_ > time) {
      const bool is_nested =
          !nested_.empty() && (crossing_.empty() || nested_.back().key() > crossing_.rbegin()->first);
      if (!is_nested && crossing_.empty()) {
        now_ = time;
        return;
      }
      const int64_t begin = is_nested ? nested_.back().begin : crossing_.rbegin()->first.first;
      const int64_t from = std::max(begin, time);
      if (from < now_) {
        take(is_nested ? nested_.back().owner : crossing_.rbegin()->second, from, now_);
        now_ = from;
      }
      if (begin < now_) continue;  // still open
      if (is_nested)
        nested_.pop_back();
      else
        crossing_.erase(std::prev(crossing_.end()));
    }
  }

  std::vector<Open> nested_;                                // by begin
  std::map<std::pair<int64_t, uint64_t>, Owner> crossing_;  // those that came after one that begins later
  int64_t now_ = std::numeric_limits<int64_t>::max();
  uint64_t count_ = 0;
};

// The self time of ranges: the time that is not in the ranges directly inside. Input are ranges sorted by their ends.
//
// Children end before their parent, so one running sum per depth is enough: when a range ends, it takes the sum of the
// depth below, which is its children, and adds itself to the sum of its own depth. Sums are kept between chunks, so a
// range that spans many chunks is correct. Use one object per track. Costs 8 KiB. Very large depths and lanes, which
// only a broken program or a forged file has, are stored separately, so that they cost only what is really used. The
// file stores depths up to 65,535; what is deeper has this depth too, and its nesting follows from the times.
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
