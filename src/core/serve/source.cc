#include "serve/source.h"

#include <algorithm>
#include <limits>

#include "base/name_places.h"
#include "base/text.h"
#include "kymo/error.h"
#include "trace/loss_words.h"
#include "trace/model.h"
#include "trace/read_if_whole.h"

namespace kymo::serve {

namespace {

// Times of a damaged file may have any value, so the arithmetic wraps.
int64_t difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// Reading all heads of a very long trace takes too long at the start: this many say enough.
constexpr size_t kHeadsAtStart = 4096;

}  // namespace

int64_t FileClock::relative(int64_t realtime) const { return std::max<int64_t>(0, difference(realtime, zero_)); }

void FileClock::ns(std::span<const uint64_t> ticks, std::vector<int64_t>& into) const {
  into.resize(ticks.size());
  clock_.to_realtime_ns(ticks, into.data());
  for (int64_t& time : into) time = relative(time);
}

Source::Source(trace::Reader reader, NameTable& names) : reader_(std::move(reader)), names_(names) {
  unknown_.name = names_.of_class("(unknown class)", {});
  unknown_.bit = name_bit(unknown_.name);
  inline_.name = names_.of_class("{}", {});
  inline_.bit = kHasStoredNames;
  inline_.is_inline = true;
  describe();
  add_chunks();
}

// How many rows the tracks have, for the layout of the page, from chunks that are new.
void Source::count_rows(size_t from) {
  const size_t step = std::max<size_t>(1, (chunks_.size() - from) / kHeadsAtStart);
  for (size_t i = from; i < chunks_.size(); i += step) {
    if (chunks_[i].track == kNoTrack || reader_.event_chunks()[i].range_count == 0) continue;
    try {
      SourceTrack& track = tracks_[chunks_[i].track];
      for (const trace::DepthSummary& depth : reader_.summaries(reader_.event_chunks()[i])) {
        track.rows = std::max(track.rows, depth.depth + 1u);
        if (depth.depth == 0) track.busy_ns += step * track.clock.map().duration_ns(depth.total);
      }
    } catch (const Error&) {
      // tiles report it
    }
  }
}

void Source::describe() {
  const std::map<trace::WriterId, trace::WriterInfo>& writers = reader_.writers();
  times_.emplace(reader_);
  alive_ns_ = trace::last_alive_ns(reader_);
  classes_.clear();
  for (const auto& [id, writer] : writers) {
    WriterNames& table = classes_[id];
    table.dense.assign(writer.class_table_size(), unknown_);
    for (const auto& [class_id, event_class] : writer.classes) {
      ClassName& described = class_id < table.dense.size() ? table.dense[class_id] : table.sparse[class_id];
      described.name = names_.of_class(event_class.name, event_class.category, event_class.colour);
      described.bit = name_bit(described.name);
      described.has_places = !event_class.fields.empty() && event_class.name.find('{') != std::string::npos;
      described.is_definition = trace::is_definition(event_class);
      described.event_class = &event_class;
    }
    table.dense[trace::kInlineName] = inline_;
  }

  // The start of the file stays where it was when it had its first events.
  if (!times_->empty() && !reference_) {
    const trace::WriterId& first = writers.begin()->first;
    reference_ = {first, difference(times_->offset_ns(first, 0), earliest_open_ns())};
  }
  if (reference_) shift_ns_ = difference(reference_->second, times_->offset_ns(reference_->first, 0));
  const convert::Places places(reader_);
  // The name of a process changes with exec.
  const auto key_of = [](const SourceGroup& group) {
    return group.is_device ? group.label : base::format("{}\n{}", group.host, group.pid);
  };
  std::map<std::string, uint32_t> known_groups;
  for (uint32_t i = 0; i < groups_.size(); ++i) known_groups[key_of(groups_[i])] = i;
  std::vector<uint32_t> group_ids;
  for (const convert::Group& group : places.groups()) {
    SourceGroup shown{group.pid, group.name, convert::group_label(group),
                      group.writer != nullptr ? group.writer->origin.host : "", group.writer == nullptr};
    const auto [known, is_new] = known_groups.try_emplace(key_of(shown), static_cast<uint32_t>(groups_.size()));
    group_ids.push_back(known->second);
    if (is_new)
      groups_.push_back(std::move(shown));
    else
      groups_[known->second] = std::move(shown);
  }
  clock_error_ns_ = 0;
  if (times_->empty()) return;  // no event has a time, so there is nothing to show yet
  for (const convert::Place& place : places.all()) {
    const auto domain = place.writer->clocks.find(place.track->clock);
    if (domain == place.writer->clocks.end()) continue;
    trace::ClockMap map = trace::clock_map(domain->second);
    if (!map.usable()) continue;
    clock_error_ns_ = std::max(clock_error_ns_, map.error_ns());
    const uint64_t tick = domain->second.pairs.empty() ? 0 : domain->second.pairs.front().ticks;
    const int64_t offset = offset_ns(place.writer->id, map.to_monotonic_ns(tick));
    const int64_t zero = difference(map.to_realtime_ns(tick), offset);
    FileClock clock(std::move(map), zero);
    const auto [known, is_new] =
        by_track_.try_emplace({place.writer->id, place.track->id}, static_cast<uint32_t>(tracks_.size()));
    if (is_new) {
      const bool is_queue = place.track->kind == trace::TrackKind::DeviceQueue;
      tracks_.push_back({place.writer->id,
                         place.track->id,
                         group_ids[place.group->index],
                         place.name,
                         place.tid,
                         is_queue,
                         place.track->device(),
                         std::move(clock),
                         {}});
      threads_[thread_key(tracks_.back())].push_back(tracks_.size() - 1);
    } else {
      tracks_[known->second].clock = std::move(clock);
      tracks_[known->second].name = place.name;
    }
    start_realtime_ns_ = zero;
  }
  describe_losses();
}

// Of a file that grows: ranges that are open now and will end later began before the first event. 0 or negative.
int64_t Source::earliest_open_ns() const {
  if (!reader_.is_being_written()) return 0;
  std::map<std::pair<trace::WriterId, uint32_t>, const trace::EventChunk*> last;
  for (const trace::EventChunk& chunk : reader_.event_chunks()) last[{chunk.writer, chunk.track}] = &chunk;
  int64_t earliest = 0;
  trace::EventBatch batch;
  std::map<trace::WriterId, trace::TrackClocks> clocks;
  for (const auto& [key, chunk] : last) {
    const auto writer = reader_.writers().find(key.first);
    if (writer == reader_.writers().end()) continue;
    const trace::ClockMap* clock = clocks.try_emplace(key.first, writer->second).first->second.find(key.second);
    if (clock == nullptr) continue;
    if (!trace::read_if_whole(reader_, *chunk, batch, trace::kOpenStacks)) continue;  // tiles report it
    for (const trace::OpenRange& open : batch.closing)
      earliest = std::min(earliest, times_->offset_ns(key.first, clock->to_monotonic_ns(open.start)));
  }
  return earliest;
}

void Source::add_chunks() {
  const std::vector<trace::EventChunk>& all = reader_.event_chunks();
  const size_t before = chunks_.size();
  for (size_t i = before; i < all.size(); ++i) {
    ChunkTimes times;
    const auto track = by_track_.find({all[i].writer, all[i].track});
    if (track != by_track_.end()) {
      times.track = track->second;
      SourceTrack& of = tracks_[track->second];
      times.first = of.clock.ns(all[i].first);
      times.last = std::max(times.first, of.clock.ns(all[i].last));
      of.chunks.push_back(static_cast<uint32_t>(i));
      of.ranges += all[i].range_count;
      of.points += all[i].point_count;
      if (all[i].range_count + all[i].point_count > 0) {
        of.start_ns = std::min(of.start_ns, times.first);
        of.end_ns = std::max(of.end_ns, times.last);
        duration_ns_ = std::max(duration_ns_, times.last);
      }
    }
    chunks_.push_back(times);
  }
  count_rows(before);
}

void Source::describe_losses() {
  losses_.clear();
  for (const auto& [id, writer] : reader_.writers()) {
    for (const trace::Loss& loss : writer.losses) {
      SourceLoss shown;
      const trace::LossWords& words = trace::loss_words(loss.cause);
      shown.key = words.key;
      shown.text = base::format("{} {}{}{}", words.thing, words.reason, loss.detail.empty() ? "" : ": ", loss.detail);
      shown.count = loss.count;
      if (const auto track = by_track_.find({id, loss.track}); track != by_track_.end()) {
        const SourceTrack& of = tracks_[track->second];
        shown.track = track->second;
        shown.group = of.group;
        if (loss.last != 0) shown.time = {of.clock.ns(loss.first), of.clock.ns(loss.last)};
      }
      losses_.push_back(std::move(shown));
    }
  }
}

uint64_t Source::event_count() const {
  uint64_t events = 0;
  for (const trace::EventChunk& chunk : reader_.event_chunks())
    events += uint64_t{chunk.range_count} + chunk.point_count;
  return events;
}

std::optional<size_t> Source::find_track(const trace::WriterId& writer, uint32_t track) const {
  const auto found = by_track_.find({writer, track});
  return found == by_track_.end() ? std::nullopt : std::optional<size_t>(found->second);
}

// Queues, and threads without an id, are each for themselves.
Source::ThreadKey Source::thread_key(const SourceTrack& track) {
  if (track.is_queue || track.tid == 0) return {track.group, 0, track.writer, track.track};
  return {track.group, track.tid, {}, 0};
}

size_t Source::main_track(size_t track) const {
  if (tracks_[track].ranges > 0) return track;
  const std::vector<size_t>& same = same_thread(track);
  for (const size_t other : same)
    if (tracks_[other].ranges > 0) return other;
  return *std::ranges::max_element(same, {}, [&](size_t one) { return tracks_[one].points; });
}

int64_t Source::offset_ns(const trace::WriterId& writer, int64_t monotonic_ns) const {
  return difference(times_->offset_ns(writer, monotonic_ns), -shift_ns_);
}

std::map<trace::WriterId, trace::Window> Source::between(int64_t from_ns, int64_t to_ns) const {
  const auto moved = [&](int64_t ns) { return static_cast<uint64_t>(std::max<int64_t>(0, difference(ns, shift_ns_))); };
  // Ranges that have not ended are cut at the end of a window. After the last event there is nothing to cut. CPU time
  // may have begun before the first one.
  auto windows =
      times_->between(moved(from_ns), to_ns > duration_ns_ ? std::optional<uint64_t>() : std::optional(moved(to_ns)));
  if (from_ns == 0)
    for (auto& [writer, window] : windows) window.from_ns = 0;
  return windows;
}

const Source::WriterNames* Source::names_of(const trace::WriterId& writer) const {
  const auto table = classes_.find(writer);
  return table == classes_.end() ? nullptr : &table->second;
}

const Source::ClassName& Source::rare_class(const WriterNames* names, uint32_t class_id) const {
  if (names == nullptr) return class_id == trace::kInlineName ? inline_ : unknown_;
  const auto found = names->sparse.find(class_id);
  return found == names->sparse.end() ? unknown_ : found->second;
}

bool Source::refresh(bool being_written) {
  const bool has_ended = reader_.is_being_written() && !being_written;
  reader_.set_being_written(being_written);
  std::vector<uint64_t> before;
  for (const trace::EventChunk& chunk : reader_.event_chunks()) before.push_back(chunk.offset);
  if (!reader_.refresh() && !has_ended) return false;
  // A window that was stated later may hide chunks that were shown.
  const std::vector<trace::EventChunk>& after = reader_.event_chunks();
  const bool same = after.size() >= before.size() &&
                    std::equal(before.begin(), before.end(), after.begin(),
                               [](uint64_t offset, const trace::EventChunk& chunk) { return offset == chunk.offset; });
  if (!same) {
    ++generation_;
    chunks_.clear();
    for (SourceTrack& track : tracks_) {
      track.chunks.clear();
      track.ranges = track.points = 0;
    }
  }
  describe();
  add_chunks();
  return true;
}

// ---- Reading chunks
// --------------------------------------------------------------------------------------------------

std::unique_ptr<Source::Scratch> Source::ScratchPool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_unique<Scratch>();
  std::unique_ptr<Scratch> scratch = std::move(free_.back());
  free_.pop_back();
  return scratch;
}

