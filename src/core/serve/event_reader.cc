#include "serve/event_reader.h"

#include <algorithm>

#include "symbols/short_name.h"
#include "trace/read_if_whole.h"

namespace kymo::serve {

namespace {

void write_members(base::JsonWriter& json, const EventRef& event) {
  json.field("track", event.track);
  json.field("chunk", event.chunk);
  json.field("index", event.index);
  json.field("name", event.name);
  json.field("start_ns", event.start_ns);
  json.field("end_ns", event.end_ns);
  if (event.row) {
    json.field("depth", event.row->depth);
    json.field("lane", event.row->lane);
  }
  json.end_object();
}

}  // namespace

void write_event(base::JsonWriter& json, const EventRef& event, const std::optional<std::string>& category) {
  json.begin_object();
  if (category) json.field("category", *category);
  write_members(json, event);
}

void write_event(base::JsonWriter& json, std::string_view member, const EventRef& event) {
  json.begin_object(member);
  write_members(json, event);
}

void write_frames(base::JsonWriter& json, const std::vector<symbols::Frame>& frames) {
  if (frames.empty()) return;
  json.objects("stack", frames, [&](const symbols::Frame& frame) {
    json.field("function", symbols::short_name(frame.function));
    json.field("file", frame.file);
    json.field("line", frame.line);
    json.field("module", frame.module);
  });
}

std::string EventReader::class_name(const trace::WriterId& writer, uint32_t class_id) const {
  return view_.names().entry(source_.class_of(writer, class_id).name).text;
}

EventRef EventReader::range(uint32_t chunk, const trace::EventBatch& batch, size_t index) const {
  const SourceTrack& track = source_.tracks()[source_.chunks()[chunk].track];
  const uint64_t end = batch.ranges.end[index];
  EventRef event;
  event.track = view_.track_id(file_, source_.chunks()[chunk].track);
  event.chunk = chunk;
  event.index = static_cast<uint32_t>(index);
  event.name = class_name(track.writer, batch.ranges.class_id[index]);
  event.start_ns = track.clock.ns(end - batch.ranges.duration[index]);
  event.end_ns = std::max(event.start_ns, track.clock.ns(end));
  return event;
}

std::optional<size_t> EventReader::around(uint32_t chunk, const trace::EventBatch& batch, int64_t time_ns) const {
  const SourceTrack& track = source_.tracks()[source_.chunks()[chunk].track];
  std::optional<size_t> found;
  for (size_t i = 0; i < batch.ranges.size(); ++i) {
    if (!batch.ranges.lane.empty() && batch.ranges.lane[i] != 0) continue;
    const uint64_t end = batch.ranges.end[i];
    if (track.clock.ns(end) < time_ns || track.clock.ns(end - batch.ranges.duration[i]) > time_ns) continue;
    if (!found || batch.ranges.depth[i] > batch.ranges.depth[*found]) found = i;
  }
  return found;
}

std::vector<uint32_t> EventReader::nearest_chunks(const trace::WriterId& writer, std::optional<bool> on_device,
                                                  int64_t near_ns, bool with_points) const {
  std::vector<std::pair<int64_t, uint32_t>> order;
  for (uint32_t i = 0; i < source_.chunks().size(); ++i) {
    const Source::ChunkTimes& times = source_.chunks()[i];
    const trace::EventChunk& chunk = source_.reader().event_chunks()[i];
    if (times.track == Source::kNoTrack || chunk.writer != writer) continue;
    if (on_device && source_.tracks()[times.track].is_queue != *on_device) continue;
    if ((with_points ? chunk.point_count : chunk.range_count) == 0) continue;
    const int64_t distance = near_ns < times.first  ? times.first - near_ns
                             : near_ns > times.last ? near_ns - times.last
                                                    : 0;
    order.emplace_back(distance, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<uint32_t> chunks;
  for (const auto& [distance, chunk] : order) chunks.push_back(chunk);
  return chunks;
}

std::vector<EventRef> EventReader::launches(const trace::WriterId& writer, uint64_t correlation, bool on_device,
                                            int64_t near_ns) {
  std::vector<EventRef> found;
  trace::EventBatch batch;
  for (const uint32_t chunk : nearest_chunks(writer, on_device, near_ns, false)) {
    if (std::chrono::steady_clock::now() > deadline_ || found.size() >= kMaxFound) break;
    if (!on_device && !found.empty()) break;  // a launch is one range
    const trace::EventChunk& described = source_.reader().event_chunks()[chunk];
    const auto read = [&](unsigned parts) { return trace::read_if_whole(source_.reader(), described, batch, parts); };
    const std::vector<uint64_t>& all = batch.ranges.correlation;
    if (!read(trace::kRangeCorrelations) || std::ranges::find(all, correlation) == all.end() ||
        !read(trace::kRangeCorrelations | trace::kRangeTimes | trace::kRangeClasses))
      continue;  // tiles report damaged chunks
    for (size_t i = 0; i < all.size() && found.size() < kMaxFound; ++i)
      if (all[i] == correlation) found.push_back(range(chunk, batch, i));
  }
  return found;
}

std::vector<EventReader::FlowPoint> EventReader::flow(const trace::WriterId& writer, uint64_t id, int64_t near_ns) {
  std::vector<FlowPoint> found;
  trace::EventBatch batch;
  for (const uint32_t chunk : nearest_chunks(writer, {}, near_ns, true)) {
    if (std::chrono::steady_clock::now() > deadline_ || found.size() >= kMaxFound) break;
    const trace::EventChunk& described = source_.reader().event_chunks()[chunk];
    const auto read = [&](unsigned parts) { return trace::read_if_whole(source_.reader(), described, batch, parts); };
    if (!read(trace::kPoints) || std::ranges::find(batch.points.id, id) == batch.points.id.end() ||
        !read(trace::kPoints | trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths))
      continue;  // tiles report damaged chunks
    const uint32_t position = source_.chunks()[chunk].track;
    for (size_t i = 0; i < batch.points.size() && found.size() < kMaxFound; ++i) {
      if (batch.points.id[i] != id || !trace::is_of_flow(batch.points.kind[i])) continue;
      FlowPoint& point = found.emplace_back();
      point.time_ns = source_.tracks()[position].clock.ns(batch.points.time[i]);
      if (const std::optional<size_t> inside = around(chunk, batch, point.time_ns))
        point.event = range(chunk, batch, *inside);
      else
        point.event = {view_.track_id(file_, position),
                       chunk,
                       kPointIndex + static_cast<uint32_t>(i),
                       class_name(writer, batch.points.class_id[i]),
                       point.time_ns,
                       point.time_ns};
    }
  }
  return found;
}

std::optional<EventRef> EventReader::last_before(uint32_t track, int64_t time_ns) const {
  constexpr int kMaxChunks = 4;
  const SourceTrack& of = source_.tracks()[track];
  std::optional<EventRef> best;
  trace::EventBatch batch;
  int looked = 0;
  for (auto chunk = of.chunks.rbegin(); chunk != of.chunks.rend() && looked < kMaxChunks && !best; ++chunk) {
    if (source_.chunks()[*chunk].first > time_ns || source_.reader().event_chunks()[*chunk].range_count == 0) continue;
    ++looked;
    if (!trace::read_if_whole(source_.reader(), source_.reader().event_chunks()[*chunk], batch,
                              trace::kRangeTimes | trace::kRangeClasses))
      continue;  // tiles report damaged chunks
    std::optional<size_t> last;
    for (size_t i = 0; i < batch.ranges.size(); ++i)
      if (of.clock.ns(batch.ranges.end[i]) <= time_ns && (!last || batch.ranges.end[i] >= batch.ranges.end[*last]))
        last = i;
    if (last) best = range(*chunk, batch, *last);
  }
  return best;
}

std::vector<EventRef> EventReader::waited_for(const trace::WriterId& writer, bool whole_device, int64_t start,
                                              int64_t end) const {
  struct Last {
    EventRef event;
    std::string device;
  };
  std::vector<Last> all;
  // The device's clock may be wrong by this much.
  const int64_t end_with_error = end + static_cast<int64_t>(std::min<uint64_t>(source_.clock_error_ns(), 1'000'000));
  for (uint32_t i = 0; i < source_.tracks().size(); ++i) {
    const SourceTrack& track = source_.tracks()[i];
    if (!track.is_queue || track.writer != writer) continue;
    const std::optional<EventRef> last = last_before(i, end_with_error);
    if (last && last->end_ns >= start) all.push_back({*last, track.device});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Last& a, const Last& b) { return a.event.end_ns > b.event.end_ns; });
  std::vector<EventRef> events;
  for (const Last& one : all)
    if (events.empty() || (whole_device && one.device == all.front().device)) events.push_back(one.event);
  return events;
}

}  // namespace kymo::serve
