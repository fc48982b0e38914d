#include "trace/keep_points.h"

#include <utility>

namespace kymo::trace {

void keep_points(Points& points, const std::map<uint32_t, EventClass>& classes, const KeepPoint& keep) {
  Points kept;
  ValueCursor cursor(points.values);
  for (size_t i = 0; i < points.size(); ++i) {
    const auto known = classes.find(points.class_id[i]);
    const EventClass* const event_class = known == classes.end() ? nullptr : &known->second;
    const auto& row = cursor.next(event_class);
    uint64_t time = points.time[i];
    if (!keep(i, event_class, time)) continue;
    kept.time.push_back(time);
    kept.kind.push_back(points.kind[i]);
    kept.class_id.push_back(points.class_id[i]);
    kept.id.push_back(points.id[i]);
    append_row(kept.values, row);
  }
  points = std::move(kept);
}

void append_row(Values& into, const std::vector<ValueCursor::Value>& row) {
  for (const auto& value : row) {
    if (value.type == FieldType::Double) {
      into.doubles.push_back(value.real);
    } else if (value.type == FieldType::String) {
      into.ints.push_back(value.text.size());
      into.text += value.text;
    } else {
      into.ints.push_back(value.bits);
    }
  }
}

}  // namespace kymo::trace
