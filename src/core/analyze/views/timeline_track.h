// One track of a timeline: sums up its ranges at one depth, by column.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyze/views/range_names.h"
#include "analyze/views/timeline.h"
#include "convert/places.h"
#include "trace/clock.h"

namespace kymo::views {

class TimelineTrack {
 public:
  // All must outlive this object, except the clock.
  TimelineTrack(const convert::Place& place, trace::ClockMap clock, RangeNames& names, const convert::TraceTimes& times,
                const TimelineOptions& options);

  // Counted from the start of the timeline; negative before it.
  double time_of(uint64_t ticks) const;
  // The column of a time; outside of the timeline it is the first or last one.
  size_t column_of(double ns) const;
  // True for a range that gets a block of its own. Any thread may call it.
  bool is_wide(uint64_t end, uint64_t duration) const {
    return duration >= shortest_block_ && covers_a_block(end, duration);
  }

  // The ranges of a chunk. Values are needed only for the names of wide ranges, and for names stored with a range.
  void add(const trace::EventBatch& batch);
  // The summary of a chunk that is inside one column.
  void add(const trace::DepthSummary& summary);
  // A range that has not ended at `end_ns` of the monotonic clock.
  void add_unfinished(const trace::OpenRange& range, int64_t end_monotonic_ns);

  TimelineRow row() const;
  const convert::Place& place() const { return place_; }

 private:
  struct Interval {
    double begin, end;
  };
  bool covers_a_block(uint64_t end, uint64_t duration) const;
  void add_busy(const Interval& interval);
  void add_name(const Interval& interval, uint32_t number);
  void add_block(const Interval& interval, const std::string& name, bool unfinished);
  template <typename Visit>
  void for_each_column(const Interval& interval, Visit&& visit) const;

  const convert::Place& place_;
  const trace::ClockMap clock_;
  RangeNames& names_;
  const convert::TraceTimes& times_;
  const TimelineOptions& options_;
  const double column_ns_;
  const uint64_t shortest_block_;                     // ticks: a range that is shorter is not wide
  std::vector<double> busy_ns_;                       // by column
  std::vector<std::map<uint32_t, double>> named_ns_;  // by column, then name
  std::map<size_t, TimelineBlock> blocks_;            // by first column

  // Of the current chunk.
  std::vector<Interval> intervals_;
  // Saves most lookups of the sum of a name in a column.
  class RecentNames {
   public:
    // The sum of a name in a column. Valid until the next call.
    double& sum(size_t column, uint32_t number, std::map<uint32_t, double>& names);

   private:
    struct Slot {
      size_t column = SIZE_MAX;
      uint32_t number = 0;
      double* sum = nullptr;
    };
    std::array<Slot, 64> slots_;
    double beyond_ = 0;
  };
  RecentNames recent_;
};

}  // namespace kymo::views
