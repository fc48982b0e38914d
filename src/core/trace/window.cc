#include "trace/window.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "kymo/error.h"
#include "trace/event_codec.h"
#include "trace/model.h"
#include "trace/reader.h"
#include "trace/values.h"

namespace kymo::trace {
namespace {

constexpr uint64_t kHighestTick = std::numeric_limits<uint64_t>::max() - 1;

// The first tick in [low, high] for which `past` is true, or high + 1 if there is none.
template <class Past>
uint64_t first_tick(uint64_t low, uint64_t high, Past past) {
  uint64_t end = high + 1;
  while (low < end) {
    const uint64_t middle = low + (end - low) / 2;
    if (past(middle))
      end = middle;
    else
      low = middle + 1;
  }
  return low;
}

// The number of ticks in this time, plus a margin.
uint64_t ticks_beyond(const ClockMap& clock, double ns) {
  const double period = clock.to_ns(1);
  const double ticks = ns > 0 && period > 0 ? ns / period * 1.01 + 1024 : 0;
  return ticks < 0x1p63 ? static_cast<uint64_t>(ticks) : uint64_t{1} << 63;
}

// Events that define the meaning of later events are kept wherever they are.
bool defines(const EventClass* event_class) { return event_class != nullptr && is_definition(*event_class); }

bool is_kept_outside(PointKind kind, uint64_t id, const EventClass* event_class, bool before,
                     const HandlesOutside& handles) {
  if (kind == PointKind::Instant) return before && defines(event_class);
  if (kind != PointKind::AsyncBegin && kind != PointKind::AsyncEnd) return false;
  const auto found = handles.find(id);
  const HandleOutside known = found != handles.end() ? found->second : HandleOutside{};
  return kind == PointKind::AsyncBegin ? before && !known.ends_before : !before && !known.begins_after;
}

const EventClass* class_named(const std::map<uint32_t, EventClass>& classes, uint32_t id) {
  const auto found = classes.find(id);
  return found != classes.end() ? &found->second : nullptr;
}

// The depth of an open range is its position in the list. All open ranges are on the first lane.
void end_open_ranges(EventBatch& batch, uint64_t at) {
  Ranges& ranges = batch.ranges;
  const bool lanes = !ranges.lane.empty();
  for (size_t i = batch.closing.size(); i-- > 0;) {
    const OpenRange& open = batch.closing[i];
    if (ranges.correlation.empty() && open.correlation != 0) ranges.correlation.resize(ranges.size(), 0);
    const bool correlations = !ranges.correlation.empty() || open.correlation != 0;
    ranges.end.push_back(at);
    ranges.duration.push_back(at - open.start);
    ranges.class_id.push_back(open.class_id);
    ranges.depth.push_back(static_cast<uint16_t>(std::min<size_t>(i, UINT16_MAX)));
    if (lanes) ranges.lane.push_back(0);
    if (correlations) ranges.correlation.push_back(open.correlation);
    ranges.values.ints.insert(ranges.values.ints.end(), open.ints.begin(), open.ints.end());
    ranges.values.doubles.insert(ranges.values.doubles.end(), open.doubles.begin(), open.doubles.end());
    ranges.values.text += open.text;
  }
  batch.closing.clear();
}

void cut_open(std::vector<OpenRange>& open, const TickSpan& span) {
  std::erase_if(open, [&](const OpenRange& range) { return range.start >= span.end; });
  for (OpenRange& range : open) range.start = std::max(range.start, span.begin);
}

void cut_ranges(Ranges& ranges, const TickSpan& span, const std::map<uint32_t, EventClass>& classes) {
  Ranges kept;
  ValueCursor cursor(ranges.values);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto& row = cursor.next(class_named(classes, ranges.class_id[i]));
    const uint64_t end = ranges.end[i], start = end - std::min(end, ranges.duration[i]);
    if (start >= span.end || end < span.begin || (end == span.begin && start < end)) continue;
    const uint64_t new_start = std::max(start, span.begin), new_end = std::min(end, span.end);
    kept.end.push_back(new_end);
    kept.duration.push_back(new_end - new_start);
    kept.class_id.push_back(ranges.class_id[i]);
    kept.depth.push_back(ranges.depth[i]);
    if (!ranges.lane.empty()) kept.lane.push_back(ranges.lane[i]);
    if (!ranges.correlation.empty()) kept.correlation.push_back(ranges.correlation[i]);
    append_row(kept.values, row);
  }
  ranges = std::move(kept);
}

// What the first value of a point states: the thread was off the processors for so long from its time on, or was on
// one for so long since the last such point.
enum class Stated : uint8_t { Nothing, OffTime, OnTime };

Stated stated_by(const EventClass* one) {
  if (one == nullptr || one->category != "cpu" || one->fields.empty() || one->fields[0].name != "ns" ||
      one->fields[0].type == FieldType::String || one->fields[0].type == FieldType::Double)
    return Stated::Nothing;
  if (one->name == "off CPU") return Stated::OffTime;
  return one->name == "on CPU" ? Stated::OnTime : Stated::Nothing;
}

bool has_stated_times(const WriterInfo& info) {
  return std::any_of(info.classes.begin(), info.classes.end(),
                     [](const auto& one) { return stated_by(&one.second) != Stated::Nothing; });
}

// Cuts the times that the points of a chunk state, in their order.
class StatedTimes {
 public:
  explicit StatedTimes(const ChunkCut& cut) : cut_(cut), since_(cut.stated_until) {}

