// The order of spans that come from devices and other calls: sorted by their ends, overlapping ones on different lanes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collect/class_table.h"
#include "trace/model.h"

namespace kymo::collect {

// Puts overlapping spans of one track on lanes: spans that run at the same time get different lanes.
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

// Sorts the spans of a device's queue.
//
// A queue that works in order costs one comparison per span: everything is on lane 0, unchanged. Otherwise each batch
// is sorted. A span that comes in a later batch than a span that started after it gets another lane.
class QueueOrder {
 public:
  void add(uint64_t start, uint64_t end) {
    in_order_ &= start >= latest_;
    latest_ = std::max(latest_, end);
  }
  // For everything added since the last call.
  void arrange(trace::Ranges& ranges, const ClassTable& classes);
  void clear();

 private:
  Lanes lanes_;
  uint64_t latest_ = 0;  // the latest end of all that was added
  bool in_order_ = true;
};

}  // namespace kymo::collect
