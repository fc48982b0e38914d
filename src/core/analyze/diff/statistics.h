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
  double p = 1;              // Mann-Whitney, two-sided
  bool enough = false;       // both have at least kFewest values; otherwise only the shift is valid

  static constexpr size_t kFewest = 4;  // with fewer, no interval can exclude zero at 95 %
};

// Samples with more than kMostValues are averaged in blocks of neighbours first, which also weakens the dependence of
// neighbours.
inline constexpr size_t kMostValues = 200;
Comparison compare(std::span<const double> a, std::span<const double> b);

// Benjamini-Hochberg: the adjusted p of each, so that those below 0.05 contain at most 5 % false ones on average.
std::vector<double> adjusted(std::span<const double> p);

}  // namespace kymo::analyze
