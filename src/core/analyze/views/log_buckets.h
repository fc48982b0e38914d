// Buckets for a histogram of durations whose limits people can read: 1, 2, 5, 10 µs, …
//
// All buckets have about the same ratio between their limits. The ratio depends on the durations: a wide distribution
// has one bucket for each power of ten, a narrow one has up to 96 for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kymo::views {

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

}  // namespace kymo::views
