// What becomes of ranges: sums for each class of each process while they are read, one row for each group in the end.
//
// Reading must not look up a name for each range, so ranges are first added up where a table indexed by class id points
// to (ClassSlots), in ticks of their clock; only when all is read are the sums of one name brought together
// (RangeGroups).
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/durations.h"
#include "analyze/stats.h"
#include "trace/reader.h"

namespace kymo::analyze {

// What makes two ranges count in one row.
struct RangeKey {
  std::string name, category;
  uint64_t pid = 0, tid = 0;
  std::string device;
  bool across_threads = false, on_device = false, unfinished = false;
  auto operator<=>(const RangeKey&) const = default;
};

// The sums of ranges that have one class, one process and one clock.
struct RangeSums {
  RangeSums(ExactBudget& budget, double tick) : durations(budget), ns_per_tick(tick) {}

  void add(uint64_t duration, uint64_t in_itself) {
    ++count;
    total += duration;
    self += in_itself;
    shortest = std::min(shortest, duration);
    longest = std::max(longest, duration);
    durations.add(duration);
  }

  uint64_t count = 0, total = 0, self = 0, shortest = UINT64_MAX, longest = 0;  // ticks
  Durations durations;
  double ns_per_tick;
  const RangeKey* key = nullptr;
  RangeSums* unfinished = nullptr;  // of the same key, for ranges that have not ended
};

class RangeGroups {
 public:
  explicit RangeGroups(const StatsOptions& options) : budget_(options.exact_per_name, options.exact_in_total) {}

  // New sums that will count in the key's row. They stay where they are.
  RangeSums& sums(const RangeKey& key, double ns_per_tick);

  // Where unfinished ranges of the same name go.
  RangeSums& unfinished(RangeSums& sums);

  // Longest total first. Takes time linear in the durations kept.
  std::vector<RangeRow> rows();

 private:
  ExactBudget budget_;
  std::deque<RangeSums> sums_;
  std::map<RangeKey, std::vector<RangeSums*>> groups_;
};

// Where the ranges of each class go: of one process and clock, or of one thread when grouped by thread.
class ClassSlots {
 public:
  struct Scope {
    const trace::WriterInfo& writer;
    const trace::Track& track;
    bool across_threads = false;
    double ns_per_tick = 1;
  };
  ClassSlots(RangeGroups& groups, const StatsOptions& options, const Scope& scope);

  RangeSums& of(uint32_t class_id) {
    if (class_id < slots_.size() && slots_[class_id] != nullptr) [[likely]]
      return *slots_[class_id];
    return find(class_id);
  }

  // By the values of the event, where its text decides: a class 0, or any with places to fill when grouping by full
  // text.
  RangeSums& of(uint32_t class_id, const std::vector<trace::ValueCursor::Value>& row);

  // Null for class 0 and for one that is not in the trace.
  const trace::EventClass* event_class(uint32_t class_id) const {
    return class_id < classes_.size() ? classes_[class_id] : find_class(class_id);
  }

 private:
  const trace::EventClass* find_class(uint32_t class_id) const;
  RangeSums& find(uint32_t class_id);
  RangeSums& by_text(uint32_t class_id, const std::string& text, const std::string& category);
  RangeKey key(std::string name, std::string category) const;

  RangeGroups& groups_;
  const StatsOptions& options_;
  const Scope scope_;
  std::vector<const trace::EventClass*> classes_;  // by class id
  std::vector<RangeSums*> slots_;                  // by class id; null until the first range
  RangeSums* thread_ = nullptr;                    // all classes, when grouped by thread
  std::unordered_map<uint32_t, std::unordered_map<std::string, RangeSums*>> texts_;  // by class id
  size_t text_count_ = 0;
  RangeSums* others_ = nullptr;  // what has no place in texts_ any more
};

}  // namespace kymo::analyze