void Source::ScratchPool::give_back(std::unique_ptr<Scratch> scratch) {
  constexpr size_t kMaxKept = 4, kLargestKept = 1 << 17;  // a forged chunk may have millions of events
  const std::lock_guard lock(mutex_);
  if (free_.size() < kMaxKept && scratch->batch.ranges.size() + scratch->batch.points.size() <= kLargestKept)
    free_.push_back(std::move(scratch));
}

struct Source::Decoding {
  const SourceTrack& track;
  const trace::EventBatch& batch;
  uint32_t chunk;
  std::optional<unsigned> level;  // of a sketch: only ranges that are as long as a bin need texts
  std::vector<uint64_t>& ticks;
  DecodedChunk& into;
};

void Source::add_ranges(const Decoding& decoding) const {
  const trace::Ranges& ranges = decoding.batch.ranges;
  DecodedChunk& into = decoding.into;
  std::vector<uint64_t>& ticks = decoding.ticks;
  ticks.resize(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) ticks[i] = ranges.end[i] - ranges.duration[i];
  decoding.track.clock.ns(ticks, into.start);
  decoding.track.clock.ns(ranges.end, into.end);
  for (size_t i = 0; i < ranges.size(); ++i) into.end[i] = std::max(into.start[i], into.end[i]);
  into.depth = ranges.depth;
  into.lane = ranges.lane;
  into.name.resize(ranges.size());
  if (!ranges.values.ints.empty() || !ranges.values.doubles.empty()) return add_names(decoding);
  const WriterNames* const names = names_of(decoding.track.writer);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ClassName& known = class_in(names, ranges.class_id[i]);
    into.name[i] = known.name;
    into.name_bits |= known.bit;
  }
}