  // False: nothing of it is inside.
  bool cut(Stated stated, uint64_t& time, uint64_t& ns) {
    return stated == Stated::OffTime ? cut_off(time, ns) : cut_on(time, ns);
  }

 private:
  bool cut_off(uint64_t& time, uint64_t& ns) {
    const uint64_t end = time + std::min(ticks_of(ns), kHighestTick - std::min(kHighestTick, time));
    const TickSpan inside{std::max(time, cut_.span.begin), std::min(end, cut_.span.end)};
    if (inside.empty()) return false;
    off_.push_back(inside);
    if (inside.begin == time && inside.end == end) return true;
    time = inside.begin;
    ns = ns_of(inside.end - inside.begin);
    return true;
  }

  // The thread was on a processor when it was not off.
  bool cut_on(uint64_t& time, uint64_t& ns) {
    const TickSpan piece{since_, time}, inside{std::max(since_, cut_.span.begin), std::min(time, cut_.span.end)};
    since_ = time;
    if (inside.empty()) return false;
    if (inside.begin == piece.begin && inside.end == piece.end) return true;
    uint64_t left = inside.end - inside.begin;
    for (const TickSpan& off : off_) {
      const uint64_t begin = std::max(off.begin, inside.begin), end = std::min(off.end, inside.end);
      if (begin < end) left -= std::min(left, end - begin);
    }
    time = inside.end;
    ns = std::min(ns, ns_of(left));
    return true;
  }

  uint64_t ticks_of(uint64_t ns) const {
    const double ticks = cut_.ns_per_tick > 0 ? static_cast<double>(ns) / cut_.ns_per_tick : 0;
    return ticks < 0x1p63 ? static_cast<uint64_t>(ticks + 0.5) : kHighestTick;
  }
  uint64_t ns_of(uint64_t ticks) const {
    const double ns = static_cast<double>(ticks) * cut_.ns_per_tick;
    return ns < 0x1p63 ? static_cast<uint64_t>(ns + 0.5) : kHighestTick;
  }

