#include "convert/events.h"

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "base/name_places.h"
#include "base/text.h"
#include "convert/chunk_order.h"
#include "kymo/error.h"
#include "trace/clock.h"
#include "trace/model.h"

namespace kymo::convert {

namespace {

// Of an allocation. It means something only together with definitions that are not shown.
bool is_stack_number(const trace::EventClass& event_class, const trace::Field& field) {
  return event_class.category == "memory" && field.name == "node";
}

void describe_fields(ClassInfo& info) {
  const std::vector<trace::Field>& fields = info.event_class.fields;
  if (fields.empty()) return;
  std::vector<bool> is_shown(fields.size());  // in the name
  base::NamePieces pieces(info.event_class.name);
  base::NamePiece piece;
  size_t next = 0, text = 0;
  while (pieces.next(piece)) {
    const auto name_of = [&](size_t i) { return std::string_view(fields[i].name); };
    const size_t argument = base::argument_of(piece, fields.size(), name_of, next);
    if (argument != base::kNoArgument) is_shown[argument] = info.has_places = true;
    text += piece.text.size();
  }
  if (text != info.event_class.name.size()) info.has_places = true;  // "{{"
  size_t unnamed = 0;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (is_stack_number(info.event_class, fields[i])) {
      info.keys.emplace_back();
      continue;
    }
    if (!fields[i].name.empty()) {
      info.keys.push_back(fields[i].name);
      continue;
    }
    ++unnamed;
    info.keys.push_back(is_shown[i] ? std::string() : base::format("value {}", unnamed));
  }
}

}  // namespace

const ClassInfo& Classes::make(uint32_t class_id) {
  if (const auto found = sparse_.find(class_id); found != sparse_.end()) return *found->second;
  const auto known = writer_.classes.find(class_id);
  const bool is_inline = class_id == trace::kInlineName;
  const bool is_known = is_inline || known != writer_.classes.end();
  if (!is_known && unknown_ != nullptr) return *unknown_;

  ClassInfo& info = infos_.emplace_back();
  info.index = next_index_++;
  info.is_known = is_known;
  if (is_inline) {
    info.event_class = {.id = 0, .name = "{}", .category = {}, .colour = 0, .fields = {{"", trace::FieldType::String}}};
  } else if (is_known) {
    info.event_class = known->second;
  } else {
    info.event_class.name = "(unknown class)";
    unknown_ = &info;
    return info;
  }
  describe_fields(info);
  if (class_id < writer_.class_table_size()) {
    if (class_id >= dense_.size()) dense_.resize(class_id + size_t{1});
    dense_[class_id] = &info;
  } else {
    sparse_[class_id] = &info;
  }
  return info;
}

void ValueRows::load(const trace::Values& values, std::span<const uint32_t> class_ids, Classes& classes) {
  trace::ValueCursor cursor(values);
  bool lost = false;
  values_.clear();
  begin_.clear();
  begin_.reserve(class_ids.size() + 1);
  for (const uint32_t class_id : class_ids) {
    begin_.push_back(static_cast<uint32_t>(values_.size()));
    const ClassInfo& info = classes.find(class_id);
    lost |= !info.is_known;
    if (lost || info.keys.empty()) continue;
    const auto& row = cursor.next(&info.event_class);
    lost = cursor.is_short();  // otherwise a few bytes could stand for any number of values
    if (lost) continue;
    values_.insert(values_.end(), row.begin(), row.end());
  }
  begin_.push_back(static_cast<uint32_t>(values_.size()));
}

namespace {

constexpr uint32_t kHostClock = 1;  // of every writer: docs/format.md
constexpr int64_t kNotYet = std::numeric_limits<int64_t>::max();

struct Process {
  Process(uint32_t number_, const trace::WriterInfo& writer, uint32_t& next_class)
      : number(number_), classes(writer, next_class) {}
  uint32_t number;
  Classes classes;
  int64_t end_ns = std::numeric_limits<int64_t>::min();  // the latest time of anything it recorded
};

// The state of a track between two of its chunks.
struct Track {
  const Place* place = nullptr;
  Process* process = nullptr;
  const trace::ClockMap* clock = nullptr;
  std::vector<trace::OpenRange> open;  // not ended yet, outermost first
  uint64_t last = 0;                   // ticks of the last event so far
};

class Walk {
 public:
  Walk(const trace::Reader& reader, const Places& places, TimeBase time_base, EventVisitor& visitor)
      : reader_(reader),
        places_(places),
        time_base_(time_base),
        visitor_(visitor),
        moments_(visitor.wants_moments()),
        async_(visitor) {}

