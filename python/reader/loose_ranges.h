// The ranges of a trace that are not in the list of ranges of a chunk: ranges across threads, whose two ends are points
// of different tracks, and ranges that have no end. They are the same ones as in analyze/stats.h.
//
// Reads only chunks that have points, on all cores, and the last chunk of each track.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reader/catalogue.h"
#include "trace/reader.h"

namespace kymo::python {

struct LooseRange {
  int64_t start_ns = 0, duration_ns = 0;  // without an end: until its process was last seen alive
  int32_t name = 0, track = 0;
  uint16_t depth = 0;  // 0 for a range across threads: it nests in nothing
  bool across_threads = false, finished = true;
};

struct LooseRanges {
  std::vector<LooseRange> ranges;  // sorted by start
  // The tasks of asyncio, as the Python package records them: each is a track, whose number follows those of the
  // catalogue.
  std::vector<TrackEntry> tasks;
  std::vector<std::string> problems;
};

// Throws nothing for a damaged trace: what cannot be read is in `problems`.
LooseRanges read_loose_ranges(const trace::Reader& reader, const Catalogue& catalogue);

}  // namespace kymo::python
