#include "convert/async_ranges.h"

#include <algorithm>
#include <utility>

namespace kymo::convert {

namespace {
constexpr size_t kMaxWaiting = 1'000'000;
}

AsyncRanges::Begin::Begin(const Point& point)
    : place(point.place),
      event_class(point.event_class),
      start_ns(point.time_ns),
      name(point.name),
      values(point.values.begin(), point.values.end()) {
  texts.reserve(values.size());  // never grows: the views below stay good
  for (Value& value : values) {
    if (value.type == trace::FieldType::String) value.text = texts.emplace_back(value.text);
  }
}

void AsyncRanges::begin(uint32_t writer, const Point& point) {
  const Handle handle{writer, point.id};
  auto begin = std::make_unique<Begin>(point);
  if (const auto end = ends_.find(handle); end != ends_.end()) {
    hand_out(handle.id, *begin, end->second.end_ns, end->second.place);
    ends_.erase(end);
    return;
  }
  const bool no_room = begins_.size() >= kMaxWaiting;
  if (no_room || begins_.contains(handle)) {
    hand_out(handle.id, *begin, point.time_ns, nullptr);
    return;
  }
  begins_.emplace(handle, std::move(begin));
}

void AsyncRanges::end(uint32_t writer, const Point& point) {
  const Handle handle{writer, point.id};
  if (const auto begin = begins_.find(handle); begin != begins_.end()) {
    hand_out(handle.id, *begin->second, point.time_ns, point.place);
    begins_.erase(begin);
  } else if (ends_.size() >= kMaxWaiting || !ends_.try_emplace(handle, End{point.place, point.time_ns}).second) {
    ++unmatched_ends_;
  }
}

// Without an `end_place` it is unfinished.
void AsyncRanges::hand_out(uint64_t id, const Begin& begin, int64_t end_ns, const Place* end_place) {
  AsyncRange range;
  range.place = begin.place;
  range.event_class = begin.event_class;
  range.name = begin.name;
  range.values = begin.values;
  range.start_ns = begin.start_ns;
  range.end_ns = std::max(begin.start_ns, end_ns);
  range.id = id;
  range.end_place = end_place != nullptr ? end_place : begin.place;
  range.finished = end_place != nullptr;
  visitor_.async_range(range);
}

}  // namespace kymo::convert
