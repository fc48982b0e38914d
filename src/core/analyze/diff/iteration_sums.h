// How much time each path of ranges took in each iteration of a trace.
//
// The key of a host range is its path, "step/forward/aten::mm": the ranges that contain it. Its time is self time
// (analyze/innermost.h), so that the keys of an iteration sum to the time that ranges cover. The key of a device
// operation is the path of its launch and its own name: "step/forward/aten::mm/cudaLaunchKernel > gemm". Only the time
// inside an iteration counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace kymo::analyze {

struct KeySums {
  std::string key;
  bool on_device = false;
  std::vector<double> ns;  // by iteration
  uint64_t count = 0;
  bool operator==(const KeySums&) const = default;
};

struct IterationSums {
  std::vector<double> wall_ns;  // of each iteration
  std::vector<KeySums> keys;    // by name
  std::string iteration_name;
  std::string main_thread;
  uint64_t left_out = 0;                 // ranges without a key of their own: too many or too deep
  uint64_t not_compared = 0;             // times of ranges and operations beyond the memory for sums
  std::vector<trace::Problem> problems;  // what could not be read

  static constexpr size_t kMostKeys = 200'000;

  // The same times, which two runs never have.
  bool operator==(const IterationSums& other) const { return wall_ns == other.wall_ns && keys == other.keys; }
};

// The main thread's ranges, and the device operations that any thread launched.
IterationSums iteration_sums(const trace::Reader& reader);

}  // namespace kymo::analyze
