// Source: reading chunks.

#include <algorithm>
#include <array>
#include <limits>

#include "base/text_part.h"
#include "kymo/error.h"
#include "serve/source.h"

namespace kymo::serve {

namespace {

double number(const trace::ValueCursor::Value& value) {
  switch (value.type) {
    case trace::FieldType::Double:
      return value.real;
    case trace::FieldType::Int:
      return static_cast<double>(static_cast<int64_t>(value.bits));
    default:
      return static_cast<double>(value.bits);
  }
}

}  // namespace

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

// The last class is usually the next one again, and there are few.
class Source::ClassCache {
 public:
  ClassCache(const Source& source, const trace::WriterId& writer) : source_(source), writer_(writer) {}
  const ClassName& find(uint32_t class_id) {
    if (class_id >= kSlots) return source_.class_of(writer_, class_id);
    if (slots_[class_id] == nullptr) slots_[class_id] = &source_.class_of(writer_, class_id);
    return *slots_[class_id];
  }

 private:
  static constexpr uint32_t kSlots = 256;
  const Source& source_;
  const trace::WriterId& writer_;
  std::array<const ClassName*, kSlots> slots_{};
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
  ClassCache classes(*this, decoding.track.writer);
  if (ranges.values.ints.empty() && ranges.values.doubles.empty()) {
    for (size_t i = 0; i < ranges.size(); ++i) into.name[i] = classes.find(ranges.class_id[i]).name;
  } else {
    add_names(decoding, classes);
  }
}

// With the texts of those ranges whose names have places for values.
void Source::add_names(const Decoding& decoding, ClassCache& classes) const {
  const trace::Ranges& ranges = decoding.batch.ranges;
  DecodedChunk& into = decoding.into;
  trace::ValueCursor cursor(ranges.values);
  bool is_lost = false;  // after a class that is not known, values cannot be read
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ClassName& known = classes.find(ranges.class_id[i]);
    into.name[i] = known.name;
    is_lost = is_lost || (known.event_class == nullptr && !known.is_inline);
    if (is_lost) continue;
    const std::vector<trace::ValueCursor::Value>& row = cursor.next(known.event_class);
    if (known.is_inline) {
      into.name[i] = names_.of_inline(trace::full_name(nullptr, row));
      into.has_stored_names = true;
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
  trace::ValueCursor cursor(points.values);
  bool is_lost = false;
  for (size_t i = 0; i < points.size(); ++i) {
    const ClassName& known = class_of(decoding.track.writer, points.class_id[i]);
    is_lost = is_lost || (known.event_class == nullptr && !known.is_inline);
    const std::vector<trace::ValueCursor::Value>* row = is_lost ? nullptr : &cursor.next(known.event_class);
    if (known.is_definition) continue;
    if (points.kind[i] == trace::PointKind::Counter) {
      if (row == nullptr || row->empty()) continue;
      const double value = number(row->front());
      decoding.into.counters.push_back({times[i], times[i], value, value, value, points.class_id[i]});
    } else {
      decoding.into.has_stored_names |= known.is_inline;
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
  into.has_stored_names = false;
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
    Item& item = items.emplace_back();
    item.start = of.clock.ns(open[i].start);
    item.end = std::max(item.start, end);
    item.total = item.longest = item.end - item.start;
    const ClassName& known = class_of(of.writer, open[i].class_id);
    item.name = known.name;
    if (known.is_inline) item.name = names_.of_inline(open[i].text);
    item.chunk = of.chunks.back();
    item.index = kOpenIndex + static_cast<uint32_t>(i);
    item.depth = static_cast<uint16_t>(i);
  }
  return items;
}

}  // namespace kymo::serve
