// The values of events and their text form: ValueCursor, full_name and to_text of reader.h.

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "trace/reader.h"

namespace kymo::trace {

namespace {

constexpr std::string_view kPlace = "{}";

const EventClass& inline_name_class() {
  static const EventClass event_class{kInlineName, std::string(kPlace), "", 0, {{"", FieldType::String}}};
  return event_class;
}

std::string byte_count_text(uint64_t count) {
  constexpr uint64_t kStep = 1024;
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (count < kStep) return base::format("{} B", count);
  size_t unit = 0;
  double scaled = static_cast<double>(count) / kStep;
  for (; scaled >= kStep && unit + 1 < std::size(kUnits); ++unit) scaled /= kStep;
  const bool whole = scaled == static_cast<double>(static_cast<uint64_t>(scaled));
  return whole ? base::format("{:.0f} {}", scaled, kUnits[unit]) : base::format("{:.1f} {}", scaled, kUnits[unit]);
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
  std::string name;
  size_t begin = 0;
  const size_t fields = std::min(row.size(), event_class->fields.size());
  for (size_t i = 0; i < fields; ++i) {
    if (!event_class->fields[i].name.empty()) continue;
    const size_t place = event_class->name.find(kPlace, begin);
    if (place == std::string::npos) break;
    name.append(event_class->name, begin, place - begin);
    name += to_text(row[i]);
    begin = place + kPlace.size();
  }
  name.append(event_class->name, begin);
  return name;
}

std::string to_text(const ValueCursor::Value& value) {
  switch (value.type) {
    case FieldType::Int:
      return base::format("{}", static_cast<int64_t>(value.bits));
    case FieldType::UInt:
      return base::format("{}", value.bits);
    case FieldType::Double:
      return base::format("{}", value.real);
    case FieldType::String:
      return std::string(value.text);
    case FieldType::ByteCount:
      return byte_count_text(value.bits);
    case FieldType::Pointer:
      return base::format("{:#x}", value.bits);
    case FieldType::Bool:
      return value.bits ? "true" : "false";
  }
  return base::format("{}", value.bits);  // a type of a newer version of Kymo
}

}  // namespace kymo::trace