  WalkReport run();

 private:
  Track* find_track(const trace::EventChunk& chunk);
  int64_t to_ns(const Track& track, uint64_t ticks) const {
    return time_base_ == TimeBase::Realtime ? track.clock->to_realtime_ns(ticks) : track.clock->to_monotonic_ns(ticks);
  }

  void visit(Track& track, trace::EventBatch& batch);
  void resume(Track& track, const std::vector<trace::OpenRange>& opening);
  void drop_open(Track& track, size_t keep);
  void visit_steps(Track& track, const trace::EventBatch& batch);
  void begin_range(const Track& track, const trace::EventBatch& batch, uint32_t index);
  void end_range(const Track& track, const trace::EventBatch& batch, uint32_t index);
  void visit_point(const Track& track, const trace::Points& points, uint32_t index);
  void finish();

  Range ended_range(const Track& track, const trace::Ranges& ranges, uint32_t index);
  // Its values are valid until the next call.
  Range open_range(const Track& track, const trace::OpenRange& open, size_t depth);
  void name(Event& event);

  const trace::Reader& reader_;
  const Places& places_;
  const TimeBase time_base_;
  EventVisitor& visitor_;
  const bool moments_;
  AsyncRanges async_;
  WalkReport report_;

  uint32_t next_class_ = 0;
  std::map<trace::WriterId, std::unique_ptr<Process>> processes_;
  std::map<std::pair<trace::WriterId, uint32_t>, std::unique_ptr<trace::ClockMap>> clocks_;
  std::map<std::pair<trace::WriterId, uint32_t>, Track> tracks_;