  const ChunkCut& cut_;
  uint64_t since_;
  std::vector<TickSpan> off_;
};

void cut_points(Points& points, const ChunkCut& cut, const HandlesOutside& handles,
                const std::map<uint32_t, EventClass>& classes) {
  const TickSpan& span = cut.span;
  const auto keep = [&](size_t i, const EventClass* event_class, uint64_t& time) {
    if (span.holds(time)) return true;
    const bool before = time < span.begin;
    if (!is_kept_outside(points.kind[i], points.id[i], event_class, before, handles)) return false;
    time = before ? span.begin : span.end;
    return true;
  };
  StatedTimes times(cut);
  Points kept;
  ValueCursor cursor(points.values);
  std::vector<ValueCursor::Value> row;
  for (size_t i = 0; i < points.size(); ++i) {
    const EventClass* const event_class = class_named(classes, points.class_id[i]);
    row = cursor.next(event_class);
    uint64_t time = points.time[i];
    const Stated stated = row.empty() ? Stated::Nothing : stated_by(event_class);
    if (!(stated == Stated::Nothing ? keep(i, event_class, time) : times.cut(stated, time, row[0].bits))) continue;
    kept.time.push_back(time);
    kept.kind.push_back(points.kind[i]);
    kept.class_id.push_back(points.class_id[i]);
    kept.id.push_back(points.id[i]);
    append_row(kept.values, row);
  }
  points = std::move(kept);
}

void note_handles(const Points& points, const TickSpan& span, HandlesOutside& handles) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (points.kind[i] == PointKind::AsyncBegin && points.time[i] >= span.end)
      handles[points.id[i]].begins_after = true;
    if (points.kind[i] == PointKind::AsyncEnd && points.time[i] < span.begin) handles[points.id[i]].ends_before = true;
  }
}

// Cuts only the lists of open ranges, for a chunk whose events are all inside.
void cut_open_ranges(EventBatch& batch, const ChunkCut& cut) {
  cut_open(batch.opening, cut.span);
  cut_open(batch.closing, cut.span);
  if (cut.first_of_ring) batch.opening.clear();  // ranges that began earlier begin with the window
}

// Cuts `batch`. It must be complete, except for the ranges if `cut.only_points`.
void cut_batch(EventBatch& batch, const ChunkCut& cut, const HandlesOutside& handles,
               const std::map<uint32_t, EventClass>& classes) {
  cut_points(batch.points, cut, handles, classes);
  if (cut.only_points) {
    batch.opening.clear();
    batch.closing.clear();
    batch.ranges = {};
    return;
  }
  cut_ranges(batch.ranges, cut.span, classes);
  cut_open_ranges(batch, cut);
  if (cut.ends_open_ranges) end_open_ranges(batch, cut.span.end);
}

void keep_only(EventBatch& batch, unsigned parts) {
  Ranges& ranges = batch.ranges;
  Points& points = batch.points;
  if (!(parts & kRangeTimes)) ranges.end.clear(), ranges.duration.clear();
  if (!(parts & kRangeClasses)) ranges.class_id.clear();
  if (!(parts & kRangeDepths)) ranges.depth.clear(), ranges.lane.clear();
  if (!(parts & kRangeValues)) ranges.values = {};
  if (!(parts & kRangeCorrelations)) ranges.correlation.clear();
  if (!(parts & kPoints)) points.time.clear(), points.kind.clear(), points.class_id.clear(), points.id.clear();
  if (!(parts & kPointValues)) points.values = {};
  if (!(parts & kOpenStacks)) batch.opening.clear(), batch.closing.clear();
}

// A chunk without events has no time.
bool has_time(const EventChunk& chunk) { return chunk.first != 0 || chunk.last != 0; }

}  // namespace

TickSpan ticks_of_window(const ClockMap& clock, const Window& window, uint64_t lowest, uint64_t highest) {
  constexpr uint64_t kLatest = std::numeric_limits<int64_t>::max();
  const auto from = static_cast<int64_t>(std::min(window.from_ns, kLatest));
  const auto to = static_cast<int64_t>(std::min(window.to_ns, kLatest));
  lowest = std::min(lowest, kHighestTick);
  highest = std::clamp(highest, lowest, kHighestTick);
  // An edge of the window may lie before the first event or after the last.
  const auto ns_before = static_cast<double>(clock.to_monotonic_ns(lowest)) - static_cast<double>(from);
  const auto ns_after = static_cast<double>(std::max(from, to)) - static_cast<double>(clock.to_monotonic_ns(highest));
  lowest -= std::min(lowest, ticks_beyond(clock, ns_before));
  highest += std::min(kHighestTick - highest, ticks_beyond(clock, ns_after));
  const uint64_t begin =
      first_tick(lowest, highest, [&](uint64_t tick) { return clock.to_monotonic_ns(tick) >= from; });
  if (window.to_ns == 0) return {begin, std::numeric_limits<uint64_t>::max()};
  return {begin, first_tick(lowest, highest, [&](uint64_t tick) { return clock.to_monotonic_ns(tick) >= to; })};
}

