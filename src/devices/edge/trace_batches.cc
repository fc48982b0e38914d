#include "edge/trace_batches.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kymo::edge {
namespace {

constexpr size_t kEventsPerChunk = 32'768;
constexpr size_t kTextPerChunk = 8 << 20;
constexpr size_t kMaxOpen = 60'000;      // max number of open ranges in a chunk
constexpr size_t kTextOfOpen = 2 << 20;  // max size of their texts; the texts are written again when they end

uint16_t narrowed(uint64_t number) {
  return static_cast<uint16_t>(std::min<uint64_t>(number, std::numeric_limits<uint16_t>::max()));
}

}  // namespace

void TrackWriter::begin(uint32_t event) {
  end_down_to(target_.rows.places[event].depth);
  open_.push_back(event);
}

void TrackWriter::allocation(uint32_t index) {
  const EdgeAllocation& one = target_.result.allocations[index];
  const auto [kind, class_id] = one.out_of_memory
                                    ? std::pair(trace::PointKind::Instant, TraceClasses::kPoints.out_of_memory)
                                    : std::pair(one.bytes < 0 ? trace::PointKind::Free : trace::PointKind::Allocation,
                                                TraceClasses::kPoints.memory);
  end_before(one.time_ns);
  target_.classes.append_values(one, batch_.points.values);
  append_point(one.time_ns, kind, class_id, one.address);
  if (one.out_of_memory) return;
  batch_.points.values.ints.push_back(one.total_allocated);
  append_point(one.time_ns, trace::PointKind::Counter, target_.classes.memory_counter(one.device), 0);
}

void TrackWriter::stack_of(uint32_t event) {
  const EdgeEvent& one = target_.result.events[event];
  append_point(one.start_ns, trace::PointKind::Sample, TraceClasses::kPoints.stack, one.stack + uint64_t{1});
}

// Records the time until which unfinished events were open.
void TrackWriter::window_end() {
  end_before(target_.result.end_ns);
  append_point(target_.result.end_ns, trace::PointKind::Instant, TraceClasses::kPoints.window_end, 0);
}

void TrackWriter::finish() {
  size_t unfinished = 0;
  while (unfinished < open_.size() && !target_.result.events[open_[unfinished]].finished) ++unfinished;
  end_down_to(unfinished);
  if (batch_.ranges.size() + batch_.points.size() != 0 || batch_.opening.size() != open_.size()) flush();
}

void TrackWriter::lanes(std::span<const uint32_t> events, uint32_t first_lane) {
  // Events of one lane are sorted by their ends, children before parents. Then the events of all lanes are sorted by
  // their ends. That sort is stable, so it keeps the order within each lane.
  std::vector<std::vector<uint32_t>> open;
  std::vector<uint32_t> ended;
  ended.reserve(events.size());
  const auto end_lane = [&](std::vector<uint32_t>& stack, size_t depth) {
    for (; stack.size() > depth; stack.pop_back()) ended.push_back(stack.back());
  };
  for (const uint32_t event : events) {
    const RowPlace& place = target_.rows.places[event];
    const size_t lane = place.lane - first_lane;
    if (lane >= open.size()) open.resize(lane + 1);
    end_lane(open[lane], place.depth);
    open[lane].push_back(event);
  }
  for (std::vector<uint32_t>& stack : open) end_lane(stack, 0);
  std::stable_sort(ended.begin(), ended.end(), [&](uint32_t a, uint32_t b) { return end_of(a) < end_of(b); });
  for (const uint32_t event : ended) {
    const RowPlace& place = target_.rows.places[event];
    append_range(event, place.depth, narrowed(place.lane - first_lane + uint64_t{1}));
    flush_if_large();
  }
  if (batch_.ranges.size() != 0) flush();
}

