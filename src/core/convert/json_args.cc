#include "convert/json_args.h"

#include <algorithm>

#include "base/text.h"
#include "convert/event_note.h"
#include "convert/kineto.h"
#include "trace/device_range.h"

namespace kymo::convert {

void append_json_field(TextBuffer& out, const trace::ValueCursor::Value& value) {
  switch (value.type) {
    case trace::FieldType::Int:
      return out.append_number(static_cast<int64_t>(value.bits));
    case trace::FieldType::UInt:
    case trace::FieldType::ByteCount:
      return append_integer(out, value.bits);
    case trace::FieldType::Double:
      return append_json_number(out, value.real);
    case trace::FieldType::Pointer:
      return append_json_address(out, value.bits);
    case trace::FieldType::Bool:
      return append(out, value.bits != 0 ? "true" : "false");
    case trace::FieldType::String:
      return append_json_string(out, value.text);
  }
  append(out, "null");
}

namespace {

std::string frame_text(const trace::WriterInfo& writer, uint32_t id) {
  const auto frame = writer.frames.find(id);
  if (frame == writer.frames.end()) return "?";
  if (!frame->second.function.empty()) return frame->second.function;
  const auto module = writer.modules.find(frame->second.module);
  const std::string path = module == writer.modules.end() ? "?" : module->second.path;
  return base::format("{}+{:#x}", path.substr(path.find_last_of('/') + 1), frame->second.offset);
}

}  // namespace

std::string stack_text(const trace::WriterInfo& writer, uint64_t stack) {
  const auto found = stack <= UINT32_MAX ? writer.stacks.find(static_cast<uint32_t>(stack)) : writer.stacks.end();
  if (found == writer.stacks.end()) return {};
  std::string text;
  for (const uint32_t frame : found->second.frames) {
    if (!text.empty()) text += " < ";
    text += frame_text(writer, frame);
  }
  return text;
}

namespace {

constexpr std::array<std::string_view, 6> kSizeFields{"threads_x", "threads_y", "threads_z",
                                                      "group_x",   "group_y",   "group_z"};

std::optional<std::array<size_t, 6>> size_fields(const ClassInfo& info) {
  std::array<size_t, 6> places{};
  for (size_t i = 0; i < places.size(); ++i) {
    const auto found = std::find(info.keys.begin(), info.keys.end(), kSizeFields[i]);
    if (found == info.keys.end()) return std::nullopt;
    places[i] = static_cast<size_t>(found - info.keys.begin());
    const trace::FieldType type = info.event_class.fields[places[i]].type;
    if (type != trace::FieldType::Int && type != trace::FieldType::UInt) return std::nullopt;
  }
  return places;
}

void append_list(TextBuffer& out, const std::array<uint64_t, 3>& numbers) {
  base::format_to(out, "[{},{},{}]", numbers[0], numbers[1], numbers[2]);
}

// A grid has as many blocks as are needed for all threads.
void append_size(JsonObject& object, std::span<const Value> values, const std::array<size_t, 6>& places) {
  std::array<uint64_t, 3> threads{}, block{}, grid{};
  for (size_t i = 0; i < 3; ++i) {
    threads[i] = values[places[i]].bits;
    block[i] = values[places[i + 3]].bits;
    grid[i] = block[i] == 0 ? 0 : threads[i] / block[i] + (threads[i] % block[i] != 0);
  }
  append_list(object.key("grid"), grid);
  append_list(object.key("block"), block);
  append_list(object.key("threads"), threads);
}

}  // namespace

bool has_field(const ClassInfo& info, std::string_view name) {
  return std::find(info.keys.begin(), info.keys.end(), name) != info.keys.end();
}

std::string colour_text(uint32_t colour) { return base::format("#{:06x}", colour & 0xFFFFFF); }

void JsonArgs::append(JsonObject& object, const Range& range, const RangeForm& form) {
  append_fields(object, range);
  if (form.stream) append_place(object, range, *form.stream);
  if (range.correlation != 0 && form.with_correlation && !has_field(*range.event_class, "correlation")) {
    append_integer(object.key("correlation"), range.correlation);
  }
  if (!range.finished && !has_field(*range.event_class, "finished")) base::append(object.key("finished"), "false");
}

void JsonArgs::append_place(JsonObject& object, const Range& range, int64_t stream) {
  const auto number = [&](std::string_view key, int64_t value) {
    if (!has_field(*range.event_class, key)) object.key(key).append_number(value);
  };
  number("device", static_cast<int64_t>(range.place->group->pid));
  number("context", static_cast<int64_t>(range.place->track->context));
  number("stream", stream);
  const Prepared& prepared = prepare(*range.event_class);
  if (!prepared.category.empty()) base::append(object.key("category"), prepared.category);
}

void JsonArgs::append(JsonObject& object, const Point& point) {
  append_fields(object, point);
  const std::string note = note_of(point.kind, point.id);
  if (form_ == Form::Kineto && !note.empty()) append_json_string(object.key(kNoteKey), note);
  const bool is_memory = trace::is_of_memory(point.kind);
  if (is_memory && form_ == Form::Kineto) {
    append_integer(object.key("Addr"), point.id);
  } else if (is_memory && !has_field(*point.event_class, "address")) {
    append_json_address(object.key("address"), point.id);
  }
  if (point.kind == trace::PointKind::Sample && point.id != 0 && !has_field(*point.event_class, "stack")) {
    append_json_string(object.key("stack"), stack_text(*point.place->writer, point.id));
  }
}

void JsonArgs::append(JsonObject& object, const AsyncRange& range) {
  append_fields(object, range);
  if (!range.finished && !has_field(*range.event_class, "finished")) base::append(object.key("finished"), "false");
}

void JsonArgs::append_fields(JsonObject& object, const Event& event) {
  const Prepared& prepared = prepare(*event.event_class);
  for (size_t i = 0; i < event.values.size(); ++i) {
    if (prepared.keys[i].empty()) continue;
    TextBuffer& out = object.escaped_key(prepared.keys[i]);
    const Value& value = event.values[i];
    if (prepared.may_be_list[i] && kineto::is_list(event.event_class->keys[i], value.text)) {
      base::append(out, value.text);
    } else {
      append_json_field(out, value);
    }
  }
  if (prepared.size && !event.values.empty()) append_size(object, event.values, *prepared.size);
  if (!prepared.colour.empty()) base::append(object.key("colour"), prepared.colour);
}

// Empty: the value is not an argument.
std::string JsonArgs::key_for(const ClassInfo& info, size_t field) const {
  const std::string& name = info.keys[field];
  if (form_ == Form::Plain) return name;
  const trace::EventClass& event_class = info.event_class;
  // The name of the file says only that it is a launch.
  if (name.empty()) return kineto::device_call(event_class.name, event_class.category).name.empty() ? "" : "kernel";
  if (event_class.category == "memory" && name == "bytes") return "Bytes";
  return name == "GB_per_s" ? "memory bandwidth (GB/s)" : name;
}

const JsonArgs::Prepared& JsonArgs::prepare(const ClassInfo& info) {
  if (info.index >= prepared_.size()) prepared_.resize(info.index + size_t{1});
  Prepared& prepared = prepared_[info.index];
  if (prepared.done) return prepared;
  prepared.done = true;
  for (size_t i = 0; i < info.keys.size(); ++i) {
    TextBuffer key;
    if (const std::string name = key_for(info, i); !name.empty()) {
      append_json_string(key, name);
      key.push_back(':');
    }
    prepared.keys.push_back(key.string());
    const bool is_text = info.event_class.fields[i].type == trace::FieldType::String;
    prepared.may_be_list.push_back(form_ == Form::Kineto && is_text);
  }
  const trace::EventClass& event_class = info.event_class;
  if (form_ == Form::Kineto) {
    prepared.size = size_fields(info);
    if (prepared.size)
      for (const size_t field : *prepared.size) prepared.keys[field].clear();
    const std::string_view category = event_class.category;
    const bool is_own = !category.empty() && trace::device_range(category) == trace::DeviceRange::Kernel &&
                        category != kineto::device_range(event_class.name, category).category;
    if (is_own && !has_field(info, "category")) prepared.category = base::json_string(category);
  }
  if (event_class.colour != 0 && !has_field(info, "colour")) {
    prepared.colour = base::format("\"{}\"", colour_text(event_class.colour));
  }
  return prepared;
}

}  // namespace kymo::convert