  // Data of the current chunk, reused for the next one.
  uint64_t first_range_ = 1, first_point_ = 1;  // Event::number of its first ones
  ChunkOrder order_;
  ValueRows range_rows_, point_rows_, open_row_;
  trace::Values open_values_;
  std::vector<Value> row_;
  std::string name_;
  struct Interval {
    int64_t start_ns, end_ns;
  };
  std::vector<Interval> enclosing_;  // the ranges around the step, kept only if there are points
};

WalkReport Walk::run() {
  report_.problems = reader_.problems();
  // The chunk headers say how long each process recorded. The trace may also say when the process was last seen
  // alive. Ranges that the process left open last until then.
  for (const trace::EventChunk& chunk : reader_.event_chunks()) {
    if (Track* const track = find_track(chunk)) {
      track->process->end_ns = std::max(track->process->end_ns, to_ns(*track, chunk.last));
      const trace::WriterInfo& writer = *track->place->writer;
      if (!writer.ending && reader_.is_being_written()) {
        const uint64_t now = time_base_ == TimeBase::Realtime ? base::realtime_ns() : base::monotonic_ns();
        track->process->end_ns = std::max(track->process->end_ns, static_cast<int64_t>(now));
      }
      if (writer.ending && track->place->track->clock == kHostClock)
        track->process->end_ns = std::max(track->process->end_ns, to_ns(*track, writer.ending->alive_until));
    }
  }
  trace::EventBatch batch;
  uint64_t ranges_before = 0, points_before = 0;
  for (const trace::EventChunk& chunk : reader_.event_chunks()) {
    first_range_ = std::exchange(ranges_before, ranges_before + chunk.range_count) + 1;
    first_point_ = std::exchange(points_before, points_before + chunk.point_count) + 1;
    Track* const track = find_track(chunk);
    if (track == nullptr) continue;  // the reader has reported it
    try {
      reader_.read(chunk, batch);
    } catch (const Error& error) {
      report_.problems.push_back({chunk.offset, chunk.length, error.what()});
      continue;
    }
    visit(*track, batch);
    track->last = std::max(track->last, chunk.last);
  }
  finish();
  return std::move(report_);
}

Track* Walk::find_track(const trace::EventChunk& chunk) {
  const auto [entry, is_new] = tracks_.try_emplace({chunk.writer, chunk.track});
  Track& track = entry->second;
  if (!is_new) return track.clock == nullptr ? nullptr : &track;

  track.place = places_.find(chunk.writer, chunk.track);
  if (track.place == nullptr) return nullptr;
  const trace::WriterInfo& writer = *track.place->writer;
  const auto domain = writer.clocks.find(track.place->track->clock);
  if (domain == writer.clocks.end()) return nullptr;
  std::unique_ptr<trace::ClockMap>& clock = clocks_[{chunk.writer, domain->first}];
  if (clock == nullptr) clock = std::make_unique<trace::ClockMap>(trace::clock_map(domain->second));
  if (!clock->usable() && !(clock->has_rate() && visitor_.wants_untimed())) return nullptr;
  track.clock = clock.get();

  std::unique_ptr<Process>& process = processes_[chunk.writer];
  if (process == nullptr) {
    const auto number = static_cast<uint32_t>(processes_.size() - 1);
    process = std::make_unique<Process>(number, writer, next_class_);
  }
  track.process = process.get();
  return &track;
}

void Walk::visit(Track& track, trace::EventBatch& batch) {
  resume(track, batch.opening);
  range_rows_.load(batch.ranges.values, batch.ranges.class_id, track.process->classes);
  point_rows_.load(batch.points.values, batch.points.class_id, track.process->classes);

  order_.arrange(batch, track.open);
  if (order_.kept_open() < order_.still_open()) {
    // The chunk contradicts itself: a range is open before the chunk, does not end in it and is not open after it.
    drop_open(track, order_.kept_open());
    order_.arrange(batch, track.open);
  }
  visit_steps(track, batch);
  for (const auto& [lane, ranges] : ChunkOrder::lanes(batch.ranges)) {
    order_.arrange_lane(batch, ranges);
    visit_steps(track, batch);
  }
  track.open = std::move(batch.closing);
}

// Makes the open ranges equal to those that the chunk states. They differ if a chunk in between is missing: some ranges
// ended in the gap, others began in it.
void Walk::resume(Track& track, const std::vector<trace::OpenRange>& opening) {
  size_t same = 0;
  while (same < std::min(track.open.size(), opening.size()) && same_range(track.open[same], opening[same])) ++same;
  drop_open(track, same);
  for (; same < opening.size(); ++same) {
    if (moments_) visitor_.range_begin(open_range(track, opening[same], same));
    track.open.push_back(opening[same]);
  }
}

// Stops waiting for the ends of the inner ranges. They were open at least until the previous event.
void Walk::drop_open(Track& track, size_t keep) {
  while (track.open.size() > keep) {
    Range range = open_range(track, track.open.back(), track.open.size() - 1);
    range.finished = false;
    range.end_ns = std::max(range.start_ns, to_ns(track, track.last));
    range.duration_ns = elapsed_ns(range.start_ns, range.end_ns);
    visitor_.range(range);
    if (moments_) visitor_.range_end(*track.place, 0, range.end_ns);
    track.open.pop_back();
  }
}

void Walk::visit_steps(Track& track, const trace::EventBatch& batch) {
  enclosing_.clear();
  if (batch.points.size() != 0)
    for (const trace::OpenRange& open : track.open) enclosing_.push_back({to_ns(track, open.start), kNotYet});
  for (const Step& step : order_.steps()) {
    switch (step.kind) {
      case Step::Kind::Begin:
        begin_range(track, batch, step.index);
        break;
      case Step::Kind::End:
        end_range(track, batch, step.index);
        break;
      case Step::Kind::Point:
        visit_point(track, batch.points, step.index);
        break;
    }
  }
}

void Walk::begin_range(const Track& track, const trace::EventBatch& batch, uint32_t index) {
  if (index < batch.ranges.size()) {
    const Range range = ended_range(track, batch.ranges, index);
    enclosing_.push_back({range.start_ns, range.end_ns});
    visitor_.range(range);
    if (moments_) visitor_.range_begin(range);
  } else {
    const size_t depth = index - batch.ranges.size();
    const Range range = open_range(track, batch.closing[depth], depth);
    enclosing_.push_back({range.start_ns, kNotYet});
    if (moments_) visitor_.range_begin(range);
  }
}

void Walk::end_range(const Track& track, const trace::EventBatch& batch, uint32_t index) {
  if (order_.began_before(index)) visitor_.range(ended_range(track, batch.ranges, index));
  if (moments_) {
    const uint16_t lane = batch.ranges.lane.empty() ? 0 : batch.ranges.lane[index];
    visitor_.range_end(*track.place, lane, to_ns(track, batch.ranges.end[index]));
  }
  if (!enclosing_.empty()) enclosing_.pop_back();
}

void Walk::visit_point(const Track& track, const trace::Points& points, uint32_t index) {
  Point point;
  point.place = track.place;
  point.event_class = &track.process->classes.find(points.class_id[index]);
  if (trace::is_definition(point.event_class->event_class)) return;
  point.number = first_point_ + index;
  point.values = point_rows_.row(index);
  point.kind = points.kind[index];
  point.time_ns = to_ns(track, points.time[index]);
  point.id = points.id[index];
  if (!enclosing_.empty()) {
    point.enclosed = true;
    point.within_start_ns = enclosing_.back().start_ns;
    point.within_end_ns = enclosing_.back().end_ns;
  }
  name(point);
  switch (point.kind) {
    case trace::PointKind::AsyncBegin:
      return async_.begin(track.process->number, point);
    case trace::PointKind::AsyncEnd:
      return async_.end(track.process->number, point);
    default:
      return visitor_.point(point);
  }
}

void Walk::finish() {
  for (const auto& [key, track] : tracks_) {
    for (size_t depth = 0; depth < track.open.size(); ++depth) {
      Range range = open_range(track, track.open[depth], depth);
      range.finished = false;
      range.end_ns = std::max(range.start_ns, track.process->end_ns);
      range.duration_ns = elapsed_ns(range.start_ns, range.end_ns);
      visitor_.range(range);
    }
  }
  async_.finish([this](const Place& place) { return processes_.at(place.writer->id)->end_ns; });
  report_.unmatched_ends = async_.unmatched_ends();
}

Range Walk::ended_range(const Track& track, const trace::Ranges& ranges, uint32_t index) {
  Range range;
  range.place = track.place;
  range.event_class = &track.process->classes.find(ranges.class_id[index]);
  range.number = first_range_ + index;
  range.values = range_rows_.row(index);
  range.start_ns = to_ns(track, ranges.end[index] - ranges.duration[index]);
  range.end_ns = to_ns(track, ranges.end[index]);
  range.duration_ns = track.clock->duration_ns(ranges.duration[index]);
  range.depth = ranges.depth[index];
  range.lane = ranges.lane.empty() ? 0 : ranges.lane[index];
  range.correlation = ranges.correlation.empty() ? 0 : ranges.correlation[index];
  name(range);
  return range;
}

Range Walk::open_range(const Track& track, const trace::OpenRange& open, size_t depth) {
  open_values_ = {open.ints, open.doubles, open.text};
  open_row_.load(open_values_, {&open.class_id, 1}, track.process->classes);
  Range range;
  range.place = track.place;
  range.event_class = &track.process->classes.find(open.class_id);
  range.values = open_row_.row(0);
  range.start_ns = to_ns(track, open.start);
  range.end_ns = kNotYet;
  range.depth = static_cast<uint16_t>(depth);
  range.correlation = open.correlation;
  name(range);
  return range;
}

void Walk::name(Event& event) {
  const ClassInfo& info = *event.event_class;
  event.name = info.event_class.name;
  if (!info.has_places || event.values.empty()) return;
  row_.assign(event.values.begin(), event.values.end());
  name_ = trace::full_name(&info.event_class, row_);
  event.name = name_;
}

}  // namespace

