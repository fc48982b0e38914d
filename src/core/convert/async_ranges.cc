#include "convert/async_ranges.h"

#include <algorithm>
#include <utility>

namespace kymo::convert {

AsyncRanges::Begin::Begin(const Point& point)
    : place(point.place),
      event_class(point.event_class),
      start_ns(point.time_ns),
      name(point.name),
      values(point.values.begin(), point.values.end()) {
  texts.reserve(values.size());  // never grows, so that the views below stay valid
  for (Value& value : values) {
    if (value.type == trace::FieldType::String) value.text = texts.emplace_back(value.text);
  }
}

void AsyncRanges::begin(uint32_t writer, const Point& point) {
  auto begin = std::make_unique<Begin>(point);
  if (!pairs_.begin({writer, point.id}, std::move(begin))) hand_out(point.id, *begin, point.time_ns, nullptr);
}

// Without an `end_place` the range is unfinished.
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
