// Puts the traces of several ranks on one clock, into one trace.
//
// Traces of one boot of one host have the same clock, and are exact. For others, the offset and the drift are
// estimated: the collectives of all ranks end at about the same time. The error is stored with the clocks, and `kymo
// info` shows it. Traces that `kymo trigger --hosts` fetched have the measured offsets of their hosts' clocks, which
// are used if they are more precise. Without either, the system clocks of the hosts are all there is, and their error
// is unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/merge/alignment.h"
#include "trace/reader.h"

namespace kymo::analyze {

enum class AlignedBy : uint8_t { Reference, SameBoot, Collectives, Marks, Measured, SystemClock };

struct Rank {
  std::string path;
  AlignedBy by = AlignedBy::Reference;
  Alignment alignment;         // from its CLOCK_MONOTONIC to that of the first trace
  size_t ways = 1;             // in how many ways its events match; the error covers all of them
  size_t through = 0;          // the trace that it was aligned with: the first one, or one that was aligned before
  std::string reason;          // why its clock is that of the system
  std::optional<size_t> twin;  // an earlier trace of the same rank, or with the same events at the same times
  // What its system clock lacks to that of the first trace, if events say so.
  std::optional<int64_t> system_clock_offset_ns;
  uint64_t collectives = 0;       // that were matched with other ranks
  uint64_t last_at = 0;           // how often it arrived last
  uint64_t others_waited_ns = 0;  // the sum of what all others waited for it
  uint64_t waited_ns = 0;         // what it waited for others

  bool is_certain() const { return by != AlignedBy::SystemClock && ways == 1; }
};

struct MergeOptions {
  std::string mark;  // ranges and instants of this name happen at the same time on all ranks; empty: collectives
};

// For a clock whose error is not known.
inline constexpr uint64_t kUnknownError = 1'000'000'000;

// The first trace is the reference. The readers must stay open while merge() writes.
std::vector<Rank> align_ranks(const std::vector<trace::Reader>& readers, const MergeOptions& options);

// Writes all traces with their clocks on the reference clock. Uses memory for one chunk. Throws kymo::Error if the file
// cannot be written; then the file is called `name`, if it is not empty.
void write_merged(const std::vector<trace::Reader>& readers, const std::vector<Rank>& ranks, const std::string& path,
                  const std::string& name = {});

}  // namespace kymo::analyze
