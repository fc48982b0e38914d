// api/event: everything about one event.

#include <algorithm>
#include <set>

#include "analyze/report/host_calls.h"
#include "base/text.h"
#include "serve/api.h"
#include "serve/event_reader.h"
#include "trace/read_if_whole.h"

namespace kymo::serve {

namespace {

using Json = base::JsonWriter;
using Row = std::vector<trace::ValueCursor::Value>;

std::string_view kind_name(trace::PointKind kind) {
  if (trace::is_of_flow(kind)) return "flow";
  const bool is_async = kind == trace::PointKind::AsyncBegin || kind == trace::PointKind::AsyncEnd;
  return trace::name_of(is_async ? trace::PointKind::Instant : kind);
}

class Details {
 public:
  Details(View& view, uint32_t track_id, const TrackRef& ref, uint32_t chunk)
      : view_(view),
        track_id_(track_id),
        source_(*view.sources()[ref.file]),
        track_(source_.tracks()[ref.position]),
        chunk_(chunk),
        events_(view, ref.file),
        file_(ref.file) {}

  std::string range(uint32_t index);
  std::string open_range(uint32_t index);
  std::string point(uint32_t index);
  std::string across_threads(const Item& item, uint32_t end_track);
  std::string of_samples(const Item& item, uint32_t point, std::string_view kind);

 private:
  void begin(std::string_view kind, uint32_t class_id, const Row* known_row);
  void write_arguments(const trace::EventClass* event_class, const Row& row);
  void write_times(int64_t start, int64_t end);
  void write_states(int64_t start, int64_t end);
  // "step 7", or "step {}" if its values cannot be read.
  std::string full_name(uint32_t class_id, const Row* row) const {
    return row != nullptr && !row->empty()
               ? trace::full_name(source_.class_of(track_.writer, class_id).event_class, *row)
               : events_.class_name(track_.writer, class_id);
  }
  const Row* row_of(trace::ValueCursor& cursor, const trace::OpenRange& open) {
    const uint32_t ids[] = {open.class_id};
    return row_of(cursor, ids, 0);
  }
  // A range around another one, with its class.
  struct Parent {
    EventRef event;
    uint32_t class_id = 0;
    uint64_t start = 0;  // ticks
  };
  std::vector<Parent> parents_of(size_t index);
  void find_ends(std::vector<Parent>& parents) const;
  std::string category_of(uint32_t class_id) const {
    return view_.names().entry(source_.class_of(track_.writer, class_id).name).category;
  }
  void write_launch_stack(const EventRef& launch);
  void write_counters(int64_t start, int64_t end);
  std::optional<EventRef> write_links(uint64_t correlation, int64_t start);
  void write_flows(int64_t start, int64_t end, size_t index);
  std::vector<symbols::Frame> frames_of(uint32_t point) const;
  void write_waited_for(uint32_t class_id, int64_t start, int64_t end, const std::optional<EventRef>& launch);
  template <typename ClassIds>
  const Row* row_of(trace::ValueCursor& cursor, const ClassIds& class_ids, size_t index);
  void read(unsigned parts) { source_.reader().read(source_.reader().event_chunks()[chunk_], batch_, parts); }
  int64_t start_of(size_t i) const { return track_.clock.ns(batch_.ranges.end[i] - batch_.ranges.duration[i]); }

