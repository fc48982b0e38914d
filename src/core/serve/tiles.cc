#include "serve/tiles.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <thread>
#include <tuple>

#include "kymo/error.h"

namespace kymo::serve {

TileSpan TileSpan::of(unsigned level, uint64_t tile) {
  const int64_t from = static_cast<int64_t>(tile << (level + kBinsLog2));
  return {level, from, from + (int64_t{1} << (level + kBinsLog2))};
}

void TileRows::add(const Item& item) {
  if (is_single(item, span_.level)) {
    items_.push_back(item);
  } else {
    if (!runs_) runs_.emplace(items_);
    runs_->add(row_of(item), item, bin_of(item.start, span_.level));
  }
  if (items_.size() >= kCompactAt) compact_items();
}

void TileRows::compact_items() {
  runs_.reset();
  const auto order = [](const Item& item) { return std::tuple(item.lane, item.depth, item.start, item.index); };
  std::sort(items_.begin(), items_.end(), [&](const Item& a, const Item& b) { return order(a) < order(b); });
  // The last run of the row, since a single range may be between two parts of one bin.
  size_t kept = 0, run = SIZE_MAX;
  for (const Item& item : items_) {
    if (!is_single(item, span_.level)) {
      if (run != SIZE_MAX && items_[run].same_row(item) &&
          bin_of(items_[run].start, span_.level) == bin_of(item.start, span_.level)) {
        items_[run].merge(item);
        continue;
      }
      run = kept;
    }
    items_[kept++] = item;
  }
  items_.resize(kept);
  if (kept > kMaxItems) {
    items_.resize(kMaxItems);
    truncated_ = true;
  }
}

void TileRows::add(const InstantBin& instant) {
  if (!instants_.empty() && instants_.back().kind == instant.kind && is_same_bin(instants_.back(), instant))
    return instants_.back().merge(instant);
  instants_.push_back(instant);
  if (instants_.size() >= kCompactAt) compact_instants();
}

void TileRows::compact_instants() {
  const auto order = [&](const InstantBin& bin) {
    return std::tuple(bin_of(bin.time, span_.level), bin.kind, bin.time, bin.index);
  };
  std::sort(instants_.begin(), instants_.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  merge_neighbours(instants_, [&](const auto& a, const auto& b) { return a.kind == b.kind && is_same_bin(a, b); });
  if (instants_.size() > kMaxItems) {
    instants_.resize(kMaxItems);
    truncated_ = true;
  }
}

void TileRows::add(const CounterBin& value) {
  if (!counters_.empty() && is_same_bin(counters_.back(), value)) return counters_.back().merge(value);
  counters_.push_back(value);
}

void TileRows::finish() {
  compact_items();
  compact_instants();
  std::stable_sort(counters_.begin(), counters_.end(), [&](const auto& a, const auto& b) {
    return bin_of(a.time, span_.level) < bin_of(b.time, span_.level);
  });
  merge_neighbours(counters_, [&](const auto& a, const auto& b) { return is_same_bin(a, b); });
  if (before_) counters_.insert(counters_.begin(), *before_);
}

namespace {

using Clock = std::chrono::steady_clock;

// A chunk that one of the tiles needs, and what is known about it so far.
struct Part {
  uint32_t file = 0, chunk = 0;
  std::shared_ptr<const Sketch> sketch;
  bool done = false;  // the sketch is exact for the request
};

class Builder {
 public:
  Builder(View& view, const TileRequest& request)
      : view_(view),
        request_(request),
        whole_{request.level, TileSpan::of(request.level, request.from).from,
               TileSpan::of(request.level, request.to).to},
        began_(Clock::now()),
        deadline_(began_ + view.limits().budget) {}

  std::vector<Tile> run();

 private:
  struct Track {
    uint32_t id = 0;
    std::optional<TrackRef> ref;
    std::optional<Counter> counter;
    std::shared_ptr<const DerivedTrack> derived;
    std::vector<size_t> parts;
  };

  void collect(Track& track);
  void add_part(Track& track, uint32_t file, uint32_t chunk);
  bool is_exact(const Sketch& sketch) const;
  void read_part(Part& part);
  void read_parts();
  bool is_hopeless(size_t done, size_t all) const;
  Tile make(const Track& track, uint64_t number);
  void add(const Part& part, const Track& track, TileRows& rows, uint32_t& flags);
  void add_items(const Sketch& sketch, TileRows& rows);
  void add_summary(const Part& part, TileRows& rows, uint32_t& flags);
  static void add_derived(const DerivedTrack& track, TileRows& rows);
  void add_previous_value(const Track& track, const TileSpan& span, TileRows& rows);

  View& view_;
  const TileRequest& request_;
  const TileSpan whole_;
  const Clock::time_point began_, deadline_;
  std::vector<Part> parts_;
};

std::vector<Tile> Builder::run() {
  std::vector<Track> tracks;
  for (const uint32_t id : request_.tracks) {
    Track& track = tracks.emplace_back();
    track.id = id;
    collect(track);
  }
  read_parts();
  std::vector<Tile> tiles;
  for (const Track& track : tracks)
    for (uint64_t number = request_.from; number <= request_.to; ++number) tiles.push_back(make(track, number));
  return tiles;
}

void Builder::collect(Track& track) {
  track.ref = view_.find_track(track.id);
  if (!track.ref) return;
  const Source& source = *view_.sources()[track.ref->file];
  if (track.ref->kind == TrackRef::Kind::Derived) {
    track.derived = view_.derived(track.ref->position);
    return;
  }
  if (track.ref->kind == TrackRef::Kind::Counter) track.counter = view_.counter(track.ref->position);
  const std::vector<uint32_t>& chunks =
      track.counter ? track.counter->chunks : source.tracks()[track.ref->position].chunks;
  for (const uint32_t chunk : chunks) {
    const Source::ChunkTimes& times = source.chunks()[chunk];
    if (times.first < whole_.to && times.last >= whole_.from) add_part(track, track.ref->file, chunk);
  }
}

void Builder::add_part(Track& track, uint32_t file, uint32_t chunk) {
  track.parts.push_back(parts_.size());
  Part& part = parts_.emplace_back();
  part.file = file;
  part.chunk = chunk;
  part.sketch = view_.cached_sketch(file, chunk);
  if (part.sketch != nullptr) part.done = is_exact(*part.sketch);
}

bool Builder::is_exact(const Sketch& sketch) const {
  return sketch.damaged || sketch.is_exact(request_.level, whole_.from, whole_.to);
}

void Builder::read_part(Part& part) {
  if (part.sketch == nullptr) part.sketch = view_.sketch(part.file, part.chunk);
  // A sketch of only this part of the chunk: a request does not hold whole chunks, of which it may need many.
  if (!is_exact(*part.sketch))
    part.sketch = std::make_shared<Sketch>(
        make_sketch(*view_.decoded(part.file, part.chunk), request_.level, whole_.from, whole_.to));
  part.done = true;
}

// After a part of the budget: it is by far too short, as for the first picture of a large file. The picture should come
// at once then; the thread of the view reads the rest.
bool Builder::is_hopeless(size_t done, size_t all) const {
  constexpr size_t kTrial = 8, kFar = 4;
  const auto passed = Clock::now() - began_, budget = deadline_ - began_;
  return passed > budget / kTrial && (all - done) / kFar > (done + 1) * static_cast<size_t>(budget / passed);
}

void Builder::read_parts() {
  std::vector<Part*> todo;
  for (Part& part : parts_)
    if (!part.done) todo.push_back(&part);
  if (todo.empty()) return;
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < todo.size() && Clock::now() < deadline_; i = next++) {
      if (is_hopeless(i, todo.size())) return;
      read_part(*todo[i]);
    }
  };
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> helpers;
  constexpr size_t kMaxHelpers = 7, kWorthAThread = 4;
  for (size_t i = 1; i < std::min({cores, kMaxHelpers + 1, todo.size() / kWorthAThread + 1}); ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

Tile Builder::make(const Track& track, uint64_t number) {
  Tile tile;
  tile.track = track.id;
  tile.number = number;
  const TileSpan span = TileSpan::of(request_.level, number);
  TileRows rows(span);
  for (const size_t position : track.parts) {
    const Part& part = parts_[position];
    const Source::ChunkTimes& times = view_.sources()[part.file]->chunks()[part.chunk];
    if (times.first < span.to && times.last >= span.from) add(part, track, rows, tile.flags);
  }
  if (track.derived != nullptr) add_derived(*track.derived, rows);
  if (track.ref && track.ref->kind == TrackRef::Kind::Track) {
    for (const Item& item : view_.unfinished(track.ref->file, track.ref->position))
      if (rows.takes(item)) rows.add(item);
  }
  if (track.counter) add_previous_value(track, span, rows);
  rows.finish();
  if (rows.is_truncated()) tile.flags |= Tile::kTruncated;
  tile.items = rows.items();
  tile.instants = rows.instants();
  tile.counters = rows.counters();
  return tile;
}

void Builder::add_derived(const DerivedTrack& track, TileRows& rows) {
  for (const Item& item : track.items)
    if (rows.takes(item)) rows.add(item);
  const auto first = std::partition_point(track.values.begin(), track.values.end(),
                                          [&](const CounterBin& value) { return value.time < rows.span().from; });
  if (first != track.values.begin()) {
    CounterBin before = *std::prev(first);
    before.time = std::min(before.last_time, rows.span().from);
    before.min = before.max = before.last;
    rows.add_before(before);
  }
  for (auto value = first; value != track.values.end() && value->time < rows.span().to; ++value) rows.add(*value);
}

void Builder::add_items(const Sketch& sketch, TileRows& rows) {
  for (const Item& item : sketch.items) {
    if (!rows.takes(item)) continue;
    if (item.text != kNoText && is_single(item, request_.level)) {
      Item named = item;
      named.name = view_.names().of_text(sketch.texts[item.text], item.name);
      rows.add(named);
    } else {
      rows.add(item);
    }
  }
}

void Builder::add(const Part& part, const Track& track, TileRows& rows, uint32_t& flags) {
  if (!part.done) flags |= Tile::kPreliminary;
  if (part.sketch == nullptr) {
    if (!track.counter) add_summary(part, rows, flags);
    return;
  }
  if (part.sketch->damaged) flags |= Tile::kDamaged;
  const auto is_inside = [&](int64_t time) { return time >= rows.span().from && time < rows.span().to; };
  if (track.counter) {
    for (const CounterBin& value : part.sketch->counters)
      if (track.counter->has(value) && is_inside(value.time)) rows.add(value);
    return;
  }
  add_items(*part.sketch, rows);
  for (const InstantBin& instant : part.sketch->instants)
    if (is_inside(instant.time)) rows.add(instant);
}

// Without a sketch: the summary of the chunk, or, if there is no time for that either, only its header.
void Builder::add_summary(const Part& part, TileRows& rows, uint32_t& flags) {
  const Source& source = *view_.sources()[part.file];
  constexpr auto kForHeads = std::chrono::milliseconds(100);
  if (Clock::now() < deadline_ + kForHeads) {
    try {
      for (const Item& item : source.summary(part.chunk))
        if (rows.takes(item)) rows.add(item);
    } catch (const Error&) {
      flags |= Tile::kDamaged;
    }
    return;
  }
  const trace::EventChunk& chunk = source.reader().event_chunks()[part.chunk];
  if (chunk.range_count == 0) return;
  Item item;
  item.start = source.chunks()[part.chunk].first;
  item.end = source.chunks()[part.chunk].last;
  item.total = item.end - item.start;
  item.longest = chunk.range_count == 1 ? item.total : 0;
  item.count = chunk.range_count;
  item.name = NameTable::kNone;
  if (rows.takes(item)) rows.add(item);
}

// What the counter was at the start of the tile.
void Builder::add_previous_value(const Track& track, const TileSpan& span, TileRows& rows) {
  const Source& source = *view_.sources()[track.ref->file];
  std::optional<CounterBin> best;
  std::optional<uint32_t> before;  // the chunk that ends last before the tile
  const auto look = [&](const std::vector<CounterBin>& values) {
    for (const CounterBin& value : values)
      if (track.counter->has(value) && value.last_time < span.from && (!best || value.last_time >= best->last_time))
        best = value;
  };
  for (const uint32_t chunk : track.counter->chunks) {
    const Source::ChunkTimes& times = source.chunks()[chunk];
    if (times.last < span.from && (!before || source.chunks()[*before].last <= times.last)) before = chunk;
  }
  if (before) look(view_.sketch(track.ref->file, *before)->counters);
  // A chunk that begins before the tile may have a later value.
  for (const size_t position : track.parts) {
    const Part& part = parts_[position];
    if (source.chunks()[part.chunk].first >= span.from) continue;
    if (const auto sketch = view_.cached_sketch(part.file, part.chunk);
        sketch && sketch->is_exact(request_.level, 0, span.from))
      look(sketch->counters);
    else
      look(view_.decoded(part.file, part.chunk)->counters);
  }
  if (!best) return;
  best->time = best->last_time;
  best->min = best->max = best->last;
  best->count = 1;
  rows.add_before(*best);
}

}  // namespace

std::vector<Tile> make_tiles(View& view, const TileRequest& request) {
  const View::Busy busy(view);
  const View::Lock lock = view.lock();
  return Builder(view, request).run();
}

// ---- The binary form: docs/view.md
// -----------------------------------------------------------------------------------

namespace {

static_assert(std::endian::native == std::endian::little, "the answer has the bytes of the arrays as they are");

class Bytes {
 public:
  template <typename T>
  void put(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  // One array: a member of each element.
  template <typename T, typename Elements, typename Member>
  void column(const Elements& elements, Member&& member) {
    const size_t at = out_.size();
    out_.resize(at + elements.size() * sizeof(T));
    char* into = out_.data() + at;
    for (const auto& element : elements) {
      const T value = static_cast<T>(member(element));
      std::memcpy(into, &value, sizeof value);
      into += sizeof value;
    }
  }
  void align() { out_.resize((out_.size() + 7) / 8 * 8); }
  void text(std::string_view text) { out_.append(text); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

float busy_share(const Item& item) {
  if (item.count == 1 || item.end <= item.start) return 1;
  const double share = static_cast<double>(item.total) / static_cast<double>(item.end - item.start);
  return static_cast<float>(std::min(share, 1.0));
}

void put_tile(Bytes& out, const Tile& tile) {
  out.put(tile.track);
  out.put(static_cast<uint32_t>(tile.items.size()));
  out.put(static_cast<uint32_t>(tile.instants.size()));
  out.put(static_cast<uint32_t>(tile.counters.size()));
  out.put(static_cast<double>(tile.number));
  out.put(tile.flags);
  out.put(uint32_t{0});
  out.column<double>(tile.items, [](const Item& item) { return item.start; });
  out.column<double>(tile.items, [](const Item& item) { return item.end; });
  out.column<uint32_t>(tile.items, [](const Item& item) { return item.name; });
  out.column<uint32_t>(tile.items, [](const Item& item) { return item.count; });
  out.column<float>(tile.items, busy_share);
  out.column<uint32_t>(tile.items, [](const Item& item) { return item.chunk; });
  out.column<uint32_t>(tile.items, [](const Item& item) { return item.index; });
  out.column<uint16_t>(tile.items, [](const Item& item) { return item.depth; });
  out.column<uint16_t>(tile.items, [](const Item& item) { return item.lane; });
  out.align();
  out.column<double>(tile.instants, [](const InstantBin& bin) { return bin.time; });
  out.column<uint32_t>(tile.instants, [](const InstantBin& bin) { return bin.name; });
  out.column<uint32_t>(tile.instants, [](const InstantBin& bin) { return bin.count; });
  out.column<uint32_t>(tile.instants, [](const InstantBin& bin) { return bin.kind; });
  out.column<uint32_t>(tile.instants, [](const InstantBin& bin) { return bin.chunk; });
  out.column<uint32_t>(tile.instants, [](const InstantBin& bin) { return bin.index; });
  out.align();
  out.column<double>(tile.counters, [](const CounterBin& bin) { return bin.time; });
  out.column<double>(tile.counters, [](const CounterBin& bin) { return bin.min; });
  out.column<double>(tile.counters, [](const CounterBin& bin) { return bin.max; });
  out.column<double>(tile.counters, [](const CounterBin& bin) { return bin.last; });
}

}  // namespace

std::string encode_tiles(const std::vector<Tile>& tiles, uint32_t names_version) {
  Bytes out;
  out.text("KYT1");
  out.put(static_cast<uint32_t>(tiles.size()));
  out.put(names_version);
  out.put(uint32_t{0});
  for (const Tile& tile : tiles) put_tile(out, tile);
  return out.take();
}

}  // namespace kymo::serve
