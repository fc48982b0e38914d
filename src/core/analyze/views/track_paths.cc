#include "analyze/views/track_paths.h"

#include <algorithm>

#include "convert/chunk_order.h"

namespace kymo::views {

void TrackPaths::add(const trace::EventBatch& batch, uint64_t last) {
  const trace::Ranges& ranges = batch.ranges;
  resume(batch.opening);
  begin_lane(batch.closing);
  const std::span<const uint32_t> numbers = numbers_of(ranges);
  if (ranges.lane.empty()) {
    for (size_t i = ranges.size(); i-- > 0;) add_range(numbers[i], ranges.depth[i], ranges.duration[i]);
  } else {
    for (size_t i = ranges.size(); i-- > 0;)
      if (ranges.lane[i] == 0) add_range(numbers[i], ranges.depth[i], ranges.duration[i]);
  }
  keep_open(batch.closing);
  for (const auto& [lane, indexes] : convert::ChunkOrder::lanes(ranges)) {
    begin_lane({});
    for (size_t i = indexes.size(); i-- > 0;)
      add_range(numbers[indexes[i]], ranges.depth[indexes[i]], ranges.duration[indexes[i]]);
  }
  last_ = std::max(last_, last);
}

std::span<const uint32_t> TrackPaths::numbers_of(const trace::Ranges& ranges) {
  const trace::Values& values = ranges.values;
  if (values.ints.empty() && values.doubles.empty()) return ranges.class_id;
  numbers_.clear();
  trace::ValueCursor cursor(values);
  for (const uint32_t class_id : ranges.class_id)
    numbers_.push_back(names_.number(class_id, cursor.next(&names_.event_class(class_id))));
  return numbers_;
}

// Ranges that were open after the previous chunk and are not open now ended in a part of the track that is missing.
// They lasted at least until the last event before it.
void TrackPaths::resume(std::span<const trace::OpenRange> opening) {
  size_t same = 0;
  while (same < std::min(open_.size(), opening.size()) && convert::same_range(open_[same].range, opening[same])) ++same;
  end_open(same, [this](const trace::OpenRange& range) { return last_ - std::min(last_, range.start); });
  for (; same < opening.size(); ++same) open_.push_back({opening[same], 0});
}

void TrackPaths::begin_lane(std::span<const trace::OpenRange> closing) {
  depth_ = untouched_ = std::min<size_t>(closing.size(), budget_.depth);
  inside_.assign(depth_ + 1, 0);
  uint32_t node = PathTrie::kRoot;
  for (size_t i = 0; i < depth_; ++i) around_[i] = node = child(node, names_.number(closing[i]));
}

// The hot path.
void TrackPaths::add_range(uint32_t number, uint16_t depth, uint64_t duration) {
  if (depth >= budget_.depth) [[unlikely]] {
    ++budget_.over;
    return;
  }
  if (depth > depth_) [[unlikely]] {  // parents are not in the chunk
    const uint32_t nearest = depth_ == 0 ? PathTrie::kRoot : around_[depth_ - 1];
    std::fill(around_.begin() + static_cast<ptrdiff_t>(depth_), around_.begin() + depth, nearest);
  }
  const uint32_t parent = depth == 0 ? PathTrie::kRoot : around_[depth - 1u];
  const uint32_t node = child(parent, number);
  around_[depth] = node;
  depth_ = depth + size_t{1};
  untouched_ = std::min<size_t>(untouched_, depth);
  if (untouched_ == depth) inside_[depth] += duration;
  if (node == parent) [[unlikely]] {
    ++budget_.over;
    return;
  }
  PathTrie::Node& sums = trie_[node];
  ++sums.count;
  sums.ticks += duration;
}

// Without a path left, the range around it stands for the range.
uint32_t TrackPaths::child(uint32_t parent, uint32_t number) {
  if (const uint32_t found = trie_.find(parent, number); found != PathTrie::kRoot) [[likely]]
    return found;
  if (budget_.paths == 0) return parent == PathTrie::kRoot ? trie_.child(parent, kOther) : parent;
  --budget_.paths;
  return trie_.child(parent, number);
}

// inside_[d] has the ticks of ranges at depth d, which are inside the open range at depth d - 1.
void TrackPaths::keep_open(std::span<const trace::OpenRange> closing) {
  size_t same = 0;
  while (same < std::min(open_.size(), closing.size()) && convert::same_range(open_[same].range, closing[same])) ++same;
  open_.resize(same);
  for (size_t i = same; i < closing.size(); ++i) open_.push_back({closing[i], 0});
  for (size_t i = 0; i < open_.size() && i + 1 < inside_.size(); ++i) open_[i].inside += inside_[i + 1];
}

void TrackPaths::end_innermost(uint64_t ticks) {
  const size_t depth = open_.size() - 1;
  const uint32_t parent = node_of(std::min<size_t>(depth, budget_.depth));
  const uint32_t node = depth < budget_.depth ? child(parent, names_.number(open_.back().range)) : parent;
  const uint64_t inside = open_.back().inside;
  open_.pop_back();
  ++unfinished_;
  if (!open_.empty()) open_.back().inside += ticks;
  if (node == parent) {
    ++budget_.over;
    return;
  }
  ++trie_[node].count;
  trie_[node].ticks += ticks;
  PathTrie::Node& mark = trie_[trie_.child(node, kUnfinished)];
  ++mark.count;
  mark.ticks += ticks - std::min(ticks, inside);
}

// The node of the innermost of so many open ranges.
uint32_t TrackPaths::node_of(size_t open_ranges) {
  uint32_t node = PathTrie::kRoot;
  for (size_t i = 0; i < open_ranges; ++i) node = child(node, names_.number(open_[i].range));
  return node;
}

}  // namespace kymo::views
