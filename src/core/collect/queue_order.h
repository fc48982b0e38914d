// Sorts the spans of a device's queue by their ends, and puts overlapping spans on different lanes.
//
// A queue that works in order costs one comparison per span: everything is on lane 0, unchanged. Otherwise each batch
// is sorted. A span that comes in a later batch than a span that started after it gets another lane.
#pragma once

#include <algorithm>
#include <cstdint>

#include "collect/class_table.h"
#include "collect/lanes.h"
#include "trace/model.h"

namespace kymo::collect {

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
