// Compares two samples without assumptions about their distribution.
//
// A replicate is an iteration or a run, never a single kernel: kernels of one iteration depend on each other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace kymo::analyze {

struct Comparison {
  double shift = 0;          // Hodges-Lehmann: the median of all differences b - a
  double low = 0, high = 0;  // its 95 % confidence interval
  double cliffs_delta = 0;   // -1: all of b are smaller; 1: all are larger
  double p = 1;              // Mann-Whitney, two-sided; of series also Student's
  bool enough = false;       // both have at least kFewest values; otherwise only the shift is valid
  bool is_constant = false;  // all values are equal, so that no order of them could be significant

  static constexpr size_t kFewest = 4;  // with fewer, no interval can exclude zero at 95 %
};

// Of independent values, such as one of each run. Samples with more than kMostValues are averaged in blocks first.
inline constexpr size_t kMostValues = 200;
Comparison compare(std::span<const double> a, std::span<const double> b);

// Of the iterations of one run each, in order of time. Neighbours depend on each other: a run warms up, drifts, and has
// slow phases. So the interval is as wide as the number of independent values and the trend of each run require.
//
// The values are the medians of at most kMostBlocks blocks of neighbours. A value that is 0 in many iterations, such as
// a checkpoint that is written in each tenth one, is averaged over blocks that have it.
inline constexpr size_t kMostBlocks = 30;
Comparison compare_series(std::span<const double> a, std::span<const double> b);

// How many independent values say as much about the middle of a series: at least 2 of its size. From the
// autocorrelation of the ranks, summed up while it is positive, and corrected for its bias in a short series.
double effective_size(std::span<const double> series);

// Benjamini-Hochberg: the adjusted p of each, so that those below 0.05 contain at most 5 % false ones on average.
std::vector<double> adjusted(std::span<const double> p);

}  // namespace kymo::analyze
