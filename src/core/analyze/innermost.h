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
#include <utility>
#include <vector>

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

}  // namespace kymo::analyze
