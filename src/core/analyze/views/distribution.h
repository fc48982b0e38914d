// The distribution of the durations of the ranges with one name.
//
// Ranges on threads, ranges on queues of devices and ranges across threads are separate: a kernel and the call that
// launches it may have the same name. Up to a million durations are kept, so that quantiles are exact; more become a
// histogram with a stated error, as in `kymo stats`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace kymo::views {

// Buckets for a histogram of durations whose limits people can read: 1, 2, 5, 10 µs, …
//
// All buckets have about the same ratio between their limits. The ratio depends on the durations: a wide distribution
// has one bucket for each power of ten, a narrow one has up to 96 for it.

// From `from_ns` up to `to_ns`, without `to_ns`.
struct DurationBucket {
  uint64_t from_ns = 0, to_ns = 0;
  uint64_t count = 0;
};

// Empty buckets for all durations from `min_ns` to `max_ns`, ascending and without gaps. As many as possible, but at
// most `most`, which is at least 20: one for each power of ten.
std::vector<DurationBucket> make_log_buckets(uint64_t min_ns, uint64_t max_ns, size_t most);

// Counts durations. One outside of all buckets goes to the nearest.
void add_to_buckets(std::vector<DurationBucket>& buckets, uint64_t ns, uint64_t count = 1);

enum class RangePlace : uint8_t { Thread, Device, AcrossThreads };

// Quantiles are those of base/quantile.h, or of the nearest rank if approximate. `unfinished` ranges have no duration,
// so they are not in any other number.
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
