// The clock frequencies of a trace: counters that are named like clocks, such as "GPC Clock Frequency [MHz]".
//
// A device that runs below its usual clock makes every kernel slower, and nothing else in a trace shows that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/report/events.h"
#include "analyze/report/intervals.h"

namespace kymo::analyze {

struct ClockRate {
  std::string name;   // of the counter, with its unit if it has one
  std::string where;  // the thread, queue or process that it belongs to
  uint64_t count = 0;
  double min = 0, max = 0;
  double mean = 0;  // over time: a value holds until the next one
};

// "GPU clock", "cpufreq 3", "sm_clock_mhz"; but not "clock error" or "wall clock".
bool names_clock_rate(std::string_view name);

// What counts is inside `window`. Reads nothing if no counter has such a name.
std::vector<ClockRate> clock_rates(EventWalk& walk, const Intervals& window);

}  // namespace kymo::analyze
