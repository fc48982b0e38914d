// The field values of a chunk's events, with access in any order.
//
// A chunk stores values as streams that can only be read from the start, but exporters visit events in the order of
// their starts. So the streams are read once and stored row by row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "convert/classes.h"
#include "trace/reader.h"

namespace kymo::convert {

using Value = trace::ValueCursor::Value;

class ValueRows {
 public:
  // Keeps views into `values`. After an event of an unknown class, rows are empty, because the next row's start is
  // unknown.
  void load(const trace::Values& values, std::span<const uint32_t> class_ids, Classes& classes);

  std::span<const Value> row(size_t event) const {
    return std::span(values_).subspan(begin_[event], begin_[event + 1] - begin_[event]);
  }

 private:
  std::vector<Value> values_;
  std::vector<uint32_t> begin_;  // of each row, and the end of the last one
};

}  // namespace kymo::convert
