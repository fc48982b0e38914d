// Where the level of a series of values changed.
//
// The test weighs the size of a change as well as its length: what counts is how far the means of the two sides are
// apart, in units of the noise, and that in units of what chance does with sides of these lengths. The noise is that of
// neighbours, so that a change does not count as noise. A value counts with at most kMostNoise, so that one that is
// very slow is not a change of the level. The two parts are searched again. The size of a change is that of
// analyze::compare().
//
// A level that came back is no change for this test: both sides of any place have values of both levels. So if it finds
// none, the part that differs most from what is before and after it is looked for.
//
// p is the share of random orders of the values that have a change as clear as this one. So nothing is assumed about
// the distribution of the values. The same values always have the same p.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "analyze/diff/statistics.h"

namespace kymo::fleet {

struct ChangePoint {
  size_t at = 0;  // the first value of the new level
  double p = 1;
  analyze::Comparison change;  // from the part before, back to the change before, to the part after
  double median_before = 0, median_after = 0;
};

inline constexpr double kCertain = 0.01;  // the max p of a change point
// The same of a level that came back. It is smaller, so that the second test adds few change points by chance.
inline constexpr double kCertainEpisode = 0.001;
inline constexpr size_t kFewestAround = 4;   // values on each side
inline constexpr size_t kFewestValues = 10;  // with fewer, no order of the values is as rare as kCertain
inline constexpr double kMostNoise = 4;      // of one value: its distance from the median, in units of the noise

// In order. The search is quadratic, so callers give at most kMostHistory values.
inline constexpr size_t kMostHistory = 5'000;
std::vector<ChangePoint> find_change_points(std::span<const double> values);

// A change of the last values that would have been found: by how much, and of how many values, the last quarter.
struct VisibleChange {
  size_t values = 0;
  double shift = 0;  // up to a hundredth of it
};
// The smallest one; nothing if there are too few values for any. Of values without a change point.
std::optional<VisibleChange> smallest_visible_change(std::span<const double> values);

}  // namespace kymo::fleet