bool is_inside(const Loss& loss, const Window& window, TrackClocks& clocks) {
  if (loss.first == 0 && loss.last == 0) return true;
  const ClockMap* clock = clocks.find(loss.track);
  if (clock == nullptr) return true;
  if (std::cmp_less(clock->to_monotonic_ns(loss.last), window.from_ns)) return false;
  return window.to_ns == 0 || std::cmp_less(clock->to_monotonic_ns(loss.first), window.to_ns);
}

unsigned WindowView::Seen::parts(unsigned wanted) const {
  if (all_inside) return wanted;
  return cut.only_points ? kPoints | kPointValues : kEverything;
}

void WindowView::Seen::apply(EventBatch& batch, unsigned wanted) const {
  if (all_inside) return cut_open_ranges(batch, cut);
  cut_batch(batch, cut, *handles, *classes);
  keep_only(batch, wanted);
}

const WindowView::Seen* WindowView::find(const EventChunk& chunk) const {
  const auto found = std::lower_bound(seen_.begin(), seen_.end(), chunk.offset,
                                      [](const Seen& seen, uint64_t offset) { return seen.offset < offset; });
  return found != seen_.end() && found->offset == chunk.offset ? &*found : nullptr;
}

// Goes over the chunks of all writers in file order, three times: to find the ticks of each window, to see which
// handles begin or end outside, and to select what is inside.
class WindowView::Builder {
 public:
  Builder(WindowView& view, const std::map<WriterId, WriterInfo>& writers, const Read& read)
      : view_(view), read_(read) {
    for (const auto& [id, info] : writers)
      if (info.window)
        writers_.emplace(id, WriterState{&info, TrackClocks(info), {}, &view.handles_[id], has_stated_times(info)});
  }

  void measure(const EventChunk& chunk) {
    WriterState* writer = writer_of(chunk);
    if (writer == nullptr) return;
    const ClockMap* clock = writer->clocks.find(chunk.track);
    if (clock == nullptr || !has_time(chunk)) return;
    ClockState& state = writer->spans[clock];
    state.lowest = std::min({state.lowest, chunk.first, chunk.last});
    state.highest = std::max({state.highest, chunk.first, chunk.last});
  }

  void place_windows() {
    for (auto& [id, writer] : writers_)
      for (auto& [clock, state] : writer.spans)
        state.span = ticks_of_window(*clock, *writer.info->window, state.lowest, state.highest);
  }

  void look_outside(const EventChunk& chunk) {
    WriterState* writer = writer_of(chunk);
    const TickSpan* span = span_of_chunk(writer, chunk);
    if (span == nullptr) return;
    if (chunk.first < span->end) rings_[ring_of(chunk)].last = chunk.offset;
    if (chunk.point_count == 0 || is_inside(chunk, *span)) return;
    try {
      read_(chunk, batch_, kPoints);
      note_handles(batch_.points, *span, *writer->handles);
    } catch (const Error&) {
      // see() reports the same error.
    }
  }

