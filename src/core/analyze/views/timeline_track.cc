#include "analyze/views/timeline_track.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kymo::views {
namespace {

constexpr size_t kMaxNamesInColumn = 1024;  // a forged trace may have a name for each range

double length_of(const TimelineOptions& options) {
  return static_cast<double>(std::max(options.from_ns, options.to_ns) - options.from_ns);
}

// A little less than this time.
uint64_t ticks_in(const trace::ClockMap& clock, double ns) {
  constexpr uint64_t kManyTicks = uint64_t{1} << 40;
  const double ns_per_tick = clock.to_ns(kManyTicks) / static_cast<double>(kManyTicks);
  return ns_per_tick > 0 ? static_cast<uint64_t>(std::min(0.99 * ns / ns_per_tick, 0x1p62)) : 0;
}

}  // namespace

TimelineTrack::TimelineTrack(const convert::Place& place, trace::ClockMap clock, RangeNames& names,
                             const convert::TraceTimes& times, const TimelineOptions& options)
    : place_(place),
      clock_(std::move(clock)),
      names_(names),
      times_(times),
      options_(options),
      column_ns_(std::max(1.0, length_of(options)) / static_cast<double>(options.columns)),
      shortest_block_(ticks_in(clock_, column_ns_ * static_cast<double>(options.block_columns - 2))),
      busy_ns_(options.columns),
      named_ns_(options.columns) {}

double TimelineTrack::time_of(uint64_t ticks) const {
  const int64_t offset = times_.offset_ns(place_.writer->id, clock_.to_monotonic_ns(ticks));
  return static_cast<double>(offset) - static_cast<double>(options_.from_ns);
}

size_t TimelineTrack::column_of(double ns) const {
  const double column = std::clamp(ns / column_ns_, 0.0, static_cast<double>(options_.columns - 1));
  return static_cast<size_t>(column);
}

bool TimelineTrack::covers_a_block(uint64_t end, uint64_t duration) const {
  return column_of(time_of(end)) - column_of(time_of(end - std::min(end, duration))) + 1 >= options_.block_columns;
}

// Calls visit(column, nanoseconds of the interval in it).
template <typename Visit>
void TimelineTrack::for_each_column(const Interval& interval, Visit&& visit) const {
  const double begin = std::max(0.0, interval.begin);
  const double end = std::min(interval.end, column_ns_ * static_cast<double>(options_.columns));
  if (end < begin) return;
  for (size_t column = column_of(begin), last = column_of(end); column <= last; ++column) {
    const double from = std::max(begin, static_cast<double>(column) * column_ns_);
    const double to = std::min(end, static_cast<double>(column + 1) * column_ns_);
    if (to > from) visit(column, to - from);
  }
}

void TimelineTrack::add(const trace::EventBatch& batch) {
  const trace::Ranges& ranges = batch.ranges;
  const bool has_values = !ranges.values.ints.empty() || !ranges.values.doubles.empty();
  trace::ValueCursor cursor(ranges.values);
  intervals_.clear();
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint32_t class_id = ranges.class_id[i];
    const std::vector<trace::ValueCursor::Value>* row = nullptr;
    if (has_values) row = &cursor.next(&names_.event_class(class_id));
    if (ranges.depth[i] != options_.depth) continue;
    const uint64_t end = ranges.end[i], start = end - std::min(end, ranges.duration[i]);
    const Interval& interval = intervals_.emplace_back(Interval{time_of(start), time_of(end)});
    add_name(interval, row == nullptr ? class_id : names_.number(class_id, *row));
    if (!is_wide(end, ranges.duration[i])) continue;
    add_block(interval, row == nullptr ? names_.name(class_id) : trace::full_name(&names_.event_class(class_id), *row),
              false);
  }
  // Ranges on several lanes overlap.
  if (!ranges.lane.empty())
    std::sort(intervals_.begin(), intervals_.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  double covered = intervals_.empty() ? 0 : intervals_.front().begin;
  for (const Interval& interval : intervals_) {
    add_busy({std::max(covered, interval.begin), interval.end});
    covered = std::max(covered, interval.end);
  }
}

void TimelineTrack::add(const trace::DepthSummary& summary) {
  if (summary.depth != options_.depth) return;
  busy_ns_[column_of(time_of(summary.first))] += clock_.to_ns(summary.total);
}

void TimelineTrack::add_unfinished(const trace::OpenRange& range, int64_t end_monotonic_ns) {
  const int64_t end = times_.offset_ns(place_.writer->id, end_monotonic_ns);
  const Interval interval{time_of(range.start), static_cast<double>(end) - static_cast<double>(options_.from_ns)};
  add_busy(interval);
  add_name(interval, names_.number(range));
  if (column_of(interval.end) - std::min(column_of(interval.end), column_of(interval.begin)) + 1 <
      options_.block_columns)
    return;
  const trace::Values values{range.ints, range.doubles, range.text};
  const trace::EventClass& event_class = names_.event_class(range.class_id);
  add_block(interval, trace::full_name(&event_class, trace::ValueCursor(values).next(&event_class)), true);
}

void TimelineTrack::add_busy(const Interval& interval) {
  for_each_column(interval, [this](size_t column, double ns) { busy_ns_[column] += ns; });
}

void TimelineTrack::add_name(const Interval& interval, uint32_t number) {
  for_each_column(interval, [&](size_t column, double ns) { recent_.sum(column, number, named_ns_[column]) += ns; });
}

// Elements of a map stay where they are.
double& TimelineTrack::RecentNames::sum(size_t column, uint32_t number, std::map<uint32_t, double>& names) {
  Slot& slot = slots_[number % slots_.size()];
  if (slot.column != column || slot.number != number) {
    const bool has_room = names.size() < kMaxNamesInColumn || names.contains(number);
    slot = {column, number, has_room ? &names[number] : &beyond_};
  }
  return *slot.sum;
}

// The first of two blocks that share a column keeps it. Only the larger of two overlapping blocks stays.
void TimelineTrack::add_block(const Interval& interval, const std::string& name, bool unfinished) {
  TimelineBlock block{column_of(interval.begin), column_of(interval.end), name, unfinished};
  const auto after = blocks_.lower_bound(block.first);
  if (after != blocks_.end()) {
    if (after->second.first == block.first) return;
    block.last = std::min(block.last, after->second.first - 1);
  }
  if (after != blocks_.begin()) block.first = std::max(block.first, std::prev(after)->second.last + 1);
  if (block.last + 1 < block.first + options_.block_columns) return;
  blocks_.emplace(block.first, std::move(block));
}

TimelineRow TimelineTrack::row() const {
  TimelineRow row;
  row.process = convert::group_label(*place_.group);
  row.track = place_.name;
  row.on_device = place_.track->kind == trace::TrackKind::DeviceQueue;
  for (size_t column = 0; column < options_.columns; ++column) {
    const double share = std::min(1.0, busy_ns_[column] / column_ns_);
    row.columns.push_back(share);
    row.busy += share / static_cast<double>(options_.columns);
    const auto& names = named_ns_[column];
    const auto most =
        std::max_element(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    row.names.push_back(most == names.end() ? "" : names_.name(most->first));
  }
  for (const auto& [first, block] : blocks_) row.blocks.push_back(block);
  return row;
}

}  // namespace kymo::views
