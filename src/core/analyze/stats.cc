#include "analyze/stats.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "analyze/decode_ahead.h"
#include "analyze/innermost.h"
#include "analyze/range_groups.h"
#include "trace/clock.h"

namespace kymo::analyze {

namespace {

// Adding up is several times faster than decoding, so a few helpers are enough for one consumer.
constexpr unsigned kMaxHelpers = 5;

// The state of a track between two of its chunks.
struct TrackState {
  uint32_t writer = 0;
  const trace::ClockMap* clock = nullptr;
  ClassSlots* slots = nullptr;
  ClassSlots* async_slots = nullptr;
  SelfTime self;
  bool begun = false;
  uint32_t ring = 0;
  uint64_t sequence_end = 0;
  uint64_t last = 0;                   // ticks of the last event so far
  std::vector<trace::OpenRange> open;  // after the last chunk
};

class Computation {
 public:
  Computation(const trace::Reader& reader, const StatsOptions& options)
      : reader_(reader), options_(options), groups_(options), points_(options) {}

  Statistics run();

 private:
  void decode(const trace::EventChunk& chunk, trace::EventBatch& into) const;
  void add(const trace::EventChunk& chunk, const trace::EventBatch& batch);
  void add_unfinished();
  void add_ranges(TrackState& track, const trace::Ranges& ranges);
  void add_ranges_by_text(TrackState& track, const trace::Ranges& ranges);
  TrackState* find_track(const trace::EventChunk& chunk);
  const trace::ClockMap& clock_of(const trace::WriterInfo& writer, uint32_t clock);
  ClassSlots& slots_of(const trace::WriterInfo& writer, const trace::Track& track, bool across_threads);

