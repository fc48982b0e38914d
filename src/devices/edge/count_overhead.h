// What the profiler itself adds to the performance events that it counts, measured when it starts.
//
//   begin()  ... read | return | the operation | end() | read ... return
//                     '------- the counts of it -------'            '--> and to those of the operation around it
#pragma once

#include <array>

#include "counters/thread_group.h"

namespace kymo::edge {

struct LogOptions;

struct CountOverhead {
  std::array<double, counters::kMaxEvents> own{};     // counted for an operation that does nothing
  std::array<double, counters::kMaxEvents> around{};  // more than that, for the operation that contains it
};

// Records some hundred empty operations on this thread, in a log of its own. All 0 if there are no events, or if they
// cannot be counted. Takes about 0.2 ms.
CountOverhead measure_overhead(const LogOptions& options);

}  // namespace kymo::edge
