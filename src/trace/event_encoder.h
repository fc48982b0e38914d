// An EventBatch as the payload of a chunk.
//
// Any batch comes back from EventDecoder exactly as it was, whatever its times. Keeps its memory from chunk to chunk;
// one encoder belongs to one thread.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "trace/columns.h"
#include "trace/format.h"
#include "trace/model.h"

namespace kymo::trace {

class EventEncoder {
 public:
  // Appends the payload, unpadded, and sets what the header says about it: times, counts, track, ring and sequence.
  // Throws kymo::InvalidArgument where the arrays of the batch do not match or are beyond what a chunk holds.
  void encode(const EventBatch&, ChunkHeader&, base::ByteWriter& out);

 private:
  void add_ranges(const EventBatch&);
  void add_points(const Points&);
  void add_values(const ValueColumns&, const Values&);

  ColumnsWriter columns_;
  std::vector<uint64_t> gap_, bits_;
};

}  // namespace kymo::trace
