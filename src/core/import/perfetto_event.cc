#include "import/perfetto_event.h"

#include <bit>

#include "import/perfetto_message.h"

namespace kymo::import {

using namespace perfetto;

namespace {

void clear(PerfettoEvent& event) {
  event.type = event.correlation = 0;
  event.name = {};
  event.category.clear();
  event.track.reset();
  event.args.clear();
  event.counter_value.reset();
  event.double_counter_value.reset();
  event.extra_tracks.clear();
  event.extra_double_tracks.clear();
  event.extra_values.clear();
  event.extra_doubles.clear();
  event.flows.clear();
  event.terminating_flows.clear();
  event.legacy.reset();
  event.has_unknown_name = false;
}

void add_location(PerfettoArgs& args, std::string_view file, std::string_view function, uint64_t line) {
  if (!file.empty()) args.add("file", file);
  if (!function.empty()) args.add("function", function);
  if (line != 0) args.add("line", line);
}

void read_location(std::string_view message, PerfettoArgs& args) {
  std::string_view file, function;
  uint64_t line = 0;
  Fields fields(message);
  for (Field field; fields.next(field);) {
    if (field.tag == source_location::kFile) file = field.bytes;
    if (field.tag == source_location::kFunction) function = field.bytes;
    if (field.tag == source_location::kLine) line = field.number;
  }
  add_location(args, file, function, line);
}

LegacyEvent read_legacy(std::string_view message, const PerfettoSequence& sequence, PerfettoEvent& event) {
  LegacyEvent read;
  const auto take_id = [&](LegacyEvent::Scope scope, uint64_t id) {
    read.scope = scope;
    read.id = id;
  };
  Fields fields(message);
  for (Field field; fields.next(field);) {
    switch (field.tag) {
      case legacy::kNameIid:
        if (const std::string* const name = PerfettoSequence::find(sequence.names, field.number)) {
          event.name = *name;
        } else {
          event.has_unknown_name = true;
        }
        break;
      case legacy::kPhase:
        read.phase = field.number < 128 ? static_cast<char>(field.number) : '\0';
        break;
      case legacy::kDurationUs:
        read.duration_us = static_cast<int64_t>(field.number);
        break;
      case legacy::kUnscopedId:
        take_id(LegacyEvent::Scope::Unscoped, field.number);
        break;
      case legacy::kLocalId:
        take_id(LegacyEvent::Scope::Local, field.number);
        break;
      case legacy::kGlobalId:
        take_id(LegacyEvent::Scope::Global, field.number);
        break;
      case legacy::kIdScope:
        read.scope_name = field.bytes;
        break;
      case legacy::kPidOverride:
        read.pid = static_cast<int32_t>(field.number);
        break;
      case legacy::kTidOverride:
        read.tid = static_cast<int32_t>(field.number);
        break;
      default:
        break;
    }
  }
  return read;
}

}  // namespace

void read_event(std::string_view message, const PerfettoSequence& sequence, PerfettoEvent& event) {
  clear(event);
  const auto category = [&](std::string_view name) {
    if (!event.category.empty()) event.category += ',';
    event.category += name;
  };
  const auto each = [](const Field& field, bool is_fixed64, auto& to) {
    using Number = typename std::decay_t<decltype(to)>::value_type;
    for_each_number(field, is_fixed64, [&](uint64_t number) { to.push_back(std::bit_cast<Number>(number)); });
  };
  Fields fields(message);
  for (Field field; fields.next(field);) {
    switch (field.tag) {
      case event::kType:
        event.type = field.number;
        break;
      case event::kName:
        event.name = field.bytes;
        break;
      case event::kNameIid:
        if (const std::string* const name = PerfettoSequence::find(sequence.names, field.number)) {
          event.name = *name;
        } else {
          event.has_unknown_name = true;
        }
        break;
      case event::kCategories:
        category(field.bytes);
        break;
      case event::kCategoryIids:
        for_each_number(field, false, [&](uint64_t iid) {
          if (const std::string* const name = PerfettoSequence::find(sequence.categories, iid)) category(*name);
        });
        break;
      case event::kTrackUuid:
        event.track = field.number;
        break;
      case event::kDebugAnnotations:
        event.args.add(field.bytes, sequence);
        break;
      case event::kCounterValue:
        event.counter_value = static_cast<int64_t>(field.number);
        break;
      case event::kDoubleCounterValue:
        event.double_counter_value = field.real();
        break;
      case event::kExtraCounterTracks:
        each(field, false, event.extra_tracks);
        break;
      case event::kExtraCounterValues:
        each(field, false, event.extra_values);
        break;
      case event::kExtraDoubleCounterTracks:
        each(field, false, event.extra_double_tracks);
        break;
      case event::kExtraDoubleCounterValues:
        each(field, true, event.extra_doubles);
        break;
      case event::kFlowIds:
        each(field, true, event.flows);
        break;
      case event::kOldFlowIds:
        each(field, false, event.flows);
        break;
      case event::kTerminatingFlowIds:
        each(field, true, event.terminating_flows);
        break;
      case event::kOldTerminatingFlowIds:
        each(field, false, event.terminating_flows);
        break;
      case event::kCorrelationId:
        event.correlation = field.number;
        break;
      case event::kLegacy:
        event.legacy = read_legacy(field.bytes, sequence, event);
        break;
      case event::kSourceLocation:
        read_location(field.bytes, event.args);
        break;
      case event::kSourceLocationIid: {
        const auto found = sequence.source_locations.find(field.number);
        if (found != sequence.source_locations.end())
          add_location(event.args, found->second.file, found->second.function, found->second.line);
        break;
      }
      default:
        break;
    }
  }
}

}  // namespace kymo::import
