// Finds the offset and drift of a clock against another one, from moments that were the same for both.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kymo::analyze {

// The same moment on both clocks, in nanoseconds. The two may differ by some noise: a collective does not end at
// exactly the same time on all ranks.
struct SharedMoment {
  int64_t reference = 0, other = 0;
};

struct Alignment {
  int64_t origin = 0;     // on the other clock; the offset is for this time
  int64_t offset_ns = 0;  // reference minus other
  double drift = 0;       // the reference gains so many nanoseconds per nanosecond of the other clock
  uint64_t error_ns = 0;  // 95 % of the moments are within this
  size_t moments = 0;

  int64_t to_reference(int64_t time) const;
};

// Robust: up to a third of the moments may be wrong. Uses medians of offsets, and of slopes between moments that are
// far apart. The drift stays 0 if there are fewer than 8 moments, or if they do not determine it.
Alignment align(std::vector<SharedMoment> moments);

// Two lists of repeated events that are the same ones, but whose first or last ones may be missing in one of them: the
// pairs for which the distances agree best. At most `most_missing` are left out at either end of either list.
std::vector<SharedMoment> matched(std::span<const int64_t> reference, std::span<const int64_t> other,
                                  size_t most_missing = 64);

}  // namespace kymo::analyze
