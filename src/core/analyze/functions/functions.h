// The functions that used the CPU, waited or caused page faults, from the samples of a trace: a row for each function
// of a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/functions/samples.h"
#include "analyze/views/paths.h"

namespace kymo::functions {

struct FunctionRow {
  std::string function;
  std::string module;                            // the path of the file; empty: not known
  uint64_t self_samples = 0, total_samples = 0;  // total: it, or a function that it called, was running
  uint64_t self_ns = 0, total_ns = 0;            // of page faults: their number
};

struct FunctionTable {
  What what = What::Cpu;
  std::vector<FunctionRow> rows;  // largest self time first
  uint64_t samples = 0;           // of the rows
  uint64_t time_ns = 0;           // that the samples stand for; of page faults: their number
  uint64_t cpu_ns = 0;            // CPU time of the threads; 0: not known, or only a part of the samples is counted
  uint64_t period_ns = 0;         // the longest time between two samples
  uint64_t incomplete = 0;        // samples whose outer functions are not known
  uint64_t threads = 0;           // all, or those with samples in the ranges
  uint64_t off_ns = 0, preempted_ns = 0;   // of these threads
  std::vector<std::string> missing_files;  // functions in them have no names, because the files are not there any more
};

// Only samples in ranges whose names match the pattern (base/wildcard.h); empty: all samples.
FunctionTable count_functions(Samples& samples, const std::string& range_pattern = {});

// All functions that used the CPU. Nothing if the trace has no samples.
std::optional<FunctionTable> functions_on_cpu(const trace::Reader& reader);

// The samples of a trace as paths for a flame graph: process, thread, the innermost range, functions.
views::Paths paths_of_samples(Samples& samples, const views::PathOptions& options = {});

}  // namespace kymo::functions
