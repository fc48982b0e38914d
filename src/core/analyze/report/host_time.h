// What a thread did during a set of times: self time by name, each nanosecond once (analyze/innermost.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyze/report/events.h"
#include "analyze/report/intervals.h"

namespace kymo::analyze {

struct HostRow {
  std::string name, category;
  uint64_t self_ns = 0;
  uint64_t total_ns = 0;  // with what is inside
  uint64_t count = 0;     // of ranges that overlap the times
  uint64_t longest_ns = 0;
  uint64_t running_ns = 0, waiting_ns = 0;  // of self_ns, by OneThread
};

struct HostTime {
  std::vector<HostRow> rows;  // most self time first; without the cost of profiling
  uint64_t outside_ns = 0;    // of the times: in no range of the thread
  uint64_t profiling_ns = 0;  // of the times: in the work of a profiler (known_names.h)
};

// An operation with the shapes of its inputs.
struct ShapeRow {
  std::string name, shapes;
  uint64_t count = 0, total_ns = 0;
};

// What is asked of one of the threads only.
struct OneThread {
  uint32_t track = UINT32_MAX;
  Intervals running, waiting;               // when it was on a processor and when it waited, in its times
  std::vector<ShapeRow>* shapes = nullptr;  // gets its operations that have "Input Dims"
};

// For several threads at once, each with its own times. Reads the ranges of these tracks once.
std::map<uint32_t, HostTime> host_time(EventWalk& walk, const std::map<uint32_t, Intervals>& times,
                                       const OneThread& one = {});

}  // namespace kymo::analyze
