#include "analyze/stats.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "analyze/decode_ahead.h"
#include "analyze/nesting.h"
#include "analyze/range_groups.h"
#include "trace/clock.h"

namespace kymo::analyze {

namespace {

// Adding up is several times faster than decoding, so a few helpers are enough for one consumer.

// The time inside of the ranges of one track, by the number of the range around it plus 1: what is not self time. For
// Nesting. Differences wrap.
class TrackSums {
 public:
  using Owner = uint32_t;

  explicit TrackSums(ClassSlots& slots) : slots_(slots) {}

  // Makes room for these names.
  void prepare(std::span<const uint32_t> numbers) {
    if (!numbers.empty()) prepare(*std::ranges::max_element(numbers));
  }
  void prepare(uint32_t number) {
    if (inside_.size() < number + size_t{2}) inside_.resize(number + size_t{2});
  }
  void forget() {
    std::ranges::fill(inside_, 0);
    inside_unfinished_.clear();
  }

  Owner outside() const { return 0; }
  Owner find(Owner, uint32_t number, size_t) const { return number + 1; }
  Owner add(Owner around, uint32_t number, size_t, uint64_t ticks) {
    inside_[around] += ticks;
    slots_.of(number).add(ticks);
    return number + 1;
  }
  bool counts(Owner, Owner) const { return true; }
  void add_unfinished(Owner around, Owner owner, uint32_t number, uint64_t ticks, uint64_t inside) {
    inside_[around] += ticks;
    inside_[owner] -= inside;
    inside_unfinished_[owner] += std::min(inside, ticks);
    unfinished_.push_back({number, ticks});
  }

  // By time: first all of a range is inside of others, then its self time is taken out.
  Owner visit(Owner, const TimedRange& range, size_t) {
    of(range) += range.ticks();
    return range.number + 1;
  }
  void take(Owner, const TimedRange& range, TickSpan part) { take(range, part.ticks()); }
  void take(const TimedRange& range, uint64_t ticks) { of(range) -= ticks; }

  // Adds everything to the rows. Returns the number of unfinished ranges.
  uint64_t finish(RangeGroups& groups) {
    for (const auto& [number, ticks] : unfinished_) groups.unfinished(slots_.of(number)).add(ticks);
    for (uint32_t number = 0; number + 1 < inside_.size(); ++number)
      if (inside_[number + 1] != 0) slots_.of(number).inside += inside_[number + 1];
    for (const auto& [owner, ticks] : inside_unfinished_) groups.unfinished(slots_.of(owner - 1)).inside += ticks;
    return unfinished_.size();
  }

 private:
  uint64_t& of(const TimedRange& range) {
    return range.unfinished ? inside_unfinished_[range.number + 1] : inside_[range.number + 1];
  }

  ClassSlots& slots_;
  std::vector<uint64_t> inside_ = std::vector<uint64_t>(1);
  std::map<Owner, uint64_t> inside_unfinished_;
  std::vector<std::pair<uint32_t, uint64_t>> unfinished_;  // number, ticks
};

// The state of a track between two of its chunks.
struct TrackState {
  uint32_t writer = 0;
  const trace::ClockMap* clock = nullptr;
  ClassSlots* slots = nullptr;
  ClassSlots* async_slots = nullptr;
  std::unique_ptr<TrackSums> sums;
  Nesting<TrackSums> nesting;
  const StateTimes* states = nullptr;  // of its thread

  StateTimes::Times in_state(uint64_t begin, uint64_t end) const {
    return states->between(clock->to_monotonic_ns(begin), clock->to_monotonic_ns(end));
  }
};

class Computation {
 public:
  Computation(const trace::Reader& reader, const StatsOptions& options)
      : reader_(reader), options_(options), groups_(options), points_(options) {
    if (options.states == nullptr || !options.states->are_placed) return;
    for (const ThreadStates& thread : options.states->threads) states_.try_emplace(thread.key, thread);
  }

  Statistics run();