WalkReport visit_events(const trace::Reader& reader, const Places& places, TimeBase time_base, EventVisitor& visitor) {
  return Walk(reader, places, time_base, visitor).run();
}

AsyncRanges::Begin::Begin(const Point& point)
    : place(point.place),
      event_class(point.event_class),
      start_ns(point.time_ns),
      name(point.name),
      values(point.values.begin(), point.values.end()) {
  texts.reserve(values.size());  // never grows, so that the views below stay valid
  for (Value& value : values) {
    if (value.type == trace::FieldType::String) value.text = texts.emplace_back(value.text);
  }
}

void AsyncRanges::begin(uint32_t writer, const Point& point) {
  auto begin = std::make_unique<Begin>(point);
  if (!pairs_.begin({writer, point.id}, std::move(begin))) hand_out(point.id, *begin, point.time_ns, nullptr);
}

// Without an `end_place` the range is unfinished.
void AsyncRanges::hand_out(uint64_t id, const Begin& begin, int64_t end_ns, const Place* end_place) {
  AsyncRange range;
  range.place = begin.place;
  range.event_class = begin.event_class;
  range.name = begin.name;
  range.values = begin.values;
  range.start_ns = begin.start_ns;
  range.end_ns = std::max(begin.start_ns, end_ns);
  range.id = id;
  range.end_place = end_place != nullptr ? end_place : begin.place;
  range.finished = end_place != nullptr;
  visitor_.async_range(range);
}

}  // namespace kymo::convert
