// Sorts the ranges and points of a chunk in the order in which they happened.
//
// A chunk has ranges sorted by their ends, children before parents. A viewer needs the order of the program: a range
// begins, another one begins inside it, a point, the inner one ends. Times alone are not enough, because a parent and
// its child may begin on the same tick. So the order comes from the tree, which is given by the depths and the order of
// ends, and not from sorting. Takes linear time.
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
  // Begin, End: a range of the batch. From ranges.size() on: one of batch.closing, which begins here and ends later.
  // Point: a point of the batch.
  uint32_t index;
};

// True if both are the same range, by all that is known about them.
bool same_range(const trace::OpenRange& a, const trace::OpenRange& b);

class ChunkOrder {
 public:
  // Sorts lane 0 of a batch, which has the nested ranges and all points. `open` are the ranges that began before,
  // outermost first: they have no Begin here. A point exactly at the start or end of a range is inside it.
  void arrange(const trace::EventBatch& batch, std::span<const trace::OpenRange> open);

  // Sorts the ranges of another lane, given by their numbers in the last arranged batch.
  void arrange_lane(const trace::EventBatch& batch, std::span<const uint32_t> ranges_of_lane);

  const std::vector<Step>& steps() const { return steps_; }
  // True if this range of the batch began before the batch.
  bool began_before(uint32_t range) const { return began_before_[range] != 0; }
  // How many of `open`, counted from the outermost, did not end in this batch.
  size_t still_open() const { return still_open_; }
  // How many of those are also in batch.closing. If this is less than still_open(), something was lost.
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

  // Nodes are the selected ranges, sorted by their ends, then the ranges that stay open, innermost first.
  std::vector<uint32_t> selected_;     // node -> range
  std::vector<uint32_t> first_;        // node -> the first node to end inside it, or itself
  std::vector<uint32_t> inner_;        // node -> the next one inside it with the same first
  std::vector<uint32_t> outermost_;    // first -> the outermost node with it
  std::vector<uint32_t> roots_;        // nodes that are not in another node so far
  std::vector<uint8_t> began_before_;  // by range
  size_t still_open_ = 0, kept_open_ = 0;
  std::vector<Step> steps_;
};

}  // namespace kymo::convert
