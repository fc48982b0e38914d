// The spans of a device's queue in the order of their ends, each on a lane of its own while others run.
//
// A queue that works in order pays one comparison a span: everything stands on lane 0 as it came. Otherwise a batch is
// sorted; what comes in a later batch than something that began after it gets another lane.
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
  // Of everything added since the last call.
  void arrange(trace::Ranges& ranges, const ClassTable& classes);
  void clear();

 private:
  Lanes lanes_;
  uint64_t latest_ = 0;  // end of all that was added
  bool in_order_ = true;
};

}  // namespace kymo::collect
