// The paths of the ranges of one track, summed up while its chunks are read in order.
//
// A chunk has ranges sorted by their ends. In the opposite order a parent comes before its children, so one pass
// backwards knows the path of every range. Nothing is kept between chunks except the sums and the open ranges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/views/path_trie.h"
#include "analyze/views/range_names.h"
#include "trace/model.h"

namespace kymo::views {

// What the paths of all tracks may use together.
struct PathBudget {
  uint64_t paths = 1 << 20;
  uint16_t depth = 1'024;
  uint64_t over = 0;  // ranges beyond these limits
};

// A range beyond the budget has no path of its own: its time stays in the range around it.
class TrackPaths {
 public:
  // The numbers of nodes that are not ranges: the self time of unfinished ranges, and ranges beyond the budget. Only a
  // forged class has such a number.
  static constexpr uint32_t kUnfinished = 0x7FFFFFFF, kOther = 0x7FFFFFFE;

  // Both must outlive this object.
  TrackPaths(RangeNames& names, PathBudget& budget) : names_(names), budget_(budget), around_(budget.depth) {}

  // The next chunk. `last` is the time of its last event.
  void add(const trace::EventBatch& batch, uint64_t last);

  // Ends the open ranges. `length` says how long a range has lasted at least, in ticks.
  template <typename Length>
  void finish(Length&& length) {
    end_open(0, length);
  }

  uint64_t last() const { return last_; }
  uint64_t unfinished() const { return unfinished_; }
  const PathTrie& trie() const { return trie_; }
  RangeNames& names() const { return names_; }

 private:
  struct Open {
    trace::OpenRange range;
    uint64_t inside = 0;  // ticks of the ranges directly inside that have ended
  };

  void resume(std::span<const trace::OpenRange> opening);
  void begin_lane(std::span<const trace::OpenRange> closing);
  void add_range(uint32_t number, uint16_t depth, uint64_t duration);
  void keep_open(std::span<const trace::OpenRange> closing);
  uint32_t child(uint32_t parent, uint32_t number);
  uint32_t node_of(size_t open_ranges);
  std::span<const uint32_t> numbers_of(const trace::Ranges& ranges);

  // The ranges from this depth on are unfinished. The innermost ends first.
  template <typename Length>
  void end_open(size_t keep, Length&& length) {
    while (open_.size() > keep) end_innermost(length(open_.back().range));
  }
  void end_innermost(uint64_t ticks);

  RangeNames& names_;
  PathBudget& budget_;
  PathTrie trie_;
  std::vector<Open> open_;  // after the last chunk, outermost first
  uint64_t last_ = 0, unfinished_ = 0;

  // Data of the current chunk.
  std::vector<uint32_t> numbers_;
  std::vector<uint32_t> around_;  // by depth: the node of the range that is open there
  size_t depth_ = 0;              // so many are open
  std::vector<uint64_t> inside_;  // by depth: ticks directly inside the ranges that stay open
  size_t untouched_ = 0;          // around_ has ranges that stay open up to this depth
};

}  // namespace kymo::views
