// Ranges that have not ended: where a program hangs, or was killed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/report/events.h"

namespace kymo::analyze {

// A thread that left ranges open, and of which nothing more came until the end of its process.
struct Unfinished {
  uint32_t track = 0;
  std::vector<std::string> ranges;  // open ones, the outermost first; at most the innermost 20
  int64_t outer_begin = 0;          // of the outermost
  int64_t begin = 0;                // of the innermost
  int64_t since = 0;                // the last event of the thread
  int64_t until = 0;                // the process was last seen
};

// The longest silence first. A range that is open for as long as others of its name took is not unfinished: the
// recording ended while the program worked. Nor is one that is silent for less than a hundredth of the trace. Reads the
// last chunk of each thread, and the ranges of these names.
std::vector<Unfinished> find_unfinished(EventWalk& walk);

}  // namespace kymo::analyze
