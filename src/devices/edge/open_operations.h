// Finds the operation of a thread that was open at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "edge/log.h"

namespace kymo::edge {

struct TimeSpan {
  uint64_t start_ns = 0, end_ns = 0;
};

// `operations` are in the order in which they began, `parents` are their parents. Both must outlive this object.
class OpenOperations {
 public:
  OpenOperations(std::span<const TimeSpan> operations, std::span<const uint32_t> parents)
      : operations_(operations), parents_(parents), begins_(operations.size()) {
    uint64_t latest = 0;
    for (size_t at = 0; at < operations.size(); ++at) begins_[at] = latest = std::max(latest, operations[at].start_ns);
  }

  // The number of operations that began at or before this time.
  uint32_t started_by(uint64_t ns) const {
    return static_cast<uint32_t>(std::upper_bound(begins_.begin(), begins_.end(), ns) - begins_.begin());
  }
  uint64_t begin_of(uint32_t operation) const { return begins_[operation]; }

  // The innermost operation that fits, among those that may be open at that time: the last one that began, and its
  // ancestors. kNothing: none.
  template <class IsGood>
  uint32_t find_up(uint64_t ns, IsGood is_good) const {
    uint32_t at = started_by(ns);
    if (at == 0) return kNothing;
    for (--at; at != kNothing; at = parents_[at])
      if (is_good(operations_[at])) return at;
    return kNothing;
  }
  uint32_t at(uint64_t ns) const {
    return find_up(ns, [&](const TimeSpan& each) { return each.start_ns <= ns && ns <= each.end_ns; });
  }

 private:
  std::span<const TimeSpan> operations_;
  std::span<const uint32_t> parents_;
  std::vector<uint64_t> begins_;  // never decreases, even if the input does
};

}  // namespace kymo::edge
