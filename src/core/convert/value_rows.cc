#include "convert/value_rows.h"

namespace kymo::convert {

void ValueRows::load(const trace::Values& values, std::span<const uint32_t> class_ids, Classes& classes) {
  trace::ValueCursor cursor(values);
  bool lost = false;
  values_.clear();
  begin_.clear();
  begin_.reserve(class_ids.size() + 1);
  for (const uint32_t class_id : class_ids) {
    begin_.push_back(static_cast<uint32_t>(values_.size()));
    const ClassInfo& info = classes.find(class_id);
    lost |= !info.is_known;
    if (lost || info.keys.empty()) continue;
    const auto& row = cursor.next(&info.event_class);
    lost = cursor.is_short();  // otherwise a few bytes could stand for any number of values
    if (lost) continue;
    values_.insert(values_.end(), row.begin(), row.end());
  }
  begin_.push_back(static_cast<uint32_t>(values_.size()));
}

}  // namespace kymo::convert
