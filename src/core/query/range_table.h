// The table "ranges".
#pragma once

#include "query/table.h"

namespace kymo::query {

// Ended ranges are read chunk by chunk, by all threads at once. Ranges across threads and unfinished ranges come from
// one thread (loose_ranges.h).
Table range_table();

enum RangeColumn : size_t {
  kRangeName,
  kRangeFullName,
  kRangeCategory,
  kRangeStart,
  kRangeEnd,
  kRangeDuration,
  kRangeDepth,
  kRangeLane,
  kRangeCorrelation,
  kRangeFinished,
  kRangeArgs,
  kRangeTrack,  // the first of kTrackColumns
};

}  // namespace kymo::query
