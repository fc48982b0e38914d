// Decodes the payload of an events chunk into an EventBatch.
//
// The payload comes from a file and is untrusted: counts are checked against the header and the limits of the format
// before anything is allocated. Reuses its memory for the next chunk. Use one decoder per thread.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "trace/columns.h"
#include "trace/format.h"
#include "trace/model.h"

namespace kymo::trace {

class EventDecoder {
 public:
  // Decodes the requested parts (enum Part) and leaves the rest of `into` empty. Throws kymo::Error if the payload is
  // not valid; the content of `into` is then undefined. The vectors of `into` are reused.
  void decode(base::Bytes payload_untrusted, const ChunkHeader& header_untrusted, unsigned parts, EventBatch& into);

 private:
  void decode_ranges(const ColumnsReader&, size_t open_before, unsigned parts, Ranges& into);
  void decode_points(const ColumnsReader&, unsigned parts, Points& into);
  void decode_values(const ColumnsReader&, const ValueColumns&, bool wanted, Values& into);

  uint32_t range_count_ = 0, point_count_ = 0;
  ColumnScratch scratch_;
  std::vector<uint16_t> depth_;  // times need depths even if the caller does not want them
  std::vector<uint64_t> bits_;
};

}  // namespace kymo::trace
