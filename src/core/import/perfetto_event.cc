#include "import/perfetto_event.h"

#include <bit>
#include <utility>

#include "base/json_writer.h"
#include "import/perfetto_packets.h"

namespace kymo::import {

using namespace perfetto;

namespace {

// 0: the samples are not by time, or nothing is said.
uint64_t period_of_samples(std::string_view perf_sample_defaults) {
  constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
  uint64_t period = 0;
  Fields fields(perf_sample_defaults);
  for (Field field; fields.next(field);) {
    if (field.tag != perf_defaults::kTimebase || !field.is_bytes()) continue;
    Fields of_base(field.bytes);
    for (Field one; of_base.next(one);)
      if (one.tag == timebase::kFrequency && one.is_number() && one.number != 0)
        period = kNanosecondsPerSecond / one.number;
  }
  return period;
}

}  // namespace

void PerfettoSequence::clear() {
  *this = PerfettoSequence();
  valid_ = true;
}

const std::string* PerfettoSequence::find(const Texts& texts, uint64_t iid) {
  const auto found = texts.find(iid);
  return found == texts.end() ? nullptr : &found->second;
}

void PerfettoSequence::define(std::string_view interned_data) {
  using Self = PerfettoSequence;
  constexpr std::pair<uint32_t, Texts Self::*> kTextTables[] = {{interned::kCategories, &Self::categories},
                                                                {interned::kEventNames, &Self::names},
                                                                {interned::kAnnotationNames, &Self::annotation_names},
                                                                {interned::kStrings, &Self::strings},
                                                                {interned::kFunctionNames, &Self::function_names},
                                                                {interned::kMappingPaths, &Self::mapping_paths}};
  const auto text = [](Texts& texts, std::string_view message) {
    uint64_t iid = 0;
    std::string_view value;
    Fields fields(message);
    for (Field field; fields.next(field);) {
      if (field.tag == interned::kIid && field.is_number()) iid = field.number;
      if (field.tag == interned::kName && field.is_bytes()) value = field.bytes;
    }
    texts.insert_or_assign(iid, std::string(value));
  };
  const auto location = [&](std::string_view message) {
    uint64_t iid = 0;
    SourceLocation read;
    Fields fields(message);
    for (Field field; fields.next(field);) {
      if (field.tag == source_location::kIid && field.is_number()) iid = field.number;
      if (field.tag == source_location::kFile) read.file = field.bytes;
      if (field.tag == source_location::kFunction) read.function = field.bytes;
      if (field.tag == source_location::kLine && field.is_number()) read.line = field.number;
    }
    source_locations.insert_or_assign(iid, std::move(read));
  };
  const auto numbers = [](std::unordered_map<uint64_t, Numbers>& all, std::string_view message, uint32_t tag) {
    uint64_t iid = 0;
    Numbers read;
    Fields fields(message);
    for (Field field; fields.next(field);) {
      if (field.tag == interned::kIid && field.is_number()) iid = field.number;
      if (field.tag == tag) for_each_number(field, false, [&](uint64_t number) { read.push_back(number); });
    }
    all.insert_or_assign(iid, std::move(read));
  };
  const auto frame = [&](std::string_view message) {
    uint64_t iid = 0;
    CodeFrame read;
    Fields fields(message);
    for (Field field; fields.next(field);) {
      if (!field.is_number()) continue;
      if (field.tag == stack_frame::kIid) iid = field.number;
      if (field.tag == stack_frame::kFunctionName) read.function = field.number;
      if (field.tag == stack_frame::kMapping) read.mapping = field.number;
      if (field.tag == stack_frame::kOffset) read.offset = field.number;
    }
    frames.insert_or_assign(iid, read);
  };
  Fields fields(interned_data);
  for (Field field; fields.next(field);) {
    if (!field.is_bytes()) continue;
    for (const auto& [tag, texts] : kTextTables)
      if (field.tag == tag) text(this->*texts, field.bytes);
    switch (field.tag) {
      case interned::kSourceLocations:
        location(field.bytes);
        break;
      case interned::kMappings:
        numbers(mappings, field.bytes, code_mapping::kPathIds);
        break;
      case interned::kFrames:
        frame(field.bytes);
        break;
      case interned::kCallstacks:
        numbers(callstacks, field.bytes, callstack::kFrameIds);
        break;
      default:
        break;
    }
  }
}

void PerfettoSequence::set_defaults(std::string_view packet_defaults) {
  default_clock = 0;
  default_track = 0;
  extra_counters.clear();
  extra_double_counters.clear();
  sample_period_ns = 0;
  Fields fields(packet_defaults);
  for (Field field; fields.next(field);) {
    if (field.tag == defaults::kPerfSample && field.is_bytes()) sample_period_ns = period_of_samples(field.bytes);
    if (field.tag == packet::kTimestampClockId && field.is_number())
      default_clock = static_cast<uint32_t>(field.number);
    if (field.tag != packet::kTrackEvent || !field.is_bytes()) continue;
    Fields of_events(field.bytes);
    for (Field one; of_events.next(one);) {
      if (one.tag == event::kTrackUuid && one.is_number()) default_track = one.number;
      if (one.tag == event::kExtraCounterTracks)
        for_each_number(one, false, [&](uint64_t uuid) { extra_counters.push_back(uuid); });
      if (one.tag == event::kExtraDoubleCounterTracks)
        for_each_number(one, false, [&](uint64_t uuid) { extra_double_counters.push_back(uuid); });
    }
  }
}

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

void set_name(uint64_t iid, const PerfettoSequence& sequence, PerfettoEvent& event) {
  const std::string* const name = PerfettoSequence::find(sequence.names, iid);
  if (name != nullptr) event.name = *name;
  event.has_unknown_name |= name == nullptr;
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
        set_name(field.number, sequence, event);
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
