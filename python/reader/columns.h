// The ranges of a trace as columns, decoded by all cores: each chunk goes to its place in the result.
//
// A damaged chunk is left out and reported in `problems`. Times are nanoseconds since 1970, rounded as in `kymo query`:
// the start and the end each to the nearest, and the duration is their difference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reader/catalogue.h"
#include "reader/loose_ranges.h"
#include "trace/reader.h"

namespace kymo::python {

struct RangeColumns {
  std::vector<int64_t> start_ns, duration_ns;
  std::vector<int32_t> name, track;
  std::vector<uint16_t> depth;
  std::vector<uint8_t> across_threads, finished;
  std::vector<std::string> problems;
};

enum ColumnSet : unsigned { kTimes = 1, kNames = 2, kDepths = 4, kTracks = 8, kKinds = 16 };

// The columns that are not asked for stay empty. Nested ranges are in the order of the file: per track, sorted by their
// ends. After them, the loose ones are sorted by their starts. `kKinds`: across_threads and finished.
RangeColumns read_ranges(const trace::Reader& reader, const Catalogue& catalogue, const LooseRanges& loose,
                         unsigned columns);

struct NamedDurations {
  std::vector<int64_t> ns;
  std::vector<std::string> problems;
};
// The durations of all ranges with this name that have an end, in the order of read_ranges().
NamedDurations read_durations(const trace::Reader& reader, const Catalogue& catalogue, const LooseRanges& loose,
                              const std::string& name);

}  // namespace kymo::python
