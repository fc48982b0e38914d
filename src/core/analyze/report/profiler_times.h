#pragma once

#include <cstdint>
#include <map>

#include "analyze/report/events.h"
#include "analyze/report/intervals.h"

namespace kymo::analyze {

// The part of a window in which a profiler held the program up, as tables name it.
inline constexpr const char* kProfilingPart = "cost of profiling";

// When profilers worked, by track of the host. Some write their work on tracks of their own: it counts for all threads.
class ProfilerTimes {
 public:
  explicit ProfilerTimes(EventWalk& walk);

  const Intervals& on(uint32_t track) const;

 private:
  std::map<uint32_t, Intervals> by_track_;
  Intervals everywhere_;
};

}  // namespace kymo::analyze
