#include "collect/clip_batch.h"

#include <algorithm>

#include "trace/reader.h"

namespace kymo::collect {
namespace {

using trace::EventBatch;
using trace::OpenRange;

// The first tick of [low, high] for which `past` holds, and high + 1 where there is none.
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

const trace::EventClass* class_named(const std::map<uint32_t, trace::EventClass>& classes, uint32_t id) {
  const auto found = classes.find(id);
  return found != classes.end() ? &found->second : nullptr;
}

void append_row(trace::Values& into, const std::vector<trace::ValueCursor::Value>& row) {
  for (const auto& value : row) {
    if (value.type == trace::FieldType::Double) {
      into.doubles.push_back(value.real);
    } else if (value.type == trace::FieldType::String) {
      into.ints.push_back(value.text.size());
      into.text += value.text;
    } else {
      into.ints.push_back(value.bits);
    }
  }
}

// How deep in the stack an open range stands is its place in the list; all of them are on the first lane.
void end_open_ranges(EventBatch& batch, uint64_t at) {
  trace::Ranges& ranges = batch.ranges;
  const bool lanes = !ranges.lane.empty(), correlations = !ranges.correlation.empty();
  for (size_t i = batch.closing.size(); i-- > 0;) {
    const OpenRange& open = batch.closing[i];
    if (!correlations && open.correlation != 0) ranges.correlation.resize(ranges.size(), 0);
    ranges.end.push_back(at);
    ranges.duration.push_back(at - open.start);
    ranges.class_id.push_back(open.class_id);
    ranges.depth.push_back(static_cast<uint16_t>(std::min<size_t>(i, UINT16_MAX)));
    if (lanes) ranges.lane.push_back(0);
    if (!ranges.correlation.empty() || open.correlation != 0) ranges.correlation.push_back(open.correlation);
    ranges.values.ints.insert(ranges.values.ints.end(), open.ints.begin(), open.ints.end());
    ranges.values.doubles.insert(ranges.values.doubles.end(), open.doubles.begin(), open.doubles.end());
    ranges.values.text += open.text;
  }
  batch.closing.clear();
}

void clip_open(std::vector<OpenRange>& open, const TickSpan& span) {
  std::erase_if(open, [&](const OpenRange& range) { return range.start >= span.end; });
  for (OpenRange& range : open) range.start = std::max(range.start, span.begin);
}

uint64_t clip_ranges(trace::Ranges& ranges, const TickSpan& span,
                     const std::map<uint32_t, trace::EventClass>& classes) {
  trace::Ranges kept;
  trace::ValueCursor cursor(ranges.values);
  uint64_t cut = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto& row = cursor.next(class_named(classes, ranges.class_id[i]));
    const uint64_t end = ranges.end[i], start = end - std::min(end, ranges.duration[i]);
    if (start >= span.end || end < span.begin || (end == span.begin && start < end)) continue;
    const uint64_t new_start = std::max(start, span.begin), new_end = std::min(end, span.last());
    if (new_start != start || new_end != end) ++cut;
    kept.end.push_back(new_end);
    kept.duration.push_back(new_end - new_start);
    kept.class_id.push_back(ranges.class_id[i]);
    kept.depth.push_back(ranges.depth[i]);
    if (!ranges.lane.empty()) kept.lane.push_back(ranges.lane[i]);
    if (!ranges.correlation.empty()) kept.correlation.push_back(ranges.correlation[i]);
    append_row(kept.values, row);
  }
  ranges = std::move(kept);
  return cut;
}

void clip_points(trace::Points& points, const BatchClip& clip, const std::map<uint32_t, trace::EventClass>& classes) {
  trace::Points kept;
  trace::ValueCursor cursor(points.values);
  for (size_t i = 0; i < points.size(); ++i) {
    const auto& row = cursor.next(class_named(classes, points.class_id[i]));
    uint64_t time = points.time[i];
    if (!clip.span.holds(time)) {
      const bool before = time < clip.span.begin;
      if (clip.outside(points.kind[i], points.class_id[i], points.id[i], before) == Outside::Drop) continue;
      time = before ? clip.span.begin : clip.span.last();
    }
    kept.time.push_back(time);
    kept.kind.push_back(points.kind[i]);
    kept.class_id.push_back(points.class_id[i]);
    kept.id.push_back(points.id[i]);
    append_row(kept.values, row);
  }
  points = std::move(kept);
}

}  // namespace

TickSpan ticks_of_span(const trace::ClockMap& clock, int64_t from_ns, int64_t to_ns, uint64_t lowest,
                       uint64_t highest) {
  // An edge may lie beyond the last event: as many ticks as that is, and some.
  const auto beyond = static_cast<double>(std::max<int64_t>(to_ns - clock.to_monotonic_ns(highest), 0));
  const double period = clock.to_ns(1);
  const double extra = period > 0 ? beyond / period * 1.01 + 1024 : 0;
  const uint64_t room = ~uint64_t{0} - 1 - std::min(highest, ~uint64_t{0} - 1);
  if (extra < static_cast<double>(room)) highest += static_cast<uint64_t>(extra);
  highest = std::min(highest, ~uint64_t{0} - 1);
  return {first_tick(lowest, highest, [&](uint64_t tick) { return clock.to_monotonic_ns(tick) >= from_ns; }),
          first_tick(lowest, highest, [&](uint64_t tick) { return clock.to_monotonic_ns(tick) > to_ns; })};
}

std::pair<uint64_t, uint64_t> ticks_in(const EventBatch& batch) {
  uint64_t low = ~uint64_t{0}, high = 0;
  const auto include = [&](uint64_t tick) { low = std::min(low, tick), high = std::max(high, tick); };
  for (size_t i = 0; i < batch.ranges.size(); ++i) {
    include(batch.ranges.end[i]);
    include(batch.ranges.end[i] - std::min(batch.ranges.end[i], batch.ranges.duration[i]));
  }
  for (const uint64_t time : batch.points.time) include(time);
  for (const OpenRange& range : batch.opening) include(range.start);
  for (const OpenRange& range : batch.closing) include(range.start);
  return low <= high ? std::pair{low, high} : std::pair<uint64_t, uint64_t>{0, 0};
}

uint64_t clip_batch(EventBatch& batch, const BatchClip& clip, const std::map<uint32_t, trace::EventClass>& classes) {
  uint64_t cut = clip_ranges(batch.ranges, clip.span, classes);
  clip_points(batch.points, clip, classes);
  clip_open(batch.opening, clip.span);
  clip_open(batch.closing, clip.span);
  if (clip.first_of_ring) batch.opening.clear();  // what began before begins with the span
  if (clip.last_of_ring) {
    cut += batch.closing.size();
    end_open_ranges(batch, clip.span.last());
  }
  return cut;
}

}  // namespace kymo::collect
