#include "import/perfetto_args.h"

#include "base/json_text.h"
#include "import/perfetto_message.h"

namespace kymo::import {
namespace {

using namespace perfetto;
using trace::FieldType;

constexpr int kDeepestValue = 32;  // lists in lists; deeper ones are null

// One annotation, before its lists are read.
struct Annotation {
  std::string_view name;
  bool has_value = false;
  ImportedValue value;
  bool is_dict = false, is_list = false;
};

Annotation read_annotation(std::string_view message, const PerfettoSequence& sequence) {
  Annotation read;
  const auto set = [&](FieldType type, const Field& field) {
    read.has_value = true;
    read.value.type = type;
    read.value.bits = field.number;
    read.value.text = field.bytes;
  };
  Fields fields(message);
  for (Field field; fields.next(field);) {
    switch (field.tag) {
      case annotation::kNameIid:
        if (const std::string* const name = PerfettoSequence::find(sequence.annotation_names, field.number))
          read.name = *name;
        break;
      case annotation::kName:
        read.name = field.bytes;
        break;
      case annotation::kBool:
        set(FieldType::Bool, field);
        read.value.bits = field.number != 0;
        break;
      case annotation::kUInt:
        set(FieldType::UInt, field);
        break;
      case annotation::kInt:
        set(FieldType::Int, field);
        break;
      case annotation::kPointer:
        set(FieldType::Pointer, field);
        break;
      case annotation::kDouble:
        set(FieldType::Double, field);
        read.value.real = field.real();
        break;
      case annotation::kString:
      case annotation::kJson:
        set(FieldType::String, field);
        break;
      case annotation::kStringIid:
        set(FieldType::String, field);
        if (const std::string* const text = PerfettoSequence::find(sequence.strings, field.number))
          read.value.text = *text;
        break;
      case annotation::kDictEntries:
        read.is_dict = true;
        break;
      case annotation::kArrayValues:
        read.is_list = true;
        break;
      default:
        break;
    }
  }
  return read;
}

void append_json(base::TextBuffer& out, std::string_view message, const PerfettoSequence& sequence, int depth) {
  const Annotation read = read_annotation(message, sequence);
  if (read.is_dict || read.is_list) {
    if (depth == kDeepestValue) return out.append("null");
    out.push_back(read.is_dict ? '{' : '[');
    bool is_first = true;
    Fields fields(message);
    for (Field field; fields.next(field);) {
      const uint32_t items = read.is_dict ? annotation::kDictEntries : annotation::kArrayValues;
      if (field.tag != items || !field.is_bytes()) continue;
      if (!is_first) out.append(",");
      is_first = false;
      if (read.is_dict) {
        base::append_json_string(out, read_annotation(field.bytes, sequence).name);
        out.push_back(':');
      }
      append_json(out, field.bytes, sequence, depth + 1);
    }
    return out.push_back(read.is_dict ? '}' : ']');
  }
  if (!read.has_value) return out.append("null");
  switch (read.value.type) {
    case FieldType::Bool:
      return out.append(read.value.bits != 0 ? "true" : "false");
    case FieldType::Int:
      return base::format_to(out, "{}", static_cast<int64_t>(read.value.bits));
    case FieldType::Double:
      return base::append_json_number(out, read.value.real);
    case FieldType::String:
      return base::append_json_string(out, read.value.text);
    default:
      return base::format_to(out, "{}", read.value.bits);
  }
}

}  // namespace

void PerfettoArgs::clear() {
  values.clear();
  texts_.clear();
}

void PerfettoArgs::add(std::string_view message, const PerfettoSequence& sequence) {
  Annotation read = read_annotation(message, sequence);
  read.value.name = read.name;
  if (read.is_dict || read.is_list) {
    base::TextBuffer json;
    append_json(json, message, sequence, 0);
    read.value.type = FieldType::String;
    read.value.text = texts_.emplace_back(json.view());
  } else if (!read.has_value) {
    return;
  }
  values.push_back(read.value);
}

void PerfettoArgs::add(std::string_view name, std::string_view text) {
  values.push_back({name, FieldType::String, 0, 0, text});
}
void PerfettoArgs::add(std::string_view name, uint64_t number) {
  values.push_back({name, FieldType::UInt, number, 0, {}});
}

}  // namespace kymo::import
