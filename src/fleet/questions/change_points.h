// Where the level of a series of values changed.
//
// Pettitt's test says how certain a change is, by ranks, without assumptions about the distribution. Its own place, the
// largest |U(t)|, is too near to the middle if the two sides have different lengths. So the place is that with the
// largest |U(t)| in units of its standard deviation, which is smaller towards the ends. The two parts are searched
// again. The size of a change is that of analyze::compare().
//
// A level that came back is no change for this test: both sides of any place have values of both levels. So if it finds
// none, the part that differs most from what is before and after it is looked for, by the range of U(t).
//
// p is the share of all orders of the values that have a change as clear as this one. It is exact for few values.
// Pettitt's approximation, which is for many, is too large there: below 16 values it would find nothing.
#pragma once

#include <cstddef>
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

// In order. Quadratic in the number of values, so only the last kMostHistory are searched.
inline constexpr size_t kMostHistory = 5'000;
std::vector<ChangePoint> find_change_points(std::span<const double> values);

}  // namespace kymo::fleet
