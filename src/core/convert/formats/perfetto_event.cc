#include "convert/formats/perfetto_event.h"

#include "base/utf8.h"
#include "convert/json_args.h"
#include "convert/perfetto_fields.h"

namespace kymo::convert {

using namespace perfetto;

namespace {

// Shorter texts are mostly addresses and numbers, which do not repeat.
constexpr size_t kShortestNumbered = 40;
constexpr size_t kMaxTexts = size_t{1} << 18;

}  // namespace

uint64_t PerfettoEvent::TextNumbers::of(std::string_view text) {
  if (text.size() < kShortestNumbered) return 0;
  key_ = text;
  if (const auto found = numbers_.find(key_); found != numbers_.end()) return found->second;
  if (numbers_.size() == kMaxTexts) return 0;
  return numbers_.try_emplace(key_, numbers_.size() + 1).first->second;
}

void PerfettoEvent::start(uint32_t type) {
  bytes_.clear();
  message().add_enum(event::kType, static_cast<int32_t>(type));
}

void PerfettoEvent::start(uint32_t type, PerfettoSequence& sequence, const Event& from) {
  const ClassInfo& info = *from.event_class;
  const Prepared& prepared = prepare(info);
  if (sequence.is_first_use(info.index)) define(sequence, info, prepared);

  start(type);
  protozero::pbf_writer writer = message();
  if (info.has_places) {
    const std::string_view name = base::valid_utf8(from.name, text_);
    writer.add_string(event::kName, name.data(), name.size());
  } else {
    writer.add_uint64(event::kNameIid, prepared.name);
  }
  if (prepared.category != 0) writer.add_uint64(event::kCategoryIids, prepared.category);
  for (size_t i = 0; i < from.values.size(); ++i) {
    if (prepared.annotations[i] != 0) add_annotation(sequence, prepared.annotations[i], from.values[i]);
  }
  if (!prepared.colour.empty()) {
    annotate(sequence, "colour", {.type = trace::FieldType::String, .bits = 0, .real = 0, .text = prepared.colour});
  }
}

void PerfettoEvent::annotate(PerfettoSequence& sequence, const std::string& name, const Value& value) {
  add_annotation(sequence, sequence.annotation_name(annotation_numbers_.of(name), name), value);
}

void PerfettoEvent::add_annotation(PerfettoSequence& sequence, uint64_t name, const Value& value) {
  protozero::pbf_writer outer = message();
  protozero::pbf_writer added(outer, event::kDebugAnnotations);
  added.add_uint64(annotation::kNameIid, name);
  switch (value.type) {
    case trace::FieldType::Bool:
      added.add_bool(annotation::kBool, value.bits != 0);
      break;
    case trace::FieldType::Int:
      added.add_int64(annotation::kInt, static_cast<int64_t>(value.bits));
      break;
    case trace::FieldType::Double:
      added.add_double(annotation::kDouble, value.real);
      break;
    case trace::FieldType::Pointer:
      added.add_uint64(annotation::kPointer, value.bits);
      break;
    case trace::FieldType::String: {
      const std::string_view text = base::valid_utf8(value.text, text_);
      if (const uint64_t number = text_numbers_.of(text); number != 0) {
        added.add_uint64(annotation::kStringIid, sequence.annotation_text(number, text));
      } else {
        added.add_string(annotation::kString, text.data(), text.size());
      }
      break;
    }
    default:
      added.add_uint64(annotation::kUInt, value.bits);
  }
}

const PerfettoEvent::Prepared& PerfettoEvent::prepare(const ClassInfo& info) {
  if (info.index >= prepared_.size()) prepared_.resize(info.index + size_t{1});
  Prepared& prepared = prepared_[info.index];
  if (prepared.name != 0) return prepared;
  prepared.name = info.index + uint64_t{1};
  const trace::EventClass& event_class = info.event_class;
  if (!event_class.category.empty()) prepared.category = category_numbers_.of(event_class.category);
  for (const std::string& key : info.keys) {
    prepared.annotations.push_back(key.empty() ? 0 : annotation_numbers_.of(key));
  }
  if (event_class.colour != 0 && !has_field(info, "colour")) prepared.colour = colour_text(event_class.colour);
  return prepared;
}

void PerfettoEvent::define(PerfettoSequence& sequence, const ClassInfo& info, const Prepared& prepared) {
  if (!info.has_places) sequence.event_name(prepared.name, info.event_class.name);
  if (prepared.category != 0) sequence.category(prepared.category, info.event_class.category);
  for (size_t i = 0; i < info.keys.size(); ++i) {
    if (prepared.annotations[i] != 0) sequence.annotation_name(prepared.annotations[i], info.keys[i]);
  }
}

}  // namespace kymo::convert
