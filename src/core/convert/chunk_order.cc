#include "convert/chunk_order.h"

#include <algorithm>
#include <limits>

namespace kymo::convert {

bool same_range(const trace::OpenRange& a, const trace::OpenRange& b) {
  return a.start == b.start && a.class_id == b.class_id;
}

void ChunkOrder::arrange(const trace::EventBatch& batch, std::span<const trace::OpenRange> open) {
  selected_.clear();
  for (uint32_t range = 0; range < batch.ranges.size(); ++range) {
    if (batch.ranges.lane.empty() || batch.ranges.lane[range] == 0) selected_.push_back(range);
  }
  match_open(batch, open);
  build_tree(batch.ranges);
  add_closing(batch);
  emit(batch, true);
}

void ChunkOrder::arrange_lane(const trace::EventBatch& batch, std::span<const uint32_t> ranges_of_lane) {
  selected_.assign(ranges_of_lane.begin(), ranges_of_lane.end());
  build_tree(batch.ranges);
  emit(batch, false);
}

std::map<uint16_t, std::vector<uint32_t>> ChunkOrder::lanes(const trace::Ranges& ranges) {
  std::map<uint16_t, std::vector<uint32_t>> lanes;
  for (uint32_t range = 0; range < ranges.lane.size(); ++range) {
    if (ranges.lane[range] != 0) lanes[ranges.lane[range]].push_back(range);
  }
  return lanes;
}

// Of all open ranges, the innermost must end first.
void ChunkOrder::match_open(const trace::EventBatch& batch, std::span<const trace::OpenRange> open) {
  const trace::Ranges& ranges = batch.ranges;
  began_before_.assign(ranges.size(), 0);
  still_open_ = open.size();
  for (const uint32_t range : selected_) {
    if (still_open_ == 0) break;
    const trace::OpenRange& innermost = open[still_open_ - 1];
    const bool same_start = ranges.end[range] - ranges.duration[range] == innermost.start;
    if (!same_start || ranges.class_id[range] != innermost.class_id) continue;
    began_before_[range] = 1;
    --still_open_;
  }
  kept_open_ = 0;
  while (kept_open_ < std::min(still_open_, batch.closing.size()) &&
         same_range(open[kept_open_], batch.closing[kept_open_])) {
    ++kept_open_;
  }
}

// When a range ends, the earlier roots that are deeper become its children.
void ChunkOrder::build_tree(const trace::Ranges& ranges) {
  roots_.clear();
  first_.clear();
  inner_.clear();
  outermost_.assign(selected_.size() + 1, kNone);
  for (uint32_t node = 0; node < selected_.size(); ++node) {
    const uint16_t depth = ranges.depth[selected_[node]];
    uint32_t first = node;
    while (!roots_.empty() && ranges.depth[selected_[roots_.back()]] > depth) {
      first = first_[roots_.back()];
      roots_.pop_back();
    }
    add_node(node, first);
  }
}

// A range that is open after the last event, but was not open before the first, contains every root that began after
// it.
void ChunkOrder::add_closing(const trace::EventBatch& batch) {
  const uint32_t ended = static_cast<uint32_t>(selected_.size());
  uint32_t first = ended;
  for (size_t open = batch.closing.size(); open > kept_open_; --open) {
    const uint64_t start = batch.closing[open - 1].start;
    const auto began_inside = [&](uint32_t node) {
      const uint32_t range = selected_[node];
      return !began_before(range) && batch.ranges.end[range] - batch.ranges.duration[range] >= start;
    };
    while (!roots_.empty() && began_inside(roots_.back())) {
      first = first_[roots_.back()];
      roots_.pop_back();
    }
    add_node(static_cast<uint32_t>(first_.size()), first);
    roots_.pop_back();  // the next open range contains it anyway: `first` carries over
  }
}

void ChunkOrder::add_node(uint32_t node, uint32_t first) {
  first_.push_back(first);
  inner_.push_back(outermost_[first]);
  outermost_[first] = node;
  roots_.push_back(node);
}

// Before the first node of a subtree ends, all nodes that begin with it begin, the outermost first.
void ChunkOrder::emit(const trace::EventBatch& batch, bool with_points) {
  const trace::Ranges& ranges = batch.ranges;
  const uint32_t range_count = static_cast<uint32_t>(ranges.size());
  const uint32_t ended = static_cast<uint32_t>(selected_.size());
  const size_t point_count = with_points ? batch.points.size() : 0;
  const size_t closing_count = batch.closing.size();
  steps_.clear();
  steps_.reserve(2 * size_t{ended} + closing_count + point_count);
  uint32_t point = 0;
  const auto emit_points_before = [&](uint64_t time) {
    while (point < point_count && batch.points.time[point] < time) steps_.push_back({Step::Kind::Point, point++});
  };
  for (uint32_t node = 0; node <= ended; ++node) {
    for (uint32_t inner = outermost_[node]; inner != kNone; inner = inner_[inner]) {
      // Nodes after the ended ones are open ranges. They were added from the innermost (the last of `closing`)
      // outwards.
      const uint32_t range =
          inner < ended ? selected_[inner] : range_count + static_cast<uint32_t>(closing_count - 1 - (inner - ended));
      if (inner < ended && began_before(range)) continue;
      emit_points_before(inner < ended ? ranges.end[range] - ranges.duration[range]
                                       : batch.closing[range - range_count].start);
      steps_.push_back({Step::Kind::Begin, range});
    }
    if (node == ended) break;
    const uint64_t end = ranges.end[selected_[node]];
    emit_points_before(end == std::numeric_limits<uint64_t>::max() ? end : end + 1);
    steps_.push_back({Step::Kind::End, selected_[node]});
  }
  while (point < point_count) steps_.push_back({Step::Kind::Point, point++});
}

}  // namespace kymo::convert
