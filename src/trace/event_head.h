// The front of an events chunk, which can be read without the rest: the ranges open at its two ends, and a summary of
// its ranges for each depth. A view of a whole trace is drawn from these alone.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "trace/model.h"

namespace kymo::trace {

// Before the head: its hash and the lengths of head and directory.
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

// Throws kymo::InvalidArgument where more is open than a chunk takes.
void write_head(base::ByteWriter& out, const EventBatch&);
// Fills in the prefix of a payload that begins here, once its head has been written behind it.
void store_prefix(std::byte* payload, size_t head_length, size_t directory_length);

// Throws kymo::Error when `payload` is shorter than a prefix, or the head longer than is allowed.
EventPrefix read_prefix(base::Bytes payload_untrusted);
// The head of a payload of which at least prefix and head are there. Throws kymo::Error where they are not, or the hash
// is wrong.
base::Bytes find_head(base::Bytes payload_untrusted, const EventPrefix&);
EventHead read_head(base::Bytes head_untrusted);
size_t read_opening_count(base::Bytes head_untrusted);

}  // namespace kymo::trace
