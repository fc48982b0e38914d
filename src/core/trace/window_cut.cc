#include "trace/window_cut.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "trace/definition.h"
#include "trace/keep_points.h"
#include "trace/reader.h"

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

void cut_points(Points& points, const TickSpan& span, const HandlesOutside& handles,
                const std::map<uint32_t, EventClass>& classes) {
  keep_points(points, classes, [&](size_t i, const EventClass* event_class, uint64_t& time) {
    if (span.holds(time)) return true;
    const bool before = time < span.begin;
    if (!is_kept_outside(points.kind[i], points.id[i], event_class, before, handles)) return false;
    time = before ? span.begin : span.end;
    return true;
  });
}

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

void note_handles(const Points& points, const TickSpan& span, HandlesOutside& handles) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (points.kind[i] == PointKind::AsyncBegin && points.time[i] >= span.end)
      handles[points.id[i]].begins_after = true;
    if (points.kind[i] == PointKind::AsyncEnd && points.time[i] < span.begin) handles[points.id[i]].ends_before = true;
  }
}

void cut_open_ranges(EventBatch& batch, const ChunkCut& cut) {
  cut_open(batch.opening, cut.span);
  cut_open(batch.closing, cut.span);
  if (cut.first_of_ring) batch.opening.clear();  // ranges that began earlier begin with the window
}

void cut_batch(EventBatch& batch, const ChunkCut& cut, const HandlesOutside& handles,
               const std::map<uint32_t, EventClass>& classes) {
  cut_points(batch.points, cut.span, handles, classes);
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

}  // namespace kymo::trace
