#include "convert/classes.h"

#include <algorithm>

#include "base/text.h"

namespace kymo::convert {

namespace {

// Ids are assigned in order, so a table by id is nearly full. A forged id must not make the table huge.
bool belongs_in_table(uint32_t class_id, size_t class_count) { return class_id < 1024 + 4 * class_count; }

constexpr std::string_view kPlace = "{}";

size_t count_places(std::string_view name) {
  size_t places = 0;
  for (size_t at = name.find(kPlace); at != std::string_view::npos; at = name.find(kPlace, at + kPlace.size()))
    ++places;
  return places;
}

// Of an allocation. It means something only together with definitions that are not shown.
bool is_stack_number(const trace::EventClass& event_class, const trace::Field& field) {
  return event_class.category == "memory" && field.name == "node";
}

void describe_fields(ClassInfo& info) {
  const size_t places = count_places(info.event_class.name);
  size_t unnamed = 0;
  for (const trace::Field& field : info.event_class.fields) {
    if (is_stack_number(info.event_class, field)) {
      info.keys.emplace_back();
    } else if (!field.name.empty()) {
      info.keys.push_back(field.name);
    } else if (unnamed++ < places) {
      info.keys.emplace_back();
      info.has_places = true;
    } else {
      info.keys.push_back(base::format("value {}", unnamed));
    }
  }
}

}  // namespace

const ClassInfo& Classes::make(uint32_t class_id) {
  if (const auto found = sparse_.find(class_id); found != sparse_.end()) return *found->second;
  const auto known = writer_.classes.find(class_id);
  const bool is_inline = class_id == trace::kInlineName;
  const bool is_known = is_inline || known != writer_.classes.end();
  if (!is_known && unknown_ != nullptr) return *unknown_;

  ClassInfo& info = infos_.emplace_back();
  info.index = next_index_++;
  info.is_known = is_known;
  if (is_inline) {
    info.event_class = {
        .id = 0, .name = std::string(kPlace), .category = {}, .colour = 0, .fields = {{"", trace::FieldType::String}}};
  } else if (is_known) {
    info.event_class = known->second;
  } else {
    info.event_class.name = "(unknown class)";
    unknown_ = &info;
    return info;
  }
  describe_fields(info);
  if (belongs_in_table(class_id, writer_.classes.size())) {
    if (class_id >= dense_.size()) dense_.resize(class_id + size_t{1});
    dense_[class_id] = &info;
  } else {
    sparse_[class_id] = &info;
  }
  return info;
}

}  // namespace kymo::convert
