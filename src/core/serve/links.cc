// api/links: the arrows of what is visible, from launches to the work on devices, and flows between ranges.

#include <algorithm>
#include <chrono>
#include <map>

#include "base/json_writer.h"
#include "base/text.h"
#include "serve/api.h"
#include "trace/read_if_whole.h"

namespace kymo::serve {

namespace {

constexpr size_t kMaxLinks = 300, kMaxTracks = 1024, kMaxFlowPoints = 2'000;
constexpr auto kTimeLimit = std::chrono::milliseconds(80);

// One end of an arrow: a time in a row of a track.
struct Place {
  uint32_t track = 0;  // id
  int64_t time = 0, length = 0;
  uint16_t depth = 0, lane = 0;
};

class Links {
 public:
  Links(View& view, uint32_t file, int64_t from, int64_t to)
      : view_(view), file_(file), source_(*view.sources()[file]), from_(from), to_(to) {}

  void add_track(uint32_t position) { (source_.tracks()[position].is_queue ? queues_ : threads_).push_back(position); }
  std::string json();

 private:
  using Key = std::pair<trace::WriterId, uint64_t>;

  template <typename Visit>
  void each_chunk(const std::vector<uint32_t>& tracks, int64_t from, unsigned parts, bool with_points, Visit&& visit);
  Place place(const SourceTrack& track, uint32_t id, const trace::Ranges& ranges, size_t i) const;
  void find_work();
  void find_launches();
  void find_flows();
  void write(base::JsonWriter& json, std::string_view kind, const Place& from, const Place& to);

