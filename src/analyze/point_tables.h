// What becomes of points: counts of instants, the values of counters, and the two ends of ranges across threads brought
// together.
//
// Points come in file order, which is the order of time only within a track: an end may be read before its beginning,
// so whichever comes first waits for the other. At most a million wait.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/range_groups.h"
#include "analyze/stats.h"
#include "base/seeded_hash.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::analyze {

// Where a batch of points comes from.
struct PointSource {
  uint32_t writer = 0;  // a number for each writer, from 0
  const trace::ClockMap& clock;
  ClassSlots& async_slots;  // in nanoseconds
};

// A clock without pairs still tells differences.
int64_t nanoseconds(const trace::ClockMap& clock, uint64_t ticks);

class PointTables {
 public:
  explicit PointTables(const StatsOptions& options) : options_(options) {}

  void add(const PointSource& source, const trace::Points& points);

  // Fills in everything but the ranges, which went to the sources' slots; those that have not ended go to `groups` now.
  // `ends_ns`: when each writer was last seen alive, by its number.
  void finish(Statistics& into, RangeGroups& groups, const std::vector<int64_t>& ends_ns) const;

 private:
  using NameAndCategory = std::pair<std::string, std::string>;

  struct CounterSums {
    uint64_t count = 0;
    double min = 0, max = 0, sum = 0, last = 0;
    int64_t last_ns = INT64_MIN;
    void add(double value, int64_t ns);
  };

  struct Handle {
    uint32_t writer;
    uint64_t id;
    bool operator==(const Handle&) const = default;
  };
  struct HashHandle {
    size_t operator()(const Handle& handle) const noexcept { return base::SeededHash::of(handle.id, handle.writer); }
  };
  struct Waiting {
    int64_t ns;
    RangeSums* sums;  // of a beginning; null: an end
  };

  void add_end_of_async_range(const Handle& handle, const Waiting& arrived);

  const StatsOptions& options_;
  std::map<NameAndCategory, uint64_t> instants_;
  std::map<NameAndCategory, CounterSums> counters_;
  std::unordered_map<Handle, Waiting, HashHandle> waiting_;
  uint64_t unfinished_ = 0, unmatched_ends_ = 0, other_points_ = 0;
};

}  // namespace kymo::analyze
