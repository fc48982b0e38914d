// Source: reading chunks.

#include <algorithm>
#include <limits>

#include "base/text_part.h"
#include "kymo/error.h"
#include "serve/source.h"

namespace kymo::serve {

namespace {

bool is_instant(trace::PointKind kind) {
  return kind != trace::PointKind::Counter && kind != trace::PointKind::AsyncBegin &&
         kind != trace::PointKind::AsyncEnd;
}

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

struct Source::Decoding {
  const SourceTrack& track;
  const trace::EventBatch& batch;
  uint32_t chunk;
  std::optional<unsigned> level;  // of a sketch: only ranges that are as long as a bin need texts
  DecodedChunk& into;
};

void Source::add_ranges(const Decoding& decoding) const {
  const trace::Ranges& ranges = decoding.batch.ranges;
  DecodedChunk& into = decoding.into;
  std::vector<uint64_t> ticks(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) ticks[i] = ranges.end[i] - ranges.duration[i];
  std::vector<int64_t> starts, ends;
  decoding.track.clock.ns(ticks, starts);
  decoding.track.clock.ns(ranges.end, ends);
  into.ranges.resize(ranges.size());
  trace::ValueCursor cursor(ranges.values);
  const bool with_values = !ranges.values.ints.empty() || !ranges.values.doubles.empty();
  bool is_lost = false;  // after a class that is not known, values cannot be read
  const ClassName* known = &unknown_;
  uint32_t known_id = UINT32_MAX;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges.class_id[i] != known_id) {
      known_id = ranges.class_id[i];
      known = &class_of(decoding.track.writer, known_id);
    }
    Item& item = into.ranges[i];
    item.start = starts[i];
    item.end = std::max(starts[i], ends[i]);
    item.total = item.longest = item.end - item.start;
    item.name = known->name;
    item.chunk = decoding.chunk;
    item.index = static_cast<uint32_t>(i);
    item.depth = ranges.depth[i];
    item.lane = ranges.lane.empty() ? 0 : ranges.lane[i];
    if (!with_values || is_lost) continue;
    if (known->event_class == nullptr && !known->is_inline) {
      is_lost = true;
      continue;
    }
    const std::vector<trace::ValueCursor::Value>& row = cursor.next(known->event_class);
    if (known->is_inline) {
      item.name = names_.of_inline(trace::full_name(nullptr, row));
    } else if (known->has_places && (!decoding.level || is_single(item, *decoding.level))) {
      item.text = static_cast<uint32_t>(into.texts.size());
      std::string text = trace::full_name(known->event_class, row);
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
    } else if (is_instant(points.kind[i])) {
      const uint32_t name =
          known.is_inline && row != nullptr ? names_.of_inline(trace::full_name(nullptr, *row)) : known.name;
      decoding.into.instants.push_back(
          {times[i], name, 1, decoding.chunk, kPointIndex + static_cast<uint32_t>(i), points.kind[i]});
    }
  }
}

DecodedChunk Source::decode(uint32_t chunk, std::optional<unsigned> sketch_level) const {
  static thread_local trace::EventBatch batch;  // reuses its memory
  const trace::EventChunk& described = reader_.event_chunks()[chunk];
  DecodedChunk decoded;
  if (chunks_[chunk].track == kNoTrack) return decoded;
  unsigned parts = 0;
  if (described.range_count > 0)
    parts |= trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kRangeValues;
  if (described.point_count > 0) parts |= trace::kPoints | trace::kPointValues;
  if (parts == 0) return decoded;
  reader_.read(described, batch, parts);
  const Decoding decoding{tracks_[chunks_[chunk].track], batch, chunk, sketch_level, decoded};
  add_ranges(decoding);
  add_points(decoding);
  return decoded;
}

Sketch Source::sketch(uint32_t chunk) const {
  // The level depends on the ends of the ranges, which are known only after decoding. A level that is too low only
  // makes texts that are not needed.
  unsigned guess = 0;
  const ChunkTimes& times = chunks_[chunk];
  const trace::EventChunk& described = reader_.event_chunks()[chunk];
  const uint64_t events = std::max<uint64_t>(1, uint64_t{described.range_count} + described.point_count);
  const uint64_t mean = (static_cast<uint64_t>(times.last) - static_cast<uint64_t>(times.first)) / events;
  while (mean >> guess > 1) ++guess;
  DecodedChunk decoded = decode(chunk, events > 4 * kSketchBins ? guess : 0);
  int64_t first = std::numeric_limits<int64_t>::max(), last = 0;
  const auto include = [&](int64_t time) {
    first = std::min(first, time);
    last = std::max(last, time);
  };
  for (const Item& item : decoded.ranges) include(item.end);
  for (const InstantBin& instant : decoded.instants) include(instant.time);
  for (const CounterBin& value : decoded.counters) include(value.time);
  return make_sketch(std::move(decoded), serve::sketch_level(first, last));
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
