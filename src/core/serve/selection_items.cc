#include "serve/selection_items.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

namespace kymo::serve {

namespace {

// A frame of the tree of paths while it grows.
struct PathNode {
  views::FrameKind kind = views::FrameKind::All;
  uint64_t count = 0, self_ns = 0;
  std::map<std::string, PathNode> inside;

  PathNode& child(const std::string& name, views::FrameKind of_kind) {
    PathNode& node = inside[name];
    node.kind = of_kind;
    return node;
  }
};

uint64_t add_frames(const std::string& name, const PathNode& node, uint32_t depth, views::Paths& paths) {
  const size_t at = paths.frames.size();
  paths.frames.push_back({paths.names.emplace_back(name), node.kind, depth, node.count, 0, node.self_ns});
  uint64_t total = node.self_ns;
  for (const auto& [child_name, child] : node.inside) total += add_frames(child_name, child, depth + 1, paths);
  return paths.frames[at].total_ns = total;
}

struct NameRow {
  analyze::RangeRow row;
  std::vector<uint64_t> durations;
};

class ItemSums {
 public:
  ItemSums(const NameTable& names, int64_t from, int64_t to) : names_(names), from_(from), to_(to) {}

  void add(const DerivedTrack& track) {
    struct Open {
      uint16_t depth;
      int64_t end;
      PathNode* node;
      NameRow* row;
    };
    std::vector<Open> open;
    for (const Item& item : track.items) {  // by start and depth
      if (item.start >= to_ || item.end < from_ || (item.end == from_ && item.start < from_)) continue;
      const auto length = static_cast<uint64_t>(std::min(item.end, to_) - std::max(item.start, from_));
      while (!open.empty() && (open.back().depth >= item.depth || open.back().end <= item.start)) open.pop_back();
      NameRow& row = row_of(item.name);
      PathNode& parent = open.empty() ? root_.child(track.name, views::FrameKind::Track) : *open.back().node;
      PathNode& node = parent.child(row.row.name, views::FrameKind::Range);
      ++row.row.count;
      row.row.total_ns += length;
      row.row.self_ns += length;
      row.durations.push_back(length);
      ++node.count;
      node.self_ns += length;
      if (!open.empty()) {
        open.back().row->row.self_ns -= std::min(length, open.back().row->row.self_ns);
        open.back().node->self_ns -= std::min(length, open.back().node->self_ns);
      }
      open.push_back({item.depth, item.end, &node, &row});
    }
  }

  ItemTotals take() {
    ItemTotals totals;
    for (auto& entry : rows_) {
      NameRow& sum = entry.second;
      std::sort(sum.durations.begin(), sum.durations.end());
      const auto rank = [&](double share) {
        const auto position = static_cast<size_t>(std::ceil(share * static_cast<double>(sum.durations.size())));
        return sum.durations[std::max<size_t>(position, 1) - 1];
      };
      sum.row.min_ns = sum.durations.front();
      sum.row.median_ns = rank(0.5);
      sum.row.p99_ns = rank(0.99);
      sum.row.max_ns = sum.durations.back();
      totals.statistics.ranges.push_back(std::move(sum.row));
    }
    std::sort(totals.statistics.ranges.begin(), totals.statistics.ranges.end(), [](const auto& a, const auto& b) {
      return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
    });
    add_frames("all", root_, 0, totals.paths);
    return totals;
  }

 private:
  NameRow& row_of(uint32_t name) {
    const auto [known, is_new] = bases_.try_emplace(name);
    if (is_new) known->second = names_.entry(name).base;
    const auto [entry, is_new_row] = rows_.try_emplace(known->second);
    if (is_new_row) {
      const NameTable::Entry described = names_.entry(known->second);
      entry->second.row.name = described.text;
      entry->second.row.category = described.category;
      entry->second.row.across_threads = true;
    }
    return entry->second;
  }

  const NameTable& names_;
  const int64_t from_, to_;
  PathNode root_;
  std::unordered_map<uint32_t, uint32_t> bases_;  // by name
  std::unordered_map<uint32_t, NameRow> rows_;    // by base
};

}  // namespace

ItemTotals total_items(const std::vector<std::shared_ptr<const DerivedTrack>>& tracks, const NameTable& names,
                       int64_t from_ns, int64_t to_ns) {
  ItemSums sums(names, from_ns, to_ns);
  for (const auto& track : tracks) sums.add(*track);
  return sums.take();
}

}  // namespace kymo::serve
