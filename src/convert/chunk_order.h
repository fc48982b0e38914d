// The ranges and points of a chunk in the order in which they happened.
//
// A chunk holds ranges by their ends, children before parents. A viewer wants what the program did: this began, that
// began inside it, a point, that ended. Times alone cannot tell (a parent and its child may begin on the same tick), so
// the order comes from the tree, which depth and the order of ends determine, and not from sorting. Linear.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "trace/model.h"

namespace kymo::convert {

struct Step {
  enum class Kind : uint8_t { Begin, End, Point };
  Kind kind;
  // Begin, End: a range of the batch, or from ranges.size() on, one of batch.closing, which begins here and ends later.
  // Point: a point of the batch.
  uint32_t index;
};

// Is this the range that was open, by all that is known of one?
bool same_range(const trace::OpenRange& a, const trace::OpenRange& b);

class ChunkOrder {
 public:
  // Lane 0 of a batch, which holds nested ranges and all points. `open` are the ranges that began before, outermost
  // first: they have no Begin here. A point at the very beginning or end of a range is inside it.
  void arrange(const trace::EventBatch& batch, std::span<const trace::OpenRange> open);

  // The ranges of another lane, by their numbers in the batch that was arranged last.
  void arrange_lane(const trace::EventBatch& batch, std::span<const uint32_t> ranges_of_lane);

  const std::vector<Step>& steps() const { return steps_; }
  // Did this range of the batch begin before it?
  bool began_before(uint32_t range) const { return began_before_[range] != 0; }
  // How many of `open`, from the outermost on, did not end in this batch.
  size_t still_open() const { return still_open_; }
  // Those of them that are also in batch.closing. Where this is less than still_open(), something was lost.
  size_t kept_open() const { return kept_open_; }

  // The ranges of each lane above 0.
  static std::map<uint16_t, std::vector<uint32_t>> lanes(const trace::Ranges& ranges);

 private:
  void match_open(const trace::EventBatch& batch, std::span<const trace::OpenRange> open);
  void build_tree(const trace::Ranges& ranges);
  void add_closing(const trace::EventBatch& batch);
  void add_node(uint32_t node, uint32_t first);
  void emit(const trace::EventBatch& batch, bool with_points);

  static constexpr uint32_t kNone = UINT32_MAX;

  // Nodes are the selected ranges in the order of their ends, then those left open, innermost first.
  std::vector<uint32_t> selected_;     // node -> range
  std::vector<uint32_t> first_;        // node -> the first node to end inside it, or itself
  std::vector<uint32_t> inner_;        // node -> the next one inside it that has the same first
  std::vector<uint32_t> outermost_;    // first -> the outermost node that has it
  std::vector<uint32_t> roots_;        // nodes that are in no other node so far
  std::vector<uint8_t> began_before_;  // by range
  size_t still_open_ = 0, kept_open_ = 0;
  std::vector<Step> steps_;
};

}  // namespace kymo::convert
