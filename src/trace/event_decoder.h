// The payload of an events chunk back into an EventBatch.
//
// The payload comes from a file and is not trusted: counts are held against the header and against the format's caps
// before anything is allocated. Keeps its memory from chunk to chunk; one decoder belongs to one thread.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "trace/columns.h"
#include "trace/format.h"
#include "trace/model.h"

namespace kymo::trace {

class EventDecoder {
 public:
  // Decodes the parts (of enum Part) that are asked for and leaves the rest of `into` empty. Throws kymo::Error where
  // the payload makes no sense; what `into` then holds is not specified. The vectors of `into` are used again.
  void decode(base::Bytes payload_untrusted, const ChunkHeader& header_untrusted, unsigned parts, EventBatch& into);

 private:
  void decode_ranges(const ColumnsReader&, size_t open_before, unsigned parts, Ranges& into);
  void decode_points(const ColumnsReader&, unsigned parts, Points& into);
  void decode_values(const ColumnsReader&, const ValueColumns&, bool wanted, Values& into);

  uint32_t range_count_ = 0, point_count_ = 0;
  ColumnScratch scratch_;
  std::vector<uint16_t> depth_;  // times need depths even where the caller does not want them
  std::vector<uint64_t> bits_;
};

}  // namespace kymo::trace
