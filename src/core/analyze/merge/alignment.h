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

// The clocks of computers differ in their rate by some 10 ppm. None differs by more than this.
inline constexpr double kMostDrift = 200e-6;

struct Alignment {
  int64_t origin = 0;     // on the other clock; the offset is for this time
  int64_t offset_ns = 0;  // reference minus other
  double drift = 0;       // the reference gains so many nanoseconds per nanosecond of the other clock
  uint64_t error_ns = 0;  // times are within this, with a probability of 95 %
  size_t moments = 0;

  int64_t to_reference(int64_t time) const;  // forged times end at the limits of the type
  int64_t offset_at(int64_t time) const;     // what to_reference() adds
  // From the other clock to the reference of `next`, whose other clock is the reference of this one.
  Alignment then(const Alignment& next) const;
};

// Differences of moments, for sums that are exact: `x` is the other clock from any zero, `y` the reference minus the
// other clock, from any zero.
struct Difference {
  double x = 0, y = 0;
};

// y = offset + slope * x. Robust: up to a third of the differences may be wrong. The slope is the median of slopes
// between differences that are far apart, at most kMostDrift; it is 0 if there are fewer than 5. `by_x` is not empty.
struct Line {
  double offset = 0, slope = 0;
  double at(double x) const { return offset + slope * x; }
};
Line fit_line(std::span<const Difference> by_x);

// Of two times; forged times end at the limits of the type.
int64_t difference(int64_t a, int64_t b);
int64_t sum(int64_t a, int64_t b);

// The drift stays 0 if the moments do not determine it. The error is that of 95 % of the moments, and more if there are
// few of them, or if times from `first` to `last` of the other clock are far from the moments.
Alignment align(std::vector<SharedMoment> moments, int64_t first, int64_t last);

}  // namespace kymo::analyze
