#include "analyze/views/range_names.h"

namespace kymo::views {

uint32_t RangeNames::number(uint32_t class_id, const std::vector<trace::ValueCursor::Value>& row) {
  const convert::ClassInfo& info = classes_.find(class_id);
  const bool has_text = class_id == trace::kInlineName || (full_text_ && info.is_known && info.has_places);
  if (!has_text) return class_id & ~kText;
  std::string text = trace::full_name(&info.event_class, row);
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  if (texts_.size() >= kMaxTexts) text = "(other names)";
  const auto [entry, is_new] = numbers_.try_emplace(text, kText | static_cast<uint32_t>(texts_.size()));
  if (is_new) texts_.push_back(text);
  return entry->second;
}

uint32_t RangeNames::number(const trace::OpenRange& range) {
  const trace::Values values{range.ints, range.doubles, range.text};
  return number(range.class_id, trace::ValueCursor(values).next(&event_class(range.class_id)));
}

std::string RangeNames::name(uint32_t number) {
  if ((number & kText) != 0) {
    const uint32_t index = number & ~kText;
    if (index >= texts_.size()) return "(unknown class)";
    return texts_[index].empty() ? "(no name)" : texts_[index];
  }
  if (number == trace::kInlineName) return "(no name)";
  const convert::ClassInfo& info = classes_.find(number);
  if (!info.is_known) return "(unknown class)";
  return info.event_class.name.empty() ? "(no name)" : trace::shown_name(info.event_class);
}

}  // namespace kymo::views
