// Encodes an EventBatch as the payload of a chunk.
//
// EventDecoder restores every batch exactly, for any times. Reuses its memory for the next chunk. Use one encoder per
// thread.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "trace/columns.h"
#include "trace/format.h"
#include "trace/model.h"

namespace kymo::trace {

// From the earliest to the latest time of what happened in a batch: its ranges, its points, and the starts of ranges
// that were opened in it and are still open. Ranges that are open throughout do not count, or every chunk would reach
// back to the start of main(). {0, 0} if nothing happened.
struct BatchSpan {
  uint64_t first = 0, last = 0;
};
BatchSpan span_of(const EventBatch&);

class EventEncoder {
 public:
  // Appends the payload, without padding, and sets the header's fields: times, counts, track, ring and sequence. Throws
  // kymo::InvalidArgument if the arrays of the batch do not match or exceed the limits of a chunk.
  void encode(const EventBatch&, ChunkHeader&, base::ByteWriter& out);

 private:
  void add_ranges(const EventBatch&);
  void add_points(const Points&);
  void add_values(const ValueColumns&, const Values&);

  ColumnsWriter columns_;
  std::vector<uint64_t> gap_, bits_;
};

}  // namespace kymo::trace
