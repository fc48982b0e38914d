// The operations in the iterations of a trace by name: how often, how long in total, and how long one takes.
//
// A host operation is a range of the main thread, a device operation a kernel, copy or collective. An operation counts
// if it begins in an iteration; one of a device if its launch does, as in analyze/diff.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/report/device_work.h"
#include "analyze/report/iterations.h"

namespace kymo::analyze {

struct IterationOperation {
  std::string name;
  bool on_device = false;
  WorkKind kind = WorkKind::Compute;  // of a host range: Communication if its name says so
  uint64_t count = 0;
  uint64_t total_ns = 0;
  uint64_t self_ns = 0;  // without ranges inside; for a device the same as the total
  uint64_t min_ns = UINT64_MAX, median_ns = 0, p99_ns = 0, max_ns = 0;
};

struct IterationOperations {
  std::vector<IterationOperation> rows;  // one for each name
  std::vector<uint64_t> outside_ns;      // by device: its work that belongs to no iteration
};

// Reads the ranges of the main thread once. Memory depends on the number of names, and on the durations that are kept
// for exact quantiles (analyze/durations.h).
IterationOperations iteration_operations(EventWalk& walk, const DeviceWork& work, const Iterations& iterations);

// The number of each iteration. Nothing: its name has none that 64 bits can have.
using IterationNumbers = std::vector<std::optional<uint64_t>>;

// The numbers that the program gave its iterations ("step 7", kymo::step(7)). Empty if it gave none.
IterationNumbers iteration_numbers(EventWalk& walk, const Iterations& iterations);

// The runs of a program that began again within the trace: the run of each iteration, from 0. A run ends where the
// next number is a smaller one. Several iterations of a run may have the same number.
std::vector<uint32_t> iteration_runs(const IterationNumbers& numbers);

// For each iteration: whether a later run has one with the same number.
std::vector<bool> repeated_later(const IterationNumbers& numbers, const std::vector<uint32_t>& runs);

}  // namespace kymo::analyze