void TrackWriter::end_down_to(size_t depth) {
  while (open_.size() > depth) {
    const uint32_t event = open_.back();
    open_.pop_back();
    append_range(event, static_cast<uint32_t>(open_.size()), 0);
    flush_if_large();
  }
}

// A point in time exactly at the end of a range is inside the range.
void TrackWriter::end_before(uint64_t time) {
  size_t depth = open_.size();
  while (depth != 0 && end_of(open_[depth - 1]) < time) --depth;
  end_down_to(depth);
}

uint64_t TrackWriter::end_of(uint32_t event) const {
  const EdgeEvent& one = target_.result.events[event];
  return one.start_ns + length_ns(one);
}

void TrackWriter::append_range(uint32_t event, uint32_t depth, uint16_t lane) {
  const EdgeEvent& one = target_.result.events[event];
  trace::Ranges& ranges = batch_.ranges;
  ranges.end.push_back(end_of(event));
  ranges.duration.push_back(length_ns(one));
  ranges.class_id.push_back(target_.classes.of(one));
  ranges.depth.push_back(narrowed(depth));
  if (lane != 0) ranges.lane.push_back(lane);  // ranges of lane 0 have separate batches
  if (!target_.launches.empty()) ranges.correlation.push_back(correlation_of(event));
  target_.classes.append_values(one, ranges.values);
}

void TrackWriter::append_point(uint64_t time, trace::PointKind kind, uint32_t class_id, uint64_t id) {
  batch_.points.time.push_back(time);
  batch_.points.kind.push_back(kind);
  batch_.points.class_id.push_back(class_id);
  batch_.points.id.push_back(id);
  flush_if_large();
}

// The number that links a device operation to the operation that requested it: the number of the latter.
uint64_t TrackWriter::correlation_of(uint32_t event) const {
  const EdgeEvent& one = target_.result.events[event];
  const bool on_device = event >= target_.result.first_device_event;
  const uint32_t launch = on_device ? one.caused_by : event;
  return launch < target_.launches.size() && target_.launches[launch] ? launch + uint64_t{1} : 0;
}

trace::OpenRange TrackWriter::open_range(uint32_t event, size_t& text_left) {
  const EdgeEvent& one = target_.result.events[event];
  trace::Values values;
  target_.classes.append_values(one, values);
  trace::OpenRange open;
  open.start = one.start_ns;
  open.class_id = target_.classes.of(one);
  if (!target_.launches.empty()) open.correlation = correlation_of(event);
  if (values.text.size() <= text_left) {
    text_left -= values.text.size();
    open.ints = std::move(values.ints);
    open.doubles = std::move(values.doubles);
    open.text = std::move(values.text);
  }
  return open;
}

void TrackWriter::flush_if_large() {
  const bool is_large = batch_.ranges.size() >= kEventsPerChunk || batch_.points.size() >= kEventsPerChunk ||
                        batch_.ranges.values.text.size() >= kTextPerChunk;
  if (is_large) flush();
}

void TrackWriter::flush() {
  size_t text_left = kTextOfOpen;
  batch_.closing.clear();
  for (const uint32_t event : open_)
    if (batch_.closing.size() < kMaxOpen) batch_.closing.push_back(open_range(event, text_left));
  batch_.sequence_end = batch_.sequence_begin + batch_.ranges.size() + batch_.points.size();
  if (const auto classes = target_.classes.take_new(); !classes.empty()) {
    constexpr size_t kClassesPerChunk = 512;  // names are at most 64 KiB
    const std::span<const trace::EventClass> all(classes);
    for (size_t at = 0; at < all.size(); at += kClassesPerChunk)
      target_.writer.classes(target_.id, all.subspan(at, std::min(kClassesPerChunk, all.size() - at)));
  }
  target_.writer.events(target_.id, batch_);
  batch_.opening = std::move(batch_.closing);
  batch_.sequence_begin = batch_.sequence_end;
  batch_.ranges = {};
  batch_.points = {};
}

}  // namespace kymo::edge
