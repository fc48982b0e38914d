// The launches and flows of a saved page.

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "kymo/error.h"
#include "serve/saved_content.h"

namespace kymo::serve {

namespace {

using Key = std::tuple<uint32_t, trace::WriterId, uint64_t>;  // file, writer, correlation or flow

// The same number for the same key.
class Numbers {
 public:
  uint32_t of(const Key& key) { return known_.try_emplace(key, static_cast<uint32_t>(known_.size())).first->second; }

 private:
  std::map<Key, uint32_t> known_;
};

struct Linked {
  uint32_t number = 0;
  bool on_device = false;
  uint32_t track = 0, item = 0;
};
struct FlowPoint {
  uint32_t number = 0, track = 0;
  int64_t time = 0;
};

class LinkCollector {
 public:
  explicit LinkCollector(View& view) : view_(view) {}

  void add(const Tile& tile);
  void save(SavedColumns& columns);

 private:
  void save_launches(SavedColumns& columns);

  View& view_;
  Numbers correlations_, flow_ids_;
  std::vector<Linked> linked_;
  std::vector<FlowPoint> flows_;
};

void LinkCollector::add(const Tile& tile) {
  const TrackRef ref = *view_.find_track(tile.track);
  if (ref.kind != TrackRef::Kind::Track) return;
  const Source& source = *view_.sources()[ref.file];
  const SourceTrack& track = source.tracks()[ref.position];
  std::unordered_map<uint64_t, uint32_t> positions;  // by chunk and index
  const auto key = [](uint32_t chunk, size_t index) { return uint64_t{chunk} << 32 | index; };
  for (uint32_t i = 0; i < tile.items.size(); ++i) positions.emplace(key(tile.items[i].chunk, tile.items[i].index), i);
  trace::EventBatch batch;
  for (const uint32_t chunk : track.chunks) {
    try {
      source.reader().read(source.reader().event_chunks()[chunk], batch,
                           trace::kPoints | trace::kRangeTimes | trace::kRangeCorrelations);
    } catch (const Error&) {
      continue;  // the tile says that it is damaged
    }
    for (size_t i = 0; i < batch.ranges.correlation.size(); ++i) {
      if (batch.ranges.correlation[i] == 0) continue;
      const auto found = positions.find(key(chunk, i));
      if (found == positions.end()) continue;
      linked_.push_back({correlations_.of({ref.file, track.writer, batch.ranges.correlation[i]}), track.is_queue,
                         tile.track, found->second});
    }
    const trace::Points& points = batch.points;
    for (size_t i = 0; i < points.size(); ++i) {
      if (points.kind[i] < trace::PointKind::FlowBegin || points.kind[i] > trace::PointKind::FlowEnd) continue;
      flows_.push_back(
          {flow_ids_.of({ref.file, track.writer, points.id[i]}), tile.track, track.clock.ns(points.time[i])});
    }
  }
}

void LinkCollector::save_launches(SavedColumns& columns) {
  std::stable_sort(linked_.begin(), linked_.end(), [](const Linked& a, const Linked& b) {
    return std::tie(a.number, a.on_device) < std::tie(b.number, b.on_device);
  });
  std::vector<uint32_t> numbers, tracks, items;
  for (size_t begin = 0; begin < linked_.size();) {
    size_t end = begin;
    while (end < linked_.size() && linked_[end].number == linked_[begin].number) ++end;
    // Without a launch, or without work, there is no arrow.
    const bool is_link = !linked_[begin].on_device && linked_[end - 1].on_device;
    for (; begin < end; ++begin) {
      if (!is_link) continue;
      numbers.push_back(linked_[begin].number);
      tracks.push_back(linked_[begin].track);
      items.push_back(linked_[begin].item);
    }
  }
  columns.add("launch.number", numbers);
  columns.add("launch.track", tracks);
  columns.add("launch.item", items);
}

void LinkCollector::save(SavedColumns& columns) {
  save_launches(columns);
  std::stable_sort(flows_.begin(), flows_.end(), [](const FlowPoint& a, const FlowPoint& b) {
    return std::tie(a.number, a.time) < std::tie(b.number, b.time);
  });
  std::vector<uint32_t> numbers, tracks;
  std::vector<double> times;
  for (const FlowPoint& point : flows_) {
    numbers.push_back(point.number);
    tracks.push_back(point.track);
    times.push_back(static_cast<double>(point.time));
  }
  columns.add("flow.number", numbers);
  columns.add("flow.track", tracks);
  columns.add("flow.time", times);
}

}  // namespace

void save_links(View& view, const std::vector<Tile>& tiles, SavedColumns& columns) {
  LinkCollector collector(view);
  for (const Tile& tile : tiles) collector.add(tile);
  collector.save(columns);
}

}  // namespace kymo::serve