  View& view_;
  const uint32_t file_;
  const Source& source_;
  const int64_t from_, to_;
  const std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + kTimeLimit;
  std::vector<uint32_t> threads_, queues_;
  std::map<Key, std::vector<Place>> work_;  // by correlation
  std::vector<std::pair<Place, Place>> launches_;
  std::map<Key, std::vector<Place>> flows_;
  size_t work_count_ = 0, flow_points_ = 0;
  bool complete_ = true;
};

template <typename Visit>
void Links::each_chunk(const std::vector<uint32_t>& tracks, int64_t from, unsigned parts, bool with_points,
                       Visit&& visit) {
  trace::EventBatch batch;
  for (const uint32_t position : tracks) {
    const SourceTrack& track = source_.tracks()[position];
    for (const uint32_t chunk : track.chunks) {
      const Source::ChunkTimes& times = source_.chunks()[chunk];
      const trace::EventChunk& described = source_.reader().event_chunks()[chunk];
      if (times.first >= to_ || times.last < from) continue;
      if ((with_points ? described.point_count : described.range_count) == 0) continue;
      if (std::chrono::steady_clock::now() > deadline_) {
        complete_ = false;
        return;
      }
      if (!trace::read_if_whole(source_.reader(), described, batch, parts)) continue;  // tiles report damaged chunks
      visit(track, view_.track_id(file_, position), batch);
    }
  }
}

Place Links::place(const SourceTrack& track, uint32_t id, const trace::Ranges& ranges, size_t i) const {
  const int64_t start = track.clock.ns(ranges.end[i] - ranges.duration[i]);
  return {id, start, track.clock.ns(ranges.end[i]) - start, ranges.depth[i],
          ranges.lane.empty() ? uint16_t{0} : ranges.lane[i]};
}

// The longest work that begins in the visible part: there is room for so many arrows only.
void Links::find_work() {
  struct Found {
    Key key;
    Place place;
  };
  std::vector<Found> all;
  const auto keep_longest = [&] {
    std::nth_element(all.begin(), all.begin() + kMaxLinks, all.end(),
                     [](const Found& a, const Found& b) { return a.place.length > b.place.length; });
    all.resize(kMaxLinks);
    complete_ = false;
  };
  each_chunk(queues_, from_, trace::kRangeTimes | trace::kRangeDepths | trace::kRangeCorrelations, false,
             [&](const SourceTrack& track, uint32_t id, const trace::EventBatch& batch) {
               const trace::Ranges& ranges = batch.ranges;
               for (size_t i = 0; i < ranges.correlation.size(); ++i) {
                 if (ranges.correlation[i] == 0) continue;
                 const Place found = place(track, id, ranges, i);
                 if (found.time < from_ || found.time >= to_) continue;
                 all.push_back({{track.writer, ranges.correlation[i]}, found});
               }
               if (all.size() > 2 * kMaxLinks) keep_longest();
             });
  if (all.size() > kMaxLinks) keep_longest();
  for (const Found& one : all) work_[one.key].push_back(one.place);
}

// On any thread of these processes: the track of a launch may be outside of the screen.
void Links::find_launches() {
  if (work_.empty()) return;
  std::vector<uint32_t> threads;
  for (uint32_t i = 0; i < source_.tracks().size(); ++i)
    if (!source_.tracks()[i].is_queue) threads.push_back(i);
  each_chunk(threads, from_ - (to_ - from_), trace::kRangeTimes | trace::kRangeDepths | trace::kRangeCorrelations,
             false, [&](const SourceTrack& track, uint32_t id, const trace::EventBatch& batch) {
               const trace::Ranges& ranges = batch.ranges;
               for (size_t i = 0; i < ranges.correlation.size(); ++i) {
                 if (ranges.correlation[i] == 0) continue;
                 const auto found = work_.find({track.writer, ranges.correlation[i]});
                 if (found == work_.end()) continue;
                 for (const Place& to : found->second) launches_.emplace_back(place(track, id, ranges, i), to);
                 work_.erase(found);
               }
             });
}

void Links::find_flows() {
  std::vector<uint32_t> tracks = threads_;
  tracks.insert(tracks.end(), queues_.begin(), queues_.end());
  each_chunk(tracks, from_, trace::kPoints | trace::kRangeTimes | trace::kRangeDepths, true,
             [&](const SourceTrack& track, uint32_t id, const trace::EventBatch& batch) {
               const trace::Points& points = batch.points;
               for (size_t i = 0; i < points.size(); ++i) {
                 if (!trace::is_of_flow(points.kind[i])) continue;
                 const int64_t time = track.clock.ns(points.time[i]);
                 if (time < from_ || time >= to_) continue;
                 if (++flow_points_ > kMaxFlowPoints) {
                   complete_ = false;
                   return;
                 }
                 Place place{id, time};
                 // The row of the innermost range around it.
                 for (size_t k = 0; k < batch.ranges.size(); ++k) {
                   const uint64_t end = batch.ranges.end[k], start = end - batch.ranges.duration[k];
                   if (start > points.time[i] || end < points.time[i]) continue;
                   if (!batch.ranges.lane.empty() && batch.ranges.lane[k] != 0) continue;
                   place.depth = std::max(place.depth, batch.ranges.depth[k]);
                 }
                 flows_[{track.writer, points.id[i]}].push_back(place);
               }
             });
}

void Links::write(base::JsonWriter& json, std::string_view kind, const Place& from, const Place& to) {
  const auto write_place = [&](std::string_view member, const Place& place) {
    json.begin_object(member);
    json.field("track", place.track);
    json.field("time_ns", place.time);
    json.field("depth", place.depth);
    json.field("lane", place.lane);
    json.end_object();
  };
  json.begin_object();
  json.field("kind", kind);
  write_place("from", from);
  write_place("to", to);
  json.end_object();
}

std::string Links::json() {
  find_work();
  find_launches();
  find_flows();
  base::JsonWriter json(base::JsonWriter::Layout::OneLine);
  json.begin_object();
  json.field("file", file_);
  json.begin_array("links");
  size_t count = launches_.size();
  for (const auto& [from, to] : launches_) write(json, "launch", from, to);
  for (auto& [key, places] : flows_) {
    std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.time < b.time; });
    for (size_t i = 1; i < places.size(); ++i) {
      if (++count > kMaxLinks) {
        complete_ = false;
        break;
      }
      write(json, "flow", places[i - 1], places[i]);
    }
  }
  json.end_array();
  json.field("complete", complete_);
  json.end_object();
  return json.text();
}

}  // namespace

std::string links_json(View& view, const Query& query) {
  constexpr uint64_t kLatest = INT64_MAX / 2;
  const int64_t from = static_cast<int64_t>(query.number("from", kLatest));
  const int64_t to = static_cast<int64_t>(query.number("to", kLatest));
  if (from >= to) throw BadRequest(base::format("from: {} is not before {}", from, to));
  const std::vector<uint32_t> ids = query.numbers("tracks", UINT32_MAX, kMaxTracks);
  const View::Busy busy(view);
  const View::Lock lock = view.lock();
  std::optional<Links> links;
  uint32_t file = 0;
  for (const uint32_t id : ids) {
    const std::optional<TrackRef> ref = view.find_track(id);
    if (!ref) throw BadRequest(base::format("tracks: there is no track {}", id), 404);
    if (!links) links.emplace(view, file = ref->file, from, to);
    if (ref->file != file) throw BadRequest("tracks: all tracks must be of one file");
    if (ref->kind == TrackRef::Kind::Track) links->add_track(ref->position);
  }
  if (!links) throw BadRequest("tracks: name at least one track");
  return links->json();
}

}  // namespace kymo::serve
