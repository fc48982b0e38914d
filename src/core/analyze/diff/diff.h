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
  double q = 1;              // p adjusted for the number of keys; of the iteration p itself
  bool significant = false;  // q below 0.05, and the interval excludes zero
  // Not significant, and yet nothing is known. Main::All: the interval reaches beyond Diff::limit. Main::Iteration: no
  // order of so few values is clearer.
  bool undecided = false;
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
  size_t tested = 0;                           // rows that could be significant: those that q is adjusted for
  double limit = 0;                            // a change by less does not matter: nanoseconds; with Main::All
};

// What is undecided: all that may have changed by more than the limit, or the iteration if no order of so few values is
// clearer. The p of the iteration is not adjusted in either case: it is one question, and the first one, whatever the
// number of keys.
enum class Main : uint8_t { All, Iteration };

// One trace each: replicates are its iterations, which depend on each other. Several on a side: its runs, each with the
// mean of its iterations. `limit`: the share of an iteration that matters. The same traces on both sides have not
// changed, however much their iterations differ.
inline constexpr double kUsualLimit = 0.01;
Diff compare(const std::vector<IterationSums>& a, const std::vector<IterationSums>& b, Main main = Main::All,
             double limit = kUsualLimit);

// With how many replicates on each side the clearest order is significant for one of so many keys.
size_t fewest_replicates(size_t keys);

}  // namespace kymo::analyze