// With the texts of those ranges whose names have places for values.
void Source::add_names(const Decoding& decoding) const {
  const trace::Ranges& ranges = decoding.batch.ranges;
  DecodedChunk& into = decoding.into;
  const WriterNames* const names = names_of(decoding.track.writer);
  trace::ValueCursor cursor(ranges.values);
  bool is_lost = false;  // after a class that is not known, values cannot be read
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ClassName& known = class_in(names, ranges.class_id[i]);
    into.name[i] = known.name;
    into.name_bits |= known.bit;
    is_lost = is_lost || (known.event_class == nullptr && !known.is_inline);
    if (is_lost) continue;
    const std::vector<trace::ValueCursor::Value>& row = cursor.next(known.event_class);
    if (known.is_inline) {
      into.name[i] = names_.of_inline(trace::full_name(nullptr, row));
    } else if (known.has_places && (!decoding.level || (into.end[i] - into.start[i]) >> *decoding.level != 0)) {
      if (into.text.empty()) into.text.resize(ranges.size(), kNoText);
      into.text[i] = static_cast<uint32_t>(into.texts.size());
      std::string text = trace::full_name(known.event_class, row);
      if (text.size() > NameTable::kMaxLength) text.resize(NameTable::kMaxLength);
      into.texts.push_back(std::move(text));
    }
  }
}

