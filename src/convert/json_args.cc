#include "convert/json_args.h"

#include <algorithm>

#include "base/text.h"
#include "convert/stack_text.h"

namespace kymo::convert {

bool has_field(const ClassInfo& info, std::string_view name) {
  return std::find(info.keys.begin(), info.keys.end(), name) != info.keys.end();
}

std::string colour_text(uint32_t colour) { return base::format("#{:06x}", colour & 0xFFFFFF); }

void JsonArgs::append(JsonObject& object, const Range& range) {
  append_fields(object, range);
  const trace::Track& track = *range.place->track;
  if (with_queue_ && track.kind == trace::TrackKind::DeviceQueue) {
    const auto number = [&](std::string_view key, uint64_t value) {
      if (!has_field(*range.event_class, key)) append_integer(object.key(key), value);
    };
    number("device", range.place->group->pid);
    number("context", track.context);
    number("stream", track.queue);
  }
  if (range.correlation != 0 && !has_field(*range.event_class, "correlation")) {
    append_integer(object.key("correlation"), range.correlation);
  }
  if (!range.finished && !has_field(*range.event_class, "finished")) base::append(object.key("finished"), "false");
}

void JsonArgs::append(JsonObject& object, const Point& point) {
  append_fields(object, point);
  const bool is_memory = point.kind == trace::PointKind::Allocation || point.kind == trace::PointKind::Free;
  if (is_memory && !has_field(*point.event_class, "address")) {
    append_json_address(object.key("address"), point.id);
  }
  if (point.kind == trace::PointKind::Sample && !has_field(*point.event_class, "stack")) {
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
    if (!prepared.keys[i].empty()) append_json_field(object.escaped_key(prepared.keys[i]), event.values[i]);
  }
  if (!prepared.colour.empty()) base::append(object.key("colour"), prepared.colour);
}

const JsonArgs::Prepared& JsonArgs::prepare(const ClassInfo& info) {
  if (info.index >= prepared_.size()) prepared_.resize(info.index + size_t{1});
  Prepared& prepared = prepared_[info.index];
  if (prepared.done) return prepared;
  prepared.done = true;
  for (const std::string& name : info.keys) {
    TextBuffer key;
    if (!name.empty()) {
      append_json_string(key, name);
      key.push_back(':');
    }
    prepared.keys.push_back(key.string());
  }
  if (info.event_class.colour != 0 && !has_field(info, "colour")) {
    prepared.colour = base::format("\"{}\"", colour_text(info.event_class.colour));
  }
  return prepared;
}

}  // namespace kymo::convert
