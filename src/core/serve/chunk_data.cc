#include "serve/chunk_data.h"

namespace kymo::serve {

namespace {

size_t bytes_of(const std::vector<std::string>& texts) {
  size_t bytes = texts.capacity() * sizeof(std::string);
  for (const std::string& text : texts) bytes += text.capacity();
  return bytes;
}

template <typename T>
size_t bytes_of(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

uint64_t kind_bit(trace::PointKind kind) {
  switch (kind) {
    case trace::PointKind::Allocation:
    case trace::PointKind::Free:
      return kHasAllocations;
    case trace::PointKind::AsyncBegin:
    case trace::PointKind::AsyncEnd:
      return kHasRangesAcross;
    default:
      return 0;
  }
}

}  // namespace

void CounterBin::merge(const CounterBin& other) {
  time = std::min(time, other.time);
  count += std::min(other.count, UINT32_MAX - count);
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  if (other.last_time >= last_time) {
    last_time = other.last_time;
    last = other.last;
  }
}

void InstantBin::merge(const InstantBin& other) {
  if (other.time < time) {
    time = other.time;
    name = other.name;
    chunk = other.chunk;
    index = other.index;
  }
  count += std::min(other.count, UINT32_MAX - count);
}

Item DecodedChunk::range(size_t i) const {
  Item item = Item::single(start[i], end[i], name[i], chunk, static_cast<uint32_t>(i), depth[i]);
  item.text = text.empty() ? kNoText : text[i];
  item.lane = lane.empty() ? 0 : lane[i];
  return item;
}

size_t DecodedChunk::bytes() const {
  return sizeof *this + bytes_of(start) + bytes_of(end) + bytes_of(name) + bytes_of(depth) + bytes_of(lane) +
         bytes_of(text) + bytes_of(instants) + bytes_of(counters) + bytes_of(texts);
}

size_t Sketch::bytes() const {
  return sizeof *this + bytes_of(items) + bytes_of(instants) + bytes_of(counters) + bytes_of(texts);
}

bool Sketch::is_exact(unsigned for_level, int64_t from, int64_t to) const {
  if (for_level >= level) return true;
  const int64_t bin = int64_t{1} << level;
  const auto is_near = [&](int64_t time) { return time < to && time >= from - bin; };
  return std::none_of(items.begin(), items.end(),
                      [&](const Item& item) { return !is_single(item, level) && is_near(item.start); }) &&
         std::none_of(instants.begin(), instants.end(), [&](const auto& item) { return is_near(item.time); }) &&
         std::none_of(counters.begin(), counters.end(), [&](const auto& item) { return is_near(item.time); });
}

unsigned sketch_level(int64_t first_end, int64_t last_end) {
  const uint64_t span = last_end > first_end ? static_cast<uint64_t>(last_end) - static_cast<uint64_t>(first_end) : 0;
  unsigned level = 0;
  while (span >> level >= static_cast<uint64_t>(kSketchBins)) ++level;
  return level;
}

Sketch make_sketch(const DecodedChunk& chunk, unsigned level, int64_t from, int64_t to) {
  Sketch sketch;
  sketch.level = level;
  sketch.damaged = chunk.damaged;
  sketch.name_bits = kNamesAreKnown | chunk.name_bits;
  for (const InstantBin& instant : chunk.instants) sketch.name_bits |= name_bit(instant.name) | kind_bit(instant.kind);
  LastOfRow rows(sketch.items);
  for (size_t i = 0; i < chunk.range_count(); ++i) {
    const int64_t start = chunk.start[i];
    if (start >= to) continue;
    const int64_t length = chunk.end[i] - start;
    if (length >> level != 0) {
      if (chunk.end[i] <= from) continue;
      Item& item = sketch.items.emplace_back(chunk.range(i));
      if (item.text == kNoText) continue;
      sketch.texts.push_back(chunk.texts[item.text]);
      item.text = static_cast<uint32_t>(sketch.texts.size() - 1);
    } else if (start >= from) {
      // Most ranges of a large trace come here, so nothing is made for those that only lengthen a run.
      const uint64_t row = (chunk.lane.empty() ? 0 : uint64_t{chunk.lane[i]} << 16) | chunk.depth[i];
      const int64_t bin = bin_of(start, level);
      Item* const run = rows.find(row, bin);
      if (run != nullptr) {
        run->start = std::min(run->start, start);
        run->end = std::max(run->end, chunk.end[i]);
        run->total += length;
        ++run->count;
        if (length <= run->longest) continue;
        run->longest = length;
        run->name = chunk.name[i];
        run->index = static_cast<uint32_t>(i);
        continue;
      }
      Item item = chunk.range(i);
      item.text = kNoText;  // a run has the name of a class
      rows.add(row, item, bin);
    }
  }
  const auto is_inside = [&](int64_t time) { return time >= from && time < to; };
  LastOfRow kinds(sketch.instants);
  for (const InstantBin& instant : chunk.instants)
    if (is_inside(instant.time)) kinds.add(static_cast<uint64_t>(instant.kind), instant, bin_of(instant.time, level));
  LastOfRow counters(sketch.counters);
  for (const CounterBin& value : chunk.counters)
    if (is_inside(value.time)) counters.add(value.class_id, value, bin_of(value.time, level));
  sketch.items.shrink_to_fit();
  sketch.instants.shrink_to_fit();
  sketch.counters.shrink_to_fit();
  return sketch;
}

}  // namespace kymo::serve