void Source::add_points(const Decoding& decoding) const {
  const trace::Points& points = decoding.batch.points;
  std::vector<int64_t> times;
  decoding.track.clock.ns(points.time, times);
  const WriterNames* const names = names_of(decoding.track.writer);
  trace::ValueCursor cursor(points.values);
  bool is_lost = false;
  for (size_t i = 0; i < points.size(); ++i) {
    const ClassName& known = class_in(names, points.class_id[i]);
    is_lost = is_lost || (known.event_class == nullptr && !known.is_inline);
    const std::vector<trace::ValueCursor::Value>* row = is_lost ? nullptr : &cursor.next(known.event_class);
    if (known.is_definition) continue;
    if (points.kind[i] == trace::PointKind::Counter) {
      if (row == nullptr || row->empty()) continue;
      const double value = row->front().number();
      decoding.into.counters.push_back({times[i], times[i], value, value, value, points.class_id[i]});
    } else {
      if (known.is_inline) decoding.into.name_bits |= kHasStoredNames;
      const uint32_t name =
          known.is_inline && row != nullptr ? names_.of_inline(trace::full_name(nullptr, *row)) : known.name;
      decoding.into.instants.push_back(
          {times[i], name, 1, decoding.chunk, kPointIndex + static_cast<uint32_t>(i), points.kind[i]});
    }
  }
}

void Source::decode(uint32_t chunk, std::optional<unsigned> sketch_level, Scratch& scratch, DecodedChunk& into) const {
  const trace::EventChunk& described = reader_.event_chunks()[chunk];
  into.chunk = chunk;
  into.text.clear();
  into.texts.clear();
  into.instants.clear();
  into.counters.clear();
  into.name_bits = 0;
  unsigned parts = 0;
  if (described.range_count > 0)
    parts |= trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kRangeValues;
  if (described.point_count > 0) parts |= trace::kPoints | trace::kPointValues;
  reader_.read(described, scratch.batch, parts);
  const Decoding decoding{tracks_[chunks_[chunk].track], scratch.batch, chunk, sketch_level, scratch.ticks, into};
  add_ranges(decoding);
  add_points(decoding);
}