  const trace::Reader& reader_;
  const StatsOptions& options_;
  RangeGroups groups_;
  PointTables points_;
  std::map<std::pair<trace::WriterId, uint32_t>, TrackState> tracks_;
  std::map<std::pair<trace::WriterId, uint32_t>, std::unique_ptr<trace::ClockMap>> clocks_;
  struct SlotsKey {
    trace::WriterId writer;
    uint32_t clock_or_track;
    bool across_threads, on_device;
    auto operator<=>(const SlotsKey&) const = default;
  };
  std::map<SlotsKey, std::unique_ptr<ClassSlots>> slots_;
  std::map<trace::WriterId, uint32_t> writers_;
  Statistics result_;
};

Statistics Computation::run() {
  result_.problems = reader_.problems();
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  DecodeAhead chunks(
      reader_.event_chunks(), [this](const auto& chunk, auto& into) { decode(chunk, into); },
      std::min(cores - 1, kMaxHelpers));
  while (const DecodeAhead::Item* const item = chunks.next()) {
    if (item->error.empty()) {
      add(*item->chunk, item->batch);
    } else {
      result_.problems.push_back({item->chunk->offset, item->chunk->length, item->error});
    }
  }
  add_unfinished();
  result_.ranges = groups_.rows();
  return std::move(result_);
}

// A range that is open at the end of the trace lasts until its process was last seen alive. For a clock that cannot be
// converted, this is the last event.
void Computation::add_unfinished() {
  const std::map<trace::WriterId, int64_t> alive = trace::last_alive_ns(reader_);
  std::vector<int64_t> ends_ns(writers_.size(), std::numeric_limits<int64_t>::min());
  for (const auto& [key, track] : tracks_) {
    if (track.clock == nullptr) continue;
    int64_t& end = ends_ns[track.writer];
    end = std::max(end, nanoseconds(*track.clock, track.last));
    if (const auto known = alive.find(key.first); known != alive.end()) end = std::max(end, known->second);
  }
  for (auto& [key, track] : tracks_) {
    if (track.clock == nullptr) continue;
    result_.unfinished += track.open.size();
    for (size_t depth = track.open.size(); depth-- > 0;) {
      const trace::OpenRange& range = track.open[depth];
      const trace::Values values{range.ints, range.doubles, range.text};
      RangeSums& sums =
          track.slots->of(range.class_id, trace::ValueCursor(values).next(track.slots->event_class(range.class_id)));
      const double ns =
          static_cast<double>(ends_ns[track.writer]) - static_cast<double>(nanoseconds(*track.clock, range.start));
      const auto ticks = static_cast<uint64_t>(std::max(0.0, ns / sums.ns_per_tick));
      const auto level = static_cast<uint16_t>(std::min<size_t>(depth, UINT16_MAX));
      groups_.unfinished(sums).add(ticks, track.self.of(level, ticks, range.start + ticks));
    }
  }
  points_.finish(result_, groups_, ends_ns);
}

void Computation::decode(const trace::EventChunk& chunk, trace::EventBatch& into) const {
  unsigned parts = trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kOpenStacks;
  if (chunk.point_count != 0) parts |= trace::kPoints | trace::kPointValues;
  const bool by_name = options_.group_by == GroupBy::Name;
  if (by_name && options_.full_text) parts |= trace::kRangeValues;
  reader_.read(chunk, into, parts);

  // Names that are stored with the event are rare. Only chunks that have such names need to read values.
  if (!by_name || options_.full_text) return;
  uint32_t inline_names = 0;
  for (const uint32_t class_id : into.ranges.class_id) inline_names += class_id == trace::kInlineName;
  if (inline_names != 0) reader_.read(chunk, into, parts | trace::kRangeValues);
}

void Computation::add(const trace::EventChunk& chunk, const trace::EventBatch& batch) {
  TrackState* const track = find_track(chunk);
  if (track == nullptr) return;  // the reader has reported it
  const bool follows = track->ring == chunk.ring && track->sequence_end == chunk.sequence_begin;
  if (track->begun && !follows) track->self.resume(batch.opening, track->last);
  track->begun = true;
  track->ring = chunk.ring;
  track->sequence_end = chunk.sequence_end;
  track->last = std::max(track->last, chunk.last);
  track->open = batch.closing;

  const bool has_values = !batch.ranges.values.ints.empty() || !batch.ranges.values.doubles.empty();
  if (has_values || !batch.ranges.lane.empty()) {
    add_ranges_by_text(*track, batch.ranges);
  } else {
    add_ranges(*track, batch.ranges);
  }
  if (batch.points.size() != 0) {
    points_.add({track->writer, *track->clock, *track->async_slots}, batch.points);
  }
}

// The hot loop of the computation.
void Computation::add_ranges(TrackState& track, const trace::Ranges& ranges) {
  SelfTime self = std::move(track.self);  // a local variable, so that its pointer stays in a register
  ClassSlots& slots = *track.slots;
  const uint64_t* const duration = ranges.duration.data();
  const uint32_t* const class_id = ranges.class_id.data();
  const uint16_t* const depth = ranges.depth.data();
  const uint64_t* const end = ranges.end.data();
  const size_t count = ranges.size();
  for (size_t i = 0; i < count; ++i) slots.of(class_id[i]).add(duration[i], self.of(depth[i], duration[i], end[i]));
  track.self = std::move(self);
}

// The same, but with lanes and with names that depend on the values of the events.
void Computation::add_ranges_by_text(TrackState& track, const trace::Ranges& ranges) {
  const bool has_lanes = !ranges.lane.empty();
  trace::ValueCursor cursor(ranges.values);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint32_t class_id = ranges.class_id[i];
    const uint64_t duration = ranges.duration[i];
    const uint64_t in_itself = track.self.of(has_lanes ? ranges.lane[i] : 0, ranges.depth[i], duration, ranges.end[i]);
    const auto& row = cursor.next(track.slots->event_class(class_id));
    track.slots->of(class_id, row).add(duration, in_itself);
  }
}

TrackState* Computation::find_track(const trace::EventChunk& chunk) {
  const auto [entry, is_new] = tracks_.try_emplace({chunk.writer, chunk.track});
  TrackState& state = entry->second;
  if (!is_new) return state.slots == nullptr ? nullptr : &state;
  const auto writer = reader_.writers().find(chunk.writer);
  if (writer == reader_.writers().end()) return nullptr;
  const auto track = writer->second.tracks.find(chunk.track);
  if (track == writer->second.tracks.end()) return nullptr;

  const trace::ClockMap& clock = clock_of(writer->second, track->second.clock);
  if (!clock.has_rate()) return nullptr;

  state.writer = writers_.try_emplace(chunk.writer, static_cast<uint32_t>(writers_.size())).first->second;
  state.clock = &clock;
  state.slots = &slots_of(writer->second, track->second, false);
  state.async_slots = &slots_of(writer->second, track->second, true);
  return &state;
}

const trace::ClockMap& Computation::clock_of(const trace::WriterInfo& writer, uint32_t clock) {
  std::unique_ptr<trace::ClockMap>& map = clocks_[{writer.id, clock}];
  if (map == nullptr) {
    const auto domain = writer.clocks.find(clock);
    map = std::make_unique<trace::ClockMap>();
    if (domain != writer.clocks.end()) *map = trace::clock_map(domain->second);
  }
  return *map;
}

ClassSlots& Computation::slots_of(const trace::WriterInfo& writer, const trace::Track& track, bool across_threads) {
  const bool by_thread = options_.group_by == GroupBy::Thread;
  const uint32_t clock_or_track = by_thread ? track.id : across_threads ? 0 : track.clock;
  const bool on_device = track.kind == trace::TrackKind::DeviceQueue;
  std::unique_ptr<ClassSlots>& slots = slots_[{writer.id, clock_or_track, across_threads, on_device}];
  if (slots == nullptr) {
    constexpr uint64_t kManyTicks = uint64_t{1} << 40;  // a single tick would lose the fraction
    const double tick = clock_of(writer, track.clock).to_ns(kManyTicks) / static_cast<double>(kManyTicks);
    slots = std::make_unique<ClassSlots>(groups_, options_,
                                         ClassSlots::Scope{writer, track, across_threads, across_threads ? 1.0 : tick});
  }
  return *slots;
}

}  // namespace

Statistics compute_statistics(const trace::Reader& reader, const StatsOptions& options) {
  return Computation(reader, options).run();
}

}  // namespace kymo::analyze
