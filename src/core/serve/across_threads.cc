// Ranges across threads: range_start() on one thread, range_end() on this or another one.

#include <algorithm>
#include <map>

#include "kymo/error.h"
#include "serve/derived.h"
#include "trace/async_pairs.h"

namespace kymo::serve {

namespace {

struct Begin {
  Item item;
  uint32_t track = 0, group = 0;
  std::string task;  // the name of the task that it belongs to; empty: none
};
struct End {
  int64_t ns = 0;
  uint32_t track = 0;
};

// Tasks of asyncio and their steps, as the Python package records them.
bool is_task(const std::string& category) { return category == "asyncio" || category == "asyncio step"; }

// Gives ranges, which are sorted by start, the first lane that is free.
void assign_lanes(std::vector<Item>& items) {
  std::vector<int64_t> free_at;
  for (Item& item : items) {
    size_t lane = 0;
    while (lane < free_at.size() && free_at[lane] > item.start) ++lane;
    if (lane == free_at.size() && lane < DerivedTrack::kMaxLanes) free_at.push_back(0);
    lane = std::min<size_t>(lane, DerivedTrack::kMaxLanes - 1);
    free_at[lane] = std::max(free_at[lane], item.end);
    item.lane = static_cast<uint16_t>(lane);
  }
}

class Collector {
 public:
  Collector() : pairs_([this](uint64_t, const Begin& begin, const End& end) { add(begin, end.ns, end.track); }) {}

  void begin(const trace::AsyncHandle& handle, Begin&& begin) {
    if (!pairs_.begin(handle, std::move(begin))) add(begin, begin.item.start, begin.track);
  }
  void end(const trace::AsyncHandle& handle, const End& end) { pairs_.end(handle, end); }

  std::vector<DerivedTrack> take(int64_t last_ns) {
    pairs_.finish([&](const trace::AsyncHandle&, const Begin& begin) { add(begin, last_ns, begin.track); });
    std::vector<DerivedTrack> tracks;
    for (auto& [place, found] : groups_) {
      DerivedTrack& track = tracks.emplace_back();
      track.kind = DerivedTrack::Kind::AcrossThreads;
      track.group = place.first;
      track.name = place.second.empty() ? "across threads" : "task " + place.second;
      track.left_out = found.left_out;
      std::stable_sort(found.ranges.begin(), found.ranges.end(),
                       [](const auto& a, const auto& b) { return a.first.start < b.first.start; });
      for (const auto& [item, end_track] : found.ranges) {
        track.items.push_back(item);
        track.end_tracks.push_back(end_track);
      }
      assign_lanes(track.items);
    }
    return tracks;
  }

 private:
  struct Group {
    std::vector<std::pair<Item, uint32_t>> ranges;  // with the track where it ends
    uint64_t left_out = 0;
  };

  // Each task has a track of its own, as long as there are not too many.
  Group& group_of(const Begin& begin) {
    const auto known = groups_.find({begin.group, begin.task});
    if (known != groups_.end()) return known->second;
    if (begin.task.empty() || groups_.size() >= DerivedTrack::kMaxTasks) return groups_[{begin.group, ""}];
    return groups_[{begin.group, begin.task}];
  }

  void add(const Begin& begin, int64_t end_ns, uint32_t end_track) {
    Group& group = group_of(begin);
    if (count_ >= DerivedTrack::kMaxAcross) {
      ++group.left_out;
      return;
    }
    ++count_;
    Item item = begin.item;
    item.end = std::max(item.start, end_ns);
    item.total = item.longest = item.end - item.start;
    group.ranges.emplace_back(item, end_track);
  }

  trace::AsyncPairs<Begin, End> pairs_;
  std::map<std::pair<uint32_t, std::string>, Group> groups_;  // by group and task
  size_t count_ = 0;
};

}  // namespace

std::vector<DerivedTrack> across_threads_tracks(const trace::Reader& reader, const FilePlaces& places,
                                                const std::function<bool(uint32_t chunk)>& is_wanted,
                                                const NameOf& name_of, const ShouldStop& should_stop) {
  Collector collector;
  std::map<trace::WriterId, uint32_t> writers;
  trace::EventBatch batch;
  const std::vector<trace::EventChunk>& chunks = reader.event_chunks();
  for (uint32_t chunk = 0; chunk < chunks.size(); ++chunk) {
    if (should_stop()) return {};
    if (chunks[chunk].point_count == 0 || !is_wanted(chunk)) continue;
    const auto place = places.tracks.find({chunks[chunk].writer, chunks[chunk].track});
    const auto writer = reader.writers().find(chunks[chunk].writer);
    if (place == places.tracks.end() || writer == reader.writers().end()) continue;
    try {
      reader.read(chunks[chunk], batch, trace::kPoints | trace::kPointValues);
    } catch (const Error&) {
      continue;  // tiles report it
    }
    const uint32_t number = writers.try_emplace(writer->first, static_cast<uint32_t>(writers.size())).first->second;
    const trace::Points& points = batch.points;
    trace::ValueCursor cursor(points.values);
    bool is_lost = false;  // after a class that is not known, values cannot be read
    for (uint32_t i = 0; i < points.size(); ++i) {
      const auto known = writer->second.classes.find(points.class_id[i]);
      const trace::EventClass* const event_class = known == writer->second.classes.end() ? nullptr : &known->second;
      is_lost = is_lost || (event_class == nullptr && points.class_id[i] != trace::kInlineName);
      const auto* const row = is_lost ? nullptr : &cursor.next(event_class);
      const trace::AsyncHandle handle{number, points.id[i]};
      const int64_t time = place->second.clock.ns(points.time[i]);
      if (points.kind[i] == trace::PointKind::AsyncEnd) collector.end(handle, {time, place->second.track});
      if (points.kind[i] != trace::PointKind::AsyncBegin) continue;
      const std::string name = row != nullptr ? trace::full_name(event_class, *row) : std::string();
      Begin begin;
      if (event_class != nullptr && is_task(event_class->category)) begin.task = name;
      begin.track = place->second.track;
      begin.group = place->second.group;
      begin.item.start = time;
      begin.item.name = name_of(writer->first, points.class_id[i], name);
      begin.item.chunk = chunk;
      begin.item.index = kPointIndex + i;
      collector.begin(handle, std::move(begin));
    }
  }
  return collector.take(places.duration_ns);
}

FilePlaces FilePlaces::of(const Source& source) {
  FilePlaces places;
  places.duration_ns = source.duration_ns();
  for (uint32_t i = 0; i < source.tracks().size(); ++i) {
    const SourceTrack& track = source.tracks()[i];
    const Place place{i, track.group, track.clock};
    places.tracks.emplace(std::pair(track.writer, track.track), place);
    if (!track.is_queue) places.processes.emplace(source.groups()[track.group].pid, place);
  }
  return places;
}

}  // namespace kymo::serve