  void see(const EventChunk& chunk) {
    WriterState* writer = writer_of(chunk);
    if (writer == nullptr) return view_.chunks_.push_back(chunk);
    const TickSpan* span = span_of_chunk(writer, chunk);
    if (span == nullptr) return;
    RingState& ring = rings_[ring_of(chunk)];
    const bool is_last = chunk.offset == ring.last;
    const uint64_t stated_until = std::exchange(ring.stated_until, std::max(ring.stated_until, chunk.last));
    const bool is_outside = chunk.first >= span->end || (chunk.last < span->begin && !is_last);
    if (is_outside && chunk.point_count == 0) return;
    const bool has_end = writer->info->window->to_ns != 0;
    const Seen seen{
        .offset = chunk.offset,
        .cut = {*span, ring.is_first, is_last && has_end, is_outside, stated_until,
                writer->clocks.find(chunk.track)->to_ns(1)},
        .all_inside = is_inside(chunk, *span) && !(is_last && has_end) && !(ring.is_first && writer->has_stated_times),
        .handles = writer->handles,
        .classes = &writer->info->classes};
    if (!add(chunk, seen)) return;
    if (!is_outside) ring.is_first = false;
  }

 private:
  struct ClockState {
    uint64_t lowest = ~uint64_t{0}, highest = 0;  // min and max ticks of all events
    TickSpan span;
  };
  struct WriterState {
    const WriterInfo* info;
    TrackClocks clocks;
    std::map<const ClockMap*, ClockState> spans;
    HandlesOutside* handles;
    bool has_stated_times = false;
  };
  struct RingState {
    uint64_t last = ~uint64_t{0};  // the offset of the last chunk that may hold ranges of the window
    bool is_first = true;
    uint64_t stated_until = 0;  // the last tick of the chunks so far
  };
  using RingKey = std::tuple<WriterId, uint32_t, uint32_t>;

  static RingKey ring_of(const EventChunk& chunk) { return {chunk.writer, chunk.track, chunk.ring}; }
  static bool is_inside(const EventChunk& chunk, const TickSpan& span) {
    return chunk.first >= span.begin && chunk.last < span.end;
  }

  WriterState* writer_of(const EventChunk& chunk) {
    const auto found = writers_.find(chunk.writer);
    return found != writers_.end() ? &found->second : nullptr;
  }

  // Null if the chunk has no clock, or if its clock has no tick inside the window. Nothing of such a chunk is kept.
  static const TickSpan* span_of_chunk(WriterState* writer, const EventChunk& chunk) {
    const ClockMap* clock = writer != nullptr ? writer->clocks.find(chunk.track) : nullptr;
    if (clock == nullptr) return nullptr;
    const auto found = writer->spans.find(clock);
    return found != writer->spans.end() && !found->second.span.empty() ? &found->second.span : nullptr;
  }

  // Returns false if nothing of the chunk is left.
  bool add(EventChunk chunk, const Seen& seen) {
    if (!seen.all_inside) {
      try {
        read_(chunk, batch_, seen.parts(kEverything));
      } catch (const Error& error) {
        if (seen.cut.only_points) {
          view_.problems_.push_back({chunk.offset, chunk.length, error.what()});
          return false;
        }
        view_.chunks_.push_back(chunk);
        view_.seen_.push_back(seen);
        return true;
      }
      seen.apply(batch_, kEverything);
      if (batch_.ranges.size() == 0 && batch_.points.size() == 0 && batch_.closing.empty()) return false;
      const BatchSpan span = span_of(batch_);
      chunk.first = span.first;
      chunk.last = span.last;
      chunk.range_count = static_cast<uint32_t>(batch_.ranges.size());
      chunk.point_count = static_cast<uint32_t>(batch_.points.size());
    }
    view_.chunks_.push_back(chunk);
    view_.seen_.push_back(seen);
    return true;
  }

  WindowView& view_;
  const Read& read_;
  std::map<WriterId, WriterState> writers_;  // only writers with a window
  std::map<RingKey, RingState> rings_;
  EventBatch batch_;
};

WindowView::WindowView(const std::map<WriterId, WriterInfo>& writers, const std::vector<EventChunk>& recorded,
                       const Read& read) {
  Builder builder(*this, writers, read);
  for (const EventChunk& chunk : recorded) builder.measure(chunk);
  builder.place_windows();
  for (const EventChunk& chunk : recorded) builder.look_outside(chunk);
  for (const EventChunk& chunk : recorded) builder.see(chunk);
}

}  // namespace kymo::trace
