// `kymo replay`: a capture's calls made again, timed by the device, and their results checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/comparison.h"
#include "capture/reader.h"

namespace kymo::capture {

struct ReplayOptions {
  std::string device;    // in the place of the capture's own; empty: the same
  uint64_t repeat = 1;   // timed runs, after the one that is checked
  bool verify = true;    // a first run whose results are compared, and which is not timed
  double tolerance = 0;  // Comparison
  std::string kernel;    // the only one in the report; empty: all
};

// A kernel, or a kind of fill or copy, over all its calls and runs. Nanoseconds on the device, smallest first.
struct ReplayRow {
  std::string name;
  bool is_named = false;                  // by the program: a kernel or a named operation, not a fill or a copy
  uint64_t calls = 0;                     // in one run
  std::vector<uint64_t> times, original;  // those that are known
  uint64_t bytes = 0;                     // of the tensors, in one run
  double flops = 0;                       // of a named operation, in one run; 0: not known

  // 0 … 1; 0 where there are no times.
  static uint64_t quantile(const std::vector<uint64_t>& sorted, double q);
  // 0: not known.
  double gigabytes_per_second(uint64_t runs) const;
  double gigaflops(uint64_t runs) const;

 private:
  uint64_t total_of(uint64_t runs) const;  // 0 where some of the times are missing
};

struct ReplayReport {
  std::vector<std::string> devices;   // as they were called
  std::vector<ReplayRow> rows;        // longest total first
  std::vector<ReplayRow> operations;  // those that the program named: each the sum of its calls
  uint64_t runs = 0, calls = 0;       // timed runs; calls of one
  // All calls of a run whose time is known both then and now: of the capture, and the median of the runs.
  uint64_t original_ns = 0, replayed_ns = 0;
  bool verified = false;
  uint64_t buffers_compared = 0, buffers_unknown = 0;
  std::vector<Mismatch> mismatches;
};

// Throws Error where it cannot be done: a device that is not there, a kernel it cannot compile or run, no such kernel.
ReplayReport replay(const CaptureFile& capture, const ReplayOptions& options);

// What a call is counted as: a kernel's name, or "copy", "fill", "upload", "download", "random normal".
struct CallName {
  std::string name;
  bool is_kernel = false;
  uint64_t bytes = 0;  // of its tensors
};
CallName name_of_call(const Record& call, const Tables& tables);

}  // namespace kymo::capture
