// The distribution of the durations of the ranges with one name.
//
// Ranges on threads, ranges on queues of devices and ranges across threads are separate: a kernel and the call that
// launches it may have the same name. All cores decode. Up to a million durations are kept, so that quantiles are
// exact; more become a histogram with a stated error, as in `kymo stats`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyze/views/log_buckets.h"
#include "trace/reader.h"

namespace kymo::views {

enum class RangePlace : uint8_t { Thread, Device, AcrossThreads };

// Quantiles are nearest-rank. `unfinished` ranges have no duration, so they are not in any other number.
struct Distribution {
  RangePlace place = RangePlace::Thread;
  uint64_t count = 0, total_ns = 0;
  uint64_t min_ns = 0, p50_ns = 0, p90_ns = 0, p99_ns = 0, max_ns = 0;
  bool approximate = false;   // p50, p90, p99 and the buckets; the others are always exact
  double relative_error = 0;  // of those
  uint64_t unfinished = 0;
  std::vector<DurationBucket> buckets;
};

struct Distributions {
  std::vector<Distribution> places;       // only those with ranges
  std::map<std::string, uint64_t> names;  // that match, with the number of ranges, unfinished ones included
  std::vector<std::string> other_names;   // of other ranges in the trace, sorted; only if nothing matches
  std::vector<trace::Problem> problems;
};

// `pattern` is a name, or has `*` for any text and `?` for one character. Never throws for a damaged trace.
Distributions find_durations(const trace::Reader& reader, const std::string& pattern, size_t max_buckets = 20,
                             uint64_t exact = 1'000'000);

}  // namespace kymo::views
