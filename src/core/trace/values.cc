#include "trace/values.h"

#include <algorithm>
#include <utility>

#include "base/value_text.h"

namespace kymo::trace {

namespace {

const EventClass& inline_name_class() {
  static const EventClass event_class{kInlineName, "{}", "", 0, {{"", FieldType::String}}};
  return event_class;
}

struct TextOut {
  std::string& text;
  void put(const char* bytes, size_t size) { text.append(bytes, size); }
};

base::ShownValue shown(const ValueCursor::Value& value) {
  return {base::ShownValue::kind_of(static_cast<uint32_t>(value.type)), value.bits, value.real, value.text};
}

}  // namespace

const std::vector<ValueCursor::Value>& ValueCursor::next(const EventClass* event_class) {
  const EventClass& shape = event_class ? *event_class : inline_name_class();
  const auto next_int = [&]() -> uint64_t {
    if (int_ < values_.ints.size()) return values_.ints[int_++];
    is_short_ = true;
    return 0;
  };
  row_.clear();
  for (const Field& field : shape.fields) {
    Value& value = row_.emplace_back();
    value.type = field.type;
    switch (field.type) {
      case FieldType::Double:
        if (double_ < values_.doubles.size())
          value.real = values_.doubles[double_++];
        else
          is_short_ = true;
        break;
      case FieldType::String: {
        const uint64_t announced = next_int();
        const size_t length = std::min<uint64_t>(announced, values_.text.size() - text_);
        value.text = std::string_view(values_.text).substr(text_, length);
        text_ += length;
        break;
      }
      default:
        value.bits = next_int();
    }
  }
  return row_;
}

std::string full_name(const EventClass* event_class, const std::vector<ValueCursor::Value>& row) {
  if (!event_class) return row.empty() || row[0].text.empty() ? "?" : std::string(row[0].text);
  const std::vector<Field>& fields = event_class->fields;
  std::string name;
  TextOut out{name};
  base::put_name(
      event_class->name, std::min(row.size(), fields.size()),
      [&](size_t i) { return std::string_view(fields[i].name); }, [&](size_t i) { return shown(row[i]); }, out);
  return name;
}

std::string shown_name(const EventClass& event_class) {
  const std::vector<Field>& fields = event_class.fields;
  if (fields.empty() || event_class.name.find_first_of("{}") == std::string::npos) return event_class.name;
  std::string name;
  base::NamePieces pieces(event_class.name);
  size_t next = 0;
  for (base::NamePiece piece; pieces.next(piece);) {
    const auto name_of = [&](size_t i) { return std::string_view(fields[i].name); };
    if (base::argument_of(piece, fields.size(), name_of, next) != base::kNoArgument) return event_class.name;
    name += piece.text;
  }
  return name;
}

std::string to_text(const ValueCursor::Value& value) {
  std::string text;
  TextOut out{text};
  base::put_value(shown(value), {}, out);
  return text;
}

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