 private:
  void decode(const trace::EventChunk& chunk, trace::EventBatch& into) const;
  void decode_ranges(const trace::EventChunk& chunk, trace::EventBatch& into, unsigned parts) const;
  void add(const trace::EventChunk& chunk, const trace::EventBatch& batch);
  void finish_tracks();
  void nest_overlapping(const std::pair<trace::WriterId, uint32_t>& key, TrackState& track);
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
  std::map<std::string, StateTimes> states_;  // by thread_key()
  Statistics result_;
};

Statistics Computation::run() {
  result_.problems = reader_.problems();
  DecodeAhead chunks(reader_.event_chunks(), [this](const auto& chunk, auto& into) { decode(chunk, into); });
  while (const DecodeAhead::Item* const item = chunks.next()) {
    if (item->error.empty()) {
      add(*item->chunk, item->batch);
    } else {
      result_.problems.push_back({item->chunk->offset, item->chunk->length, item->error});
    }
  }
  finish_tracks();
  result_.ranges = groups_.rows();
  return std::move(result_);
}

// A range that is open at the end of the trace lasts until its process was last seen alive. For a clock that cannot be
// converted, this is the last event.
void Computation::finish_tracks() {
  const std::map<trace::WriterId, int64_t> alive = trace::last_alive_ns(reader_);
  std::vector<int64_t> ends_ns(writers_.size(), std::numeric_limits<int64_t>::min());
  for (auto& [key, track] : tracks_) {
    if (track.clock == nullptr) continue;
    const auto known = alive.find(key.first);
    const int64_t* const alive_ns = known == alive.end() ? nullptr : &known->second;
    const uint64_t last = track.nesting.last();
    int64_t& end = ends_ns[track.writer];
    end = std::max(end, alive_ns != nullptr ? *alive_ns : nanoseconds(*track.clock, last));
    const auto ticks_of = [&, &clock = *track.clock](uint64_t start) {
      return unfinished_ticks(clock, start, last, alive_ns);
    };
    track.nesting.finish(ticks_of, *track.sums);
    if (track.nesting.overlaps()) nest_overlapping(key, track);
    if (track.states != nullptr)
      for (const TimedRange& range : track.nesting.unfinished())
        groups_.unfinished(track.slots->of(range.number)).add(track.in_state(range.begin, range.end));
    result_.unfinished += track.sums->finish(groups_);
  }
  points_.finish(result_, groups_, ends_ns);
}

void Computation::nest_overlapping(const std::pair<trace::WriterId, uint32_t>& key, TrackState& track) {
  TrackSums& sums = *track.sums;
  sums.forget();
  const auto decode = [this](const auto& chunk, auto& into) { decode_ranges(chunk, into, 0); };
  const auto numbers_of = [&](const trace::EventBatch& batch) {
    const std::span<const uint32_t> numbers = track.slots->numbers(batch.ranges);
    sums.prepare(numbers);
    return numbers;
  };
  self_times(
      chunks_of(reader_, key), track.nesting.unfinished(), decode, numbers_of,
      [&](const TimedRange& range) { sums.visit(sums.outside(), range, 0); },
      [&](const TimedRange& range, uint64_t ticks) { sums.take(range, ticks); });
}

void Computation::decode(const trace::EventChunk& chunk, trace::EventBatch& into) const {
  decode_ranges(chunk, into, trace::kOpenStacks | (chunk.point_count != 0 ? trace::kPoints | trace::kPointValues : 0u));
}

// And these parts.
void Computation::decode_ranges(const trace::EventChunk& chunk, trace::EventBatch& into, unsigned parts) const {
  parts |= trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths;
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
  const auto number_of = [&](const trace::OpenRange& open) {
    const uint32_t number = track->slots->number(open);
    track->sums->prepare(number);
    return number;
  };
  const std::span<const uint32_t> numbers = track->slots->numbers(batch.ranges);
  track->sums->prepare(numbers);
  track->nesting.add(batch, numbers, chunk.last, number_of, *track->sums);
  // The second pass does not count again.
  if (track->nesting.overlaps())
    for (size_t i = 0; i < numbers.size(); ++i) track->slots->of(numbers[i]).add(batch.ranges.duration[i]);
  for (size_t i = 0; track->states != nullptr && i < numbers.size(); ++i) {
    const uint64_t end = batch.ranges.end[i];
    track->slots->of(numbers[i]).add(track->in_state(end - std::min(end, batch.ranges.duration[i]), end));
  }
  if (batch.points.size() != 0) {
    points_.add({track->writer, *track->clock, *track->async_slots}, batch.points);
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
  state.sums = std::make_unique<TrackSums>(*state.slots);
  state.async_slots = &slots_of(writer->second, track->second, true);
  const auto states = states_.find(thread_key(writer->second, track->second));
  const bool is_thread = track->second.kind == trace::TrackKind::Thread && clock.usable();
  if (is_thread && states != states_.end()) state.states = &states->second;
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
