// `kymo replay`: makes the calls of a capture again, timed by the device, and checks their results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/replay/reader.h"

namespace kymo::capture {

struct ReplayOptions {
  std::string device;   // replaces the capture's devices; empty: the same ones
  uint64_t repeat = 1;  // timed runs, after the one that is checked
  bool verify = true;   // a first run whose results are compared; it is not timed
  // Floating types may differ by `tolerance` times the larger magnitude; 0: all bits must be equal. NaN equals NaN.
  double tolerance = 0;
  std::string kernel;  // the only one in the report; empty: all
};

// A buffer whose contents differ.
struct Mismatch {
  uint32_t buffer = 0;
  DType dtype = DType::U8;
  uint64_t element = 0;   // the first one that differs
  std::string then, now;  // its values
  uint64_t differing = 0, elements = 0;
};

// A kernel, or a kind of fill or copy, over all its calls and runs. Nanoseconds on the device, smallest first.
struct ReplayRow {
  std::string name;
  bool is_named = false;                  // by the program: a kernel or a named operation, not a fill or a copy
  uint64_t calls = 0;                     // in one run
  std::vector<uint64_t> times, original;  // those that are known
  uint64_t bytes = 0;                     // of the tensors, in one run
  double flops = 0;                       // of a named operation, in one run; 0: not known

  // 0: unknown.
  double gigabytes_per_second(uint64_t runs) const;
  double gigaflops(uint64_t runs) const;

 private:
  uint64_t total_of(uint64_t runs) const;  // 0 if some of the times are missing
};

struct ReplayReport {
  std::vector<std::string> devices;   // their names
  std::vector<ReplayRow> rows;        // longest total first
  std::vector<ReplayRow> operations;  // the operations that the program named: each is the sum of its calls
  uint64_t runs = 0, calls = 0;       // timed runs; calls of one
  // The sum of all calls of a run whose time is known in the capture and in the replay: the capture's, and the median
  // of the runs.
  uint64_t original_ns = 0, replayed_ns = 0;
  bool verified = false;
  uint64_t buffers_compared = 0, buffers_unknown = 0;  // unknown: the result was not captured
  std::vector<Mismatch> mismatches;
};

// Throws Error if the replay is not possible: no such device, a kernel that the device cannot compile or run, no such
// kernel.
ReplayReport replay(const CaptureFile& capture, const ReplayOptions& options);

}  // namespace kymo::capture