  View& view_;
  const uint32_t track_id_;
  const Source& source_;
  const SourceTrack& track_;
  const uint32_t chunk_;
  EventReader events_;
  const uint32_t file_;
  trace::EventBatch batch_;
  Json json_{Json::Layout::OneLine};
};

// Null if the values cannot be read, because a class before is not known.
template <typename ClassIds>
const Row* Details::row_of(trace::ValueCursor& cursor, const ClassIds& class_ids, size_t index) {
  for (size_t i = 0;; ++i) {
    const Source::ClassName& known = source_.class_of(track_.writer, class_ids[i]);
    if (known.event_class == nullptr && !known.is_inline) return nullptr;
    const Row& row = cursor.next(known.event_class);
    if (i == index) return &row;
  }
}

// `known_row` is null if the values cannot be read.
void Details::begin(std::string_view kind, uint32_t class_id, const Row* known_row) {
  json_.begin_object();
  const Source::ClassName& known = source_.class_of(track_.writer, class_id);
  const std::string name = full_name(class_id, known_row);
  json_.field("name", name);
  json_.field("base", known.is_inline ? name : view_.names().entry(known.name).text);
  json_.field("category", view_.names().entry(known.name).category);
  json_.field("kind", kind);
  json_.field("track", track_id_);
  json_.field("file", file_);
  write_arguments(known.event_class, known_row != nullptr ? *known_row : Row());
}

void Details::write_arguments(const trace::EventClass* event_class, const Row& row) {
  const size_t count = event_class != nullptr ? std::min(row.size(), event_class->fields.size()) : 0;
  json_.objects("arguments", count, [&](size_t i) {
    const std::string& name = event_class->fields[i].name;
    json_.field("name", name.empty() ? base::format("value {}", i + 1) : name);
    json_.field("value", trace::to_text(row[i]));
  });
}

void Details::write_times(int64_t start, int64_t end) {
  json_.field("start_ns", start);
  json_.field("end_ns", end);
  json_.field("duration_ns", end - start);
}

// How long the thread ran and waited meanwhile, if that is known.
void Details::write_states(int64_t start, int64_t end) {
  if (track_.is_queue) return;
  const uint32_t position = source_.chunks()[chunk_].track;
  for (const auto& derived : view_.derived()) {
    if (derived->file != file_ || derived->kind != DerivedTrack::Kind::States) continue;
    const std::vector<size_t>& same = source_.same_thread(derived->of_track);
    if (std::ranges::find(same, position) == same.end()) continue;
    const auto times = derived->times_between(start, end);
    if (!times) return;
    constexpr const char* kMembers[kActivities] = {"running_ns", "waiting_ns", "ready_ns", "held_up_ns"};
    for (size_t i = 0; i < kActivities; ++i) json_.field(kMembers[i], (*times)[i]);
    return;
  }
}

// The next range of each lower depth in the order of ends is around it. The outermost is the first of the result.
std::vector<Details::Parent> Details::parents_of(size_t index) {
  std::vector<Parent> parents;
  const trace::Ranges& ranges = batch_.ranges;
  const auto lane = [&](size_t i) { return ranges.lane.empty() ? 0 : ranges.lane[i]; };
  size_t depth = ranges.depth[index];
  for (size_t i = index + 1; i < ranges.size() && depth > 0; ++i) {
    if (lane(i) != lane(index) || ranges.depth[i] >= depth) continue;
    depth = ranges.depth[i];
    parents.push_back({events_.range(chunk_, batch_, i), ranges.class_id[i], ranges.end[i] - ranges.duration[i]});
    trace::ValueCursor cursor(ranges.values);
    parents.back().event.name = full_name(ranges.class_id[i], row_of(cursor, ranges.class_id, i));
  }
  if (lane(index) == 0) {
    for (size_t i = std::min(depth, batch_.closing.size()); i-- > 0;) {
      const trace::OpenRange& open = batch_.closing[i];
      Parent& parent = parents.emplace_back();
      parent.class_id = open.class_id;
      parent.start = open.start;
      parent.event.track = track_id_;
      const trace::Values values{open.ints, open.doubles, open.text};
      trace::ValueCursor cursor(values);
      parent.event.name = full_name(open.class_id, row_of(cursor, open));
      parent.event.start_ns = track_.clock.ns(open.start);
      parent.event.end_ns = std::max(parent.event.start_ns, source_.chunks()[chunk_].last);
    }
  }
  std::ranges::reverse(parents);
  find_ends(parents);
  return parents;
}

// Those that end in later chunks: so many are read.
void Details::find_ends(std::vector<Parent>& parents) const {
  constexpr int kMaxChunks = 32;
  int left = kMaxChunks;
  const auto is_open = [](const Parent& parent) { return parent.event.chunk == kNoChunk; };
  trace::EventBatch batch;
  for (const uint32_t chunk : track_.chunks) {
    if (chunk <= chunk_ || source_.reader().event_chunks()[chunk].range_count == 0) continue;
    if (std::ranges::none_of(parents, is_open) || left-- == 0) return;
    if (!trace::read_if_whole(source_.reader(), source_.reader().event_chunks()[chunk], batch,
                              trace::kRangeTimes | trace::kRangeClasses))
      continue;  // tiles report damaged chunks
    for (Parent& parent : parents) {
      if (!is_open(parent)) continue;
      for (size_t i = 0; i < batch.ranges.size(); ++i) {
        if (batch.ranges.class_id[i] != parent.class_id ||
            batch.ranges.end[i] - batch.ranges.duration[i] != parent.start)
          continue;
        const std::string name = std::move(parent.event.name);
        parent.event = events_.range(chunk, batch, i);
        parent.event.name = name;
        break;
      }
    }
  }
}

// The ranges around the launch of work on a device: operators, functions of Python, any other.
void Details::write_launch_stack(const EventRef& launch) {
  const std::optional<TrackRef> ref = view_.find_track(launch.track);
  if (!ref || ref->kind != TrackRef::Kind::Track) return;
  Details of(view_, launch.track, *ref, launch.chunk);
  if (!trace::read_if_whole(source_.reader(), source_.reader().event_chunks()[launch.chunk], of.batch_,
                            trace::kEverything))
    return;  // tiles report damaged chunks
  const std::vector<Parent> around = of.parents_of(launch.index);
  json_.array("launch_stack", around,
              [&](const Parent& parent) { write_event(json_, parent.event, of.category_of(parent.class_id)); });
}

// The values of counters while work was on a device: those of this device and of the program. A value holds until the
// next one.
void Details::write_counters(int64_t start, int64_t end) {
  constexpr size_t kMaxCounters = 64;
  const auto uuid_of = [&](const SourceTrack& track) {
    return source_.reader().writers().at(track.writer).tracks.at(track.track).device_uuid;
  };
  const std::string uuid = uuid_of(track_);
  struct Value {
    std::string name;
    double mean = 0, last = 0;
    uint64_t count = 0;
  };
  std::vector<Value> values;
  for (const Counter& counter : view_.counters()) {
    if (counter.file != file_ || counter.chunks.empty() || values.size() >= kMaxCounters) continue;
    const SourceTrack& on = source_.tracks()[source_.chunks()[counter.chunks.front()].track];
    if (counter.writer != track_.writer && (uuid.empty() || uuid_of(on) != uuid)) continue;
    Value value{counter.name};
    int64_t from = start, since = start;  // from when a value is known; the last one holds since
    bool is_known = false;
    double sum = 0;
    const auto after = std::ranges::partition_point(
        counter.chunks, [&](uint32_t chunk) { return source_.chunks()[chunk].first <= start; });
    // A chunk may begin before another one ends, if several threads count.
    for (auto chunk = after - std::min<ptrdiff_t>(after - counter.chunks.begin(), 2);
         chunk != counter.chunks.end() && source_.chunks()[*chunk].first <= end; ++chunk) {
      for (const CounterBin& one : view_.decoded(file_, *chunk)->counters) {
        if (!counter.has(one) || one.time > end) continue;
        if (one.time > start) {
          if (is_known) sum += value.last * static_cast<double>(one.time - since);
          if (!is_known) from = one.time;
          since = one.time;
          ++value.count;
        }
        value.last = one.last;
        is_known = true;
      }
    }
    if (!is_known) continue;
    sum += value.last * static_cast<double>(end - since);
    value.mean = end > from ? sum / static_cast<double>(end - from) : value.last;
    values.push_back(std::move(value));
  }
  json_.objects("counters", values, [&](const Value& value) {
    json_.field("name", value.name);
    json_.field("mean", value.mean);
    json_.field("values", value.count);
  });
}

// Returns the launch, if there is one.
std::optional<EventRef> Details::write_links(uint64_t correlation, int64_t start) {
  if (correlation == 0) return {};
  json_.field("correlation", correlation);
  if (track_.is_queue) {
    const std::vector<EventRef> launch = events_.launches(track_.writer, correlation, false, start);
    if (launch.empty()) return {};
    write_event(json_, "launched_by", launch.front());
    return launch.front();
  }
  json_.array("launched", events_.launches(track_.writer, correlation, true, start),
              [&](const EventRef& event) { write_event(json_, event); });
  return {};
}

// Of a call that waits for a device: the work that it waited for. Of work on a device: the work before it on its queue,
// if that still ran when this one was launched.
void Details::write_waited_for(uint32_t class_id, int64_t start, int64_t end, const std::optional<EventRef>& launch) {
  std::vector<EventRef> events;
  const NameTable::Entry name = view_.names().entry(source_.class_of(track_.writer, class_id).name);
  if (track_.is_queue) {
    const std::optional<EventRef> before = events_.last_before(source_.chunks()[chunk_].track, start);
    if (before && launch && before->end_ns > launch->start_ns) events.push_back(*before);
  } else if (analyze::is_device_wait(name.category, name.text)) {
    events = events_.waited_for(track_.writer, analyze::waits_for_whole_device(name.text), start, end);
  }
  json_.array("waited_for", events, [&](const EventRef& event) { write_event(json_, event); });
}

// The flows whose points are in this range and in no range inside of it.
void Details::write_flows(int64_t start, int64_t end, size_t index) {
  json_.begin_array("flows");
  std::set<uint64_t> seen;
  constexpr size_t kMaxFlows = 8;
  for (size_t i = 0; i < batch_.points.size() && seen.size() < kMaxFlows; ++i) {
    const trace::PointKind kind = batch_.points.kind[i];
    if (!trace::is_of_flow(kind)) continue;
    const int64_t time = track_.clock.ns(batch_.points.time[i]);
    if (time < start || time > end || events_.around(chunk_, batch_, time) != index) continue;
    if (!seen.insert(batch_.points.id[i]).second) continue;
    for (const EventReader::FlowPoint& other : events_.flow(track_.writer, batch_.points.id[i], time)) {
      if (other.event.chunk == chunk_ && other.event.index == index) continue;
      json_.begin_object();
      json_.field("direction", other.time_ns < time ? "from" : "to");
      json_.field("time_ns", other.time_ns);
      write_event(json_, "event", other.event);
      json_.end_object();
    }
  }
  json_.end_array();
}

// The stack of a sample: stored in the trace, or found by its addresses.
std::vector<symbols::Frame> Details::frames_of(uint32_t point) const {
  const uint64_t stack = point < batch_.points.size() ? batch_.points.id[point] : 0;
  if (stack == 0) return sample_frames(source_.reader(), chunk_, kPointIndex + point);
  std::vector<symbols::Frame> frames;
  const auto writer = source_.reader().writers().find(track_.writer);
  if (writer == source_.reader().writers().end() || stack > UINT32_MAX) return frames;
  const auto found = writer->second.stacks.find(static_cast<uint32_t>(stack));
  if (found == writer->second.stacks.end()) return frames;
  for (const uint32_t id : found->second.frames) {
    const auto frame = writer->second.frames.find(id);
    if (frame == writer->second.frames.end()) continue;
    const auto module = writer->second.modules.find(frame->second.module);
    frames.push_back({frame->second.function, frame->second.file, frame->second.line,
                      module == writer->second.modules.end() ? std::string() : module->second.path});
  }
  return frames;
}

std::string Details::range(uint32_t index) {
  read(trace::kEverything);
  if (index >= batch_.ranges.size())
    throw BadRequest(
        base::format("index: chunk {} has {} ranges, so there is no range {}", chunk_, batch_.ranges.size(), index),
        404);
  trace::ValueCursor cursor(batch_.ranges.values);
  const uint32_t class_id = batch_.ranges.class_id[index];
  begin("range", class_id, row_of(cursor, batch_.ranges.class_id, index));
  const trace::EventClass* const event_class = source_.class_of(track_.writer, class_id).event_class;
  if (event_class != nullptr && memory::SampleStacks::is_recorded_wait(*event_class))
    write_frames(json_, sample_frames(source_.reader(), chunk_, index));
  const int64_t start = start_of(index), end = std::max(start, track_.clock.ns(batch_.ranges.end[index]));
  write_times(start, end);
  json_.field("depth", batch_.ranges.depth[index]);
  json_.field("lane", batch_.ranges.lane.empty() ? uint16_t{0} : batch_.ranges.lane[index]);
  json_.field("unfinished", false);
  write_states(start, end);
  json_.array("parents", parents_of(index), [&](const Parent& parent) { write_event(json_, parent.event); });
  const uint64_t correlation = batch_.ranges.correlation.empty() ? 0 : batch_.ranges.correlation[index];
  const std::optional<EventRef> launch = write_links(correlation, start);
  write_waited_for(class_id, start, end, launch);
  if (launch) write_launch_stack(*launch);
  if (track_.is_queue) write_counters(start, end);
  write_flows(start, end, index);
  json_.end_object();
  return json_.text();
}

std::string Details::open_range(uint32_t index) {
  const std::vector<trace::OpenRange> open = source_.open_ranges(chunk_);
  if (index >= open.size())
    throw BadRequest(
        base::format("index: chunk {} has {} open ranges, so there is no range {}", chunk_, open.size(), index), 404);
  const trace::OpenRange& range = open[index];
  const trace::Values values{range.ints, range.doubles, range.text};
  trace::ValueCursor cursor(values);
  begin("range", range.class_id, row_of(cursor, range));
  const int64_t start = track_.clock.ns(range.start), end = std::max(start, source_.chunks()[chunk_].last);
  write_times(start, end);
  write_states(start, end);
  json_.field("depth", index);
  json_.field("lane", 0);
  json_.field("unfinished", true);
  write_links(range.correlation, start);
  json_.end_object();
  return json_.text();
}

std::string Details::point(uint32_t index) {
  read(trace::kPoints | trace::kPointValues);
  if (index >= batch_.points.size())
    throw BadRequest(
        base::format("index: chunk {} has {} points, so there is no point {}", chunk_, batch_.points.size(), index),
        404);
  trace::ValueCursor cursor(batch_.points.values);
  begin(kind_name(batch_.points.kind[index]), batch_.points.class_id[index],
        row_of(cursor, batch_.points.class_id, index));
  const int64_t time = track_.clock.ns(batch_.points.time[index]);
  write_times(time, time);
  if (batch_.points.kind[index] == trace::PointKind::Sample) write_frames(json_, frames_of(index));
  json_.end_object();
  return json_.text();
}

// A range of samples, with the stack of the first one, or a state of a thread, with that of its record if it has one.
std::string Details::of_samples(const Item& item, uint32_t point, std::string_view kind) {
  json_.begin_object();
  const NameTable::Entry name = view_.names().entry(item.name);
  json_.field("name", name.text);
  json_.field("base", view_.names().entry(name.base).text);
  json_.field("category", kind);
  json_.field("kind", kind);
  json_.field("track", track_id_);
  json_.field("file", file_);
  write_times(item.start, item.end);
  json_.field("depth", item.depth);
  if (point != kNoIndex) {
    read(trace::kPoints | trace::kPointValues);
    write_frames(json_, frames_of(point));
  }
  json_.end_object();
  return json_.text();
}

// From the point where it begins.
std::string Details::across_threads(const Item& item, uint32_t end_track) {
  read(trace::kPoints | trace::kPointValues);
  const uint32_t index = item.index - kPointIndex;
  if (index >= batch_.points.size()) throw BadRequest(base::format("index: there is no range {}", item.index), 404);
  trace::ValueCursor cursor(batch_.points.values);
  begin("range across threads", batch_.points.class_id[index], row_of(cursor, batch_.points.class_id, index));
  write_times(item.start, item.end);
  json_.field("lane", item.lane);
  json_.field("begins_on", track_.name);
  json_.field("ends_on", source_.tracks()[end_track].name);
  json_.end_object();
  return json_.text();
}

}  // namespace

std::string event_json(View& view, const Query& query) {
  const uint32_t track = static_cast<uint32_t>(query.number("track", UINT32_MAX));
  const uint64_t chunk = query.number("chunk", UINT32_MAX);
  const uint32_t index = static_cast<uint32_t>(query.number("index", UINT32_MAX));
  const View::Busy busy(view);
  const View::Lock lock = view.lock();
  const std::optional<TrackRef> ref = view.find_track(track);
  if (!ref || ref->kind == TrackRef::Kind::Counter)
    throw BadRequest(base::format("track: there is no thread or queue {}", track), 404);
  const Source& source = *view.sources()[ref->file];
  if (ref->kind == TrackRef::Kind::Derived) {
    const auto derived = view.derived(ref->position);
    const auto item = std::find_if(derived->items.begin(), derived->items.end(),
                                   [&](const Item& one) { return one.chunk == chunk && one.index == index; });
    if (item == derived->items.end() || chunk >= source.chunks().size() ||
        source.chunks()[chunk].track == Source::kNoTrack)
      throw BadRequest(base::format("chunk: track {} has no range {} of chunk {}", track, index, chunk), 404);
    const TrackRef begin{ref->file, TrackRef::Kind::Track, source.chunks()[chunk].track};
    Details details(view, track, begin, static_cast<uint32_t>(chunk));
    if (derived->kind != DerivedTrack::Kind::AcrossThreads)
      return details.of_samples(*item, derived->points[item->index],
                                derived->kind == DerivedTrack::Kind::Functions ? "function"
                                : derived->kind == DerivedTrack::Kind::Rank    ? "rank"
                                                                               : "thread state");
    return details.across_threads(*item, derived->end_tracks[static_cast<size_t>(item - derived->items.begin())]);
  }
  if (chunk >= source.chunks().size() || source.chunks()[chunk].track != ref->position)
    throw BadRequest(base::format("chunk: track {} has no chunk {}", track, chunk), 404);
  Details details(view, track, *ref, static_cast<uint32_t>(chunk));
  if (index >= kOpenIndex) return details.open_range(index - kOpenIndex);
  if (index >= kPointIndex) return details.point(index - kPointIndex);
  return details.range(index);
}

}  // namespace kymo::serve
