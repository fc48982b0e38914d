// Puts overlapping spans of one track on lanes: spans that run at the same time get different lanes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kymo::collect {

class Lanes {
 public:
  // The first lane from `lowest` that is free at `start`. It is in use until `end` then.
  uint16_t take(uint64_t start, uint64_t end, size_t lowest = 0) {
    size_t lane = lowest;
    while (lane < taken_until_.size() && taken_until_[lane] > start) ++lane;
    lane = std::min(lane, kMax - 1);
    if (lane >= taken_until_.size()) taken_until_.resize(lane + 1);
    taken_until_[lane] = std::max(taken_until_[lane], end);
    return static_cast<uint16_t>(lane);
  }
  void clear() { taken_until_.clear(); }

 private:
  // More than any device needs; if damaged times need more, the last lane takes them.
  static constexpr size_t kMax = 1024;

  std::vector<uint64_t> taken_until_;
};

}  // namespace kymo::collect
