// Sums up ranges: one sum per class and process while reading, one row per group at the end.
//
// A lookup of a name for each range would be too slow. So while reading, ranges are added to sums that are found in a
// table by class id (ClassSlots), in ticks of their clock. After reading, the sums of one name are combined
// (RangeGroups).
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/durations.h"
#include "analyze/stats.h"
#include "trace/async_pairs.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::analyze {

// Ranges with equal keys are in one row.
struct RangeKey {
  std::string name, category;
  uint64_t pid = 0, tid = 0;
  std::string device;
  bool across_threads = false, on_device = false, unfinished = false;
  auto operator<=>(const RangeKey&) const = default;
};

// The sums of the ranges with one class, one process and one clock.
struct RangeSums {
  RangeSums(ExactBudget& budget, double tick) : durations(budget), ns_per_tick(tick) {}

  void add(uint64_t duration) {
    ++count;
    total += duration;
    shortest = std::min(shortest, duration);
    longest = std::max(longest, duration);
    durations.add(duration);
  }
  void add(const StateTimes::Times& times) {
    has_states = true;
    for (size_t i = 0; i < times.size(); ++i) in_state[i] += times[i];
  }

  uint64_t count = 0, total = 0, shortest = UINT64_MAX, longest = 0;  // ticks
  uint64_t inside = 0;  // what is not self time; wraps, because it is a sum of differences
  bool has_states = false;
  StateTimes::Times in_state{};  // nanoseconds
  Durations durations;
  double ns_per_tick;
  const RangeKey* key = nullptr;
  RangeSums* unfinished = nullptr;  // of the same key, for ranges that have not ended
};

class RangeGroups {
 public:
  explicit RangeGroups(const StatsOptions& options) : budget_(options.exact_per_name, options.exact_in_total) {}

  // New sums that belong to the key's row. The reference stays valid.
  RangeSums& sums(const RangeKey& key, double ns_per_tick);

  // The sums for unfinished ranges of the same name.
  RangeSums& unfinished(RangeSums& sums);

  // Longest total first. Takes linear time in the number of durations kept.
  std::vector<RangeRow> rows();

 private:
  ExactBudget budget_;
  std::deque<RangeSums> sums_;
  std::map<RangeKey, std::vector<RangeSums*>> groups_;
};

// Finds the sums for the ranges of each class: for one process and clock, or for one thread if grouped by thread.
//
// The sums have numbers: the class id, and after those one for each text.
class ClassSlots {
 public:
  struct Scope {
    const trace::WriterInfo& writer;
    const trace::Track& track;
    bool across_threads = false;
    double ns_per_tick = 1;
  };
  ClassSlots(RangeGroups& groups, const StatsOptions& options, const Scope& scope);

  RangeSums& of(uint32_t number) {
    if (slots_[number] != nullptr) [[likely]]
      return *slots_[number];
    return *(slots_[number] = &sums_of_class(number));
  }
  size_t count() const { return slots_.size(); }

  // By the text of the event for class 0, and, if grouped by full text, for any class with "{}" places.
  uint32_t number(uint32_t class_id, const std::vector<trace::ValueCursor::Value>& row);
  uint32_t number(const trace::OpenRange& range);
  // Of all ranges; valid until the next call.
  std::span<const uint32_t> numbers(const trace::Ranges& ranges);

  // Null for class 0 and for a class that is not in the trace.
  const trace::EventClass* event_class(uint32_t class_id) const {
    return class_id < classes_.size() ? classes_[class_id] : scope_.writer.find_class(class_id);
  }

 private:
  RangeSums& sums_of_class(uint32_t class_id);
  std::string name_of(const trace::EventClass& event_class) const;
  uint32_t by_text(uint32_t class_id, const std::string& text, const std::string& category);
  uint32_t add(RangeSums& sums);
  RangeKey key(std::string name, std::string category) const;

  RangeGroups& groups_;
  const StatsOptions& options_;
  const Scope scope_;
  std::vector<const trace::EventClass*> classes_;  // by class id
  std::vector<RangeSums*> slots_;                  // by number; null until the first range
  std::vector<uint32_t> numbers_;
  RangeSums* thread_ = nullptr;                                                    // all classes, if grouped by thread
  std::unordered_map<uint32_t, std::unordered_map<std::string, uint32_t>> texts_;  // by class id
  size_t text_count_ = 0;
  std::optional<uint32_t> others_;  // for texts beyond the limit of texts_
};

// Sums up points: counts of instants, values of counters, and ranges across threads, whose two ends are matched.
//
// Points come in file order. This is sorted by time only within a track.

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
