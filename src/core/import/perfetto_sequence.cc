#include "import/perfetto_sequence.h"

#include "import/perfetto_message.h"

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
    switch (field.tag) {
      case interned::kCategories:
        text(categories, field.bytes);
        break;
      case interned::kEventNames:
        text(names, field.bytes);
        break;
      case interned::kAnnotationNames:
        text(annotation_names, field.bytes);
        break;
      case interned::kStrings:
        text(strings, field.bytes);
        break;
      case interned::kSourceLocations:
        location(field.bytes);
        break;
      case interned::kFunctionNames:
        text(function_names, field.bytes);
        break;
      case interned::kMappingPaths:
        text(mapping_paths, field.bytes);
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

}  // namespace kymo::import
