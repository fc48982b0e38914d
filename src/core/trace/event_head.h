// The head of an events chunk, which can be read without the rest: the ranges that are open at its two ends, and a
// summary of its ranges for each depth. A view of a whole trace needs only these.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "trace/model.h"

namespace kymo::trace {

// The prefix is before the head: the hash of the head, and the lengths of head and directory.
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

// Throws kymo::InvalidArgument if more ranges are open than a chunk allows.
void write_head(base::ByteWriter& out, const EventBatch&);
// Fills in the prefix at the start of a payload, after the head has been written behind it.
void store_prefix(std::byte* payload, size_t head_length, size_t directory_length);

// Throws kymo::Error if `payload` is shorter than a prefix, or the head is longer than allowed.
EventPrefix read_prefix(base::Bytes payload_untrusted);
// The head of a payload. Throws kymo::Error if prefix and head are not complete, or the hash is wrong.
base::Bytes find_head(base::Bytes payload_untrusted, const EventPrefix&);
EventHead read_head(base::Bytes head_untrusted);
size_t read_opening_count(base::Bytes head_untrusted);

}  // namespace kymo::trace
