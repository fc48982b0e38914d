#include "convert/classes.h"

#include <algorithm>

#include "base/name_places.h"
#include "base/text.h"

namespace kymo::convert {

namespace {

// Ids are assigned in order, so a table by id is nearly full. A forged id must not make the table huge.
bool belongs_in_table(uint32_t class_id, size_t class_count) { return class_id < 1024 + 4 * class_count; }

// Of an allocation. It means something only together with definitions that are not shown.
bool is_stack_number(const trace::EventClass& event_class, const trace::Field& field) {
  return event_class.category == "memory" && field.name == "node";
}

void describe_fields(ClassInfo& info) {
  const std::vector<trace::Field>& fields = info.event_class.fields;
  if (fields.empty()) return;
  std::vector<bool> is_shown(fields.size());  // in the name
  base::NamePieces pieces(info.event_class.name);
  base::NamePiece piece;
  size_t next = 0, text = 0;
  while (pieces.next(piece)) {
    const auto name_of = [&](size_t i) { return std::string_view(fields[i].name); };
    const size_t argument = base::argument_of(piece, fields.size(), name_of, next);
    if (argument != base::kNoArgument) is_shown[argument] = info.has_places = true;
    text += piece.text.size();
  }
  if (text != info.event_class.name.size()) info.has_places = true;  // "{{"
  size_t unnamed = 0;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (is_stack_number(info.event_class, fields[i])) {
      info.keys.emplace_back();
      continue;
    }
    if (!fields[i].name.empty()) {
      info.keys.push_back(fields[i].name);
      continue;
    }
    ++unnamed;
    info.keys.push_back(is_shown[i] ? std::string() : base::format("value {}", unnamed));
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
    info.event_class = {.id = 0, .name = "{}", .category = {}, .colour = 0, .fields = {{"", trace::FieldType::String}}};
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