DecodedChunk Source::decode(uint32_t chunk) const {
  DecodedChunk decoded;
  if (chunks_[chunk].track == kNoTrack) return decoded;
  std::unique_ptr<Scratch> scratch = scratch_.take();
  decode(chunk, {}, *scratch, decoded);
  scratch_.give_back(std::move(scratch));
  return decoded;
}

Sketch Source::sketch(uint32_t chunk) const {
  const ChunkTimes& times = chunks_[chunk];
  if (times.track == kNoTrack) return {};
  // The level depends on the ends of the ranges, which are known only after decoding. A level that is too low only
  // makes texts that are not needed.
  unsigned guess = 0;
  const trace::EventChunk& described = reader_.event_chunks()[chunk];
  const uint64_t events = std::max<uint64_t>(1, uint64_t{described.range_count} + described.point_count);
  const uint64_t mean = (static_cast<uint64_t>(times.last) - static_cast<uint64_t>(times.first)) / events;
  while (mean >> guess > 1) ++guess;
  std::unique_ptr<Scratch> scratch = scratch_.take();
  const DecodedChunk& decoded = scratch->decoded;
  decode(chunk, events > 4 * kSketchBins ? guess : 0, *scratch, scratch->decoded);
  int64_t first = std::numeric_limits<int64_t>::max(), last = 0;
  const auto include = [&](int64_t time) {
    first = std::min(first, time);
    last = std::max(last, time);
  };
  for (const int64_t end : decoded.end) include(end);
  for (const InstantBin& instant : decoded.instants) include(instant.time);
  for (const CounterBin& value : decoded.counters) include(value.time);
  Sketch sketch = make_sketch(decoded, serve::sketch_level(first, last));
  scratch_.give_back(std::move(scratch));
  return sketch;
}

std::vector<Item> Source::summary(uint32_t chunk) const {
  std::vector<Item> items;
  if (chunks_[chunk].track == kNoTrack) return items;
  const SourceTrack& track = tracks_[chunks_[chunk].track];
  for (const trace::DepthSummary& depth : reader_.summaries(reader_.event_chunks()[chunk])) {
    Item& item = items.emplace_back();
    item.start = track.clock.ns(depth.first);
    item.end = std::max(item.start, track.clock.ns(depth.last));
    item.count = static_cast<uint32_t>(std::min<uint64_t>(depth.count, UINT32_MAX));
    const auto duration = [&](uint64_t tick_difference) {
      return static_cast<int64_t>(std::min<uint64_t>(track.clock.map().duration_ns(tick_difference), INT64_MAX));
    };
    item.total = duration(depth.total);
    item.longest = item.count == 1 ? item.end - item.start : duration(depth.longest);
    item.name = NameTable::kNone;
    item.depth = depth.depth;
  }
  return items;
}

std::vector<trace::OpenRange> Source::open_ranges(uint32_t chunk) const {
  trace::EventBatch batch;
  reader_.read(reader_.event_chunks()[chunk], batch, trace::kOpenStacks);
  return std::move(batch.closing);
}

std::vector<Item> Source::unfinished(size_t track) const {
  std::vector<Item> items;
  const SourceTrack& of = tracks_[track];
  const auto alive = alive_ns_.find(of.writer);
  if (of.chunks.empty() || alive == alive_ns_.end()) return items;
  const int64_t end = std::max(of.end_ns, offset_ns(of.writer, alive->second));
  const std::vector<trace::OpenRange> open = open_ranges(of.chunks.back());
  for (size_t i = 0; i < open.size() && i <= UINT16_MAX; ++i) {
    const ClassName& known = class_of(of.writer, open[i].class_id);
    const uint32_t name = known.is_inline ? names_.of_inline(open[i].text) : known.name;
    items.push_back(Item::single(of.clock.ns(open[i].start), end, name, of.chunks.back(),
                                 kOpenIndex + static_cast<uint32_t>(i), static_cast<uint16_t>(i)));
  }
  return items;
}

}  // namespace kymo::serve
