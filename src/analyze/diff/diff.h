// Compares two sets of traces: what became slower or faster, by how much, and how certain that is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/diff/iteration_sums.h"
#include "analyze/diff/statistics.h"

namespace kymo::analyze {

struct DiffRow {
  std::string key;
  bool on_device = false;
  double median_a = 0, median_b = 0;  // nanoseconds per iteration
  Comparison change;
  double q = 1;              // p adjusted for the number of keys
  bool significant = false;  // q below 0.05, and the interval excludes zero
  bool only_a = false, only_b = false;
};

// What is counted once: the values of one replicate depend on each other.
enum class Replicate : uint8_t { Iteration, Run, Minute };

struct Diff {
  size_t replicates_a = 0, replicates_b = 0;
  Replicate replicate = Replicate::Iteration;  // Minute: all traces that began in it; never from compare()
  DiffRow iteration;                           // the wall-clock time of an iteration
  std::vector<DiffRow> rows;                   // the largest change first
  bool enough = false;                         // there are enough replicates for a statement
};

// One trace each: replicates are its iterations. Several on a side: its runs, each with the mean of its iterations.
Diff compare(const std::vector<IterationSums>& a, const std::vector<IterationSums>& b);

}  // namespace kymo::analyze
