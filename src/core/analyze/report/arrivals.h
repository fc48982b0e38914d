// Which rank of a merged trace arrives last at the collectives, and how long the others wait for it.
//
// A call counts if every rank waits in it for every other one (shared_calls). A difference that is not larger than the
// error of the clocks does not count.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyze/report/device_work.h"
#include "analyze/report/intervals.h"

namespace kymo::analyze {

struct RankArrivals {
  uint32_t device = 0;     // index in DeviceWork::devices
  uint64_t calls = 0;      // with at least one other rank
  uint64_t last_at = 0;    // it arrived last, alone
  uint64_t waited_ns = 0;  // in calls, until the last rank arrived
  // It arrived last, and all others had arrived: [the arrival of the one before it, its own).
  Intervals awaited;
};

struct Arrivals {
  std::vector<RankArrivals> ranks;        // by device; empty: the trace has no collectives of several ranks
  uint64_t calls = 0;                     // that at least two ranks have
  uint64_t error_ns = 0;                  // the largest one of the clocks in these calls
  std::map<uint32_t, Intervals> waiting;  // by device: in a call, before the last rank arrived
};

// The one that all others wait for the longest; null: they wait for none.
const RankArrivals* straggler_of(const Arrivals& arrivals);

// Reads the device tracks once if at least two devices communicate. Only arrivals in the window count.
Arrivals find_arrivals(EventWalk& walk, const DeviceWork& work, const Intervals& window);

}  // namespace kymo::analyze
