// The payload of an events chunk: encodes an EventBatch, and decodes it.
//
// The decoder restores every batch exactly, for any times. A payload comes from a file and is untrusted: counts are
// checked against the header and the limits of the format before anything is allocated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "trace/columns.h"
#include "trace/format.h"
#include "trace/model.h"

namespace kymo::trace {

// Stores the times of ranges as gaps: the distance of each from the end of the previous one. Ranges are sorted by their
// ends, so each follows either a neighbour or its own last child; its depth says which. Gaps of code in a loop are the
// same small numbers again and again. docs/format.md has the rule. Exact for any input: the arithmetic wraps.
// Fills `gap`, which must be as long as the others. Returns the base that makes the first gap 0. `open_before` is the
// number of ranges that are open before the first one. The input must not be empty.
uint64_t to_gaps(std::span<const uint64_t> end, std::span<const uint64_t> duration, std::span<const uint16_t> depth,
                 size_t open_before, std::span<uint64_t> gap);

// The inverse, in place: replaces the gaps in `gap_to_end` by ends.
void to_ends(std::span<uint64_t> gap_to_end, std::span<const uint64_t> duration, std::span<const uint16_t> depth,
             size_t open_before, uint64_t base);

// The head of an events chunk, which can be read without the rest: the ranges that are open at its two ends, and a
// summary of its ranges for each depth. A view of a whole trace needs only these. The prefix is before the head: the
// hash of the head, and the lengths of head and directory.
inline constexpr size_t kEventPrefixBytes = 16;

struct EventPrefix {
  uint64_t hash = 0;
  uint32_t head_length = 0, directory_length = 0;
};

struct EventHead {
  std::vector<OpenRange> opening, closing;
  std::vector<DepthSummary> summaries;
};

// One summary for each depth that has ranges, ascending.
std::vector<DepthSummary> summarise(const Ranges&);

// Fills in the prefix at the start of a payload, after the head has been written behind it.
void store_prefix(std::byte* payload, size_t head_length, size_t directory_length);

// Throws kymo::Error if `payload` is shorter than a prefix, or the head is longer than allowed.
EventPrefix read_prefix(base::Bytes payload_untrusted);
// The head of a payload. Throws kymo::Error if prefix and head are not complete, or the hash is wrong.
base::Bytes find_head(base::Bytes payload_untrusted, const EventPrefix&);
EventHead read_head(base::Bytes head_untrusted);

// From the earliest to the latest time of what happened in a batch: its ranges, its points, and the starts of ranges
// that were opened in it and are still open. Ranges that are open throughout do not count, or every chunk would reach
// back to the start of main(). {0, 0} if nothing happened.
struct BatchSpan {
  uint64_t first = 0, last = 0;
};
BatchSpan span_of(const EventBatch&);

// Reuses its memory for the next chunk. Use one encoder per thread.
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

// Reuses its memory for the next chunk. Use one decoder per thread.
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
