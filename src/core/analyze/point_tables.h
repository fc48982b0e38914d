// Sums up points: counts of instants, values of counters, and ranges across threads, whose two ends are matched.
//
// Points come in file order. This is sorted by time only within a track.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyze/range_groups.h"
#include "analyze/stats.h"
#include "trace/async_pairs.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::analyze {

// The source of a batch of points.
struct PointSource {
  uint32_t writer = 0;  // the number of the writer, from 0
  const trace::ClockMap& clock;
  ClassSlots& async_slots;  // in nanoseconds
};

// For a clock without pairs, only differences are meaningful.
int64_t nanoseconds(const trace::ClockMap& clock, uint64_t ticks);

class PointTables {
 public:
  explicit PointTables(const StatsOptions& options);

  void add(const PointSource& source, const trace::Points& points);

  // Fills in everything except the ranges, which went to the sources' slots. Unfinished ranges go to `groups` now.
  // `ends_ns` has the time when each writer was last seen alive, by its number.
  void finish(Statistics& into, RangeGroups& groups, const std::vector<int64_t>& ends_ns);

 private:
  using NameAndCategory = std::pair<std::string, std::string>;

  struct CounterSums {
    uint64_t count = 0;
    double min = 0, max = 0, sum = 0, last = 0;
    int64_t last_ns = INT64_MIN;
    void add(double value, int64_t ns);
  };

  struct Begin {
    int64_t ns;
    RangeSums* sums;
  };
  struct End {
    int64_t ns;
  };

  const StatsOptions& options_;
  std::map<NameAndCategory, uint64_t> instants_;
  std::map<NameAndCategory, CounterSums> counters_;
  trace::AsyncPairs<Begin, End> async_;
  uint64_t unfinished_in_no_row_ = 0, other_points_ = 0;
};

}  // namespace kymo::analyze
