#include "convert/formats/perfetto.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "convert/event_note.h"
#include "convert/events.h"
#include "convert/flows.h"
#include "convert/formats/perfetto_tracks.h"
#include "convert/formats/point_notes.h"
#include "convert/json_args.h"
#include "convert/launches.h"
#include "convert/perfetto_fields.h"
#include "convert/places.h"
#include "convert/trace_times.h"

namespace kymo::convert {

using namespace perfetto;

namespace {

// One packet sequence of a Perfetto trace: its number, and the names that it has already defined.
//
// A sequence writes a name once, and after that only its number. The definition must be in the same packet as the first
// use or in an earlier one, so the sequence collects definitions while an event is built and writes them into its
// packet.
class PerfettoSequence {
 public:
  // Timestamps use `clock_id`. Events without a track are on `track_uuid`.
  PerfettoSequence(uint32_t id, uint32_t clock_id, uint64_t track_uuid)
      : id_(id), clock_id_(clock_id), track_uuid_(track_uuid) {}

  uint64_t track_uuid() const { return track_uuid_; }

  // True if this is the first event of this class here. Called for every event, so that its names need not be checked.
  bool is_first_use(uint32_t class_index) { return classes_.insert(class_index).second; }

  // Each returns `iid`, and defines it if this is the first time.
  uint64_t event_name(uint64_t iid, std::string_view text);
  uint64_t category(uint64_t iid, std::string_view text);
  uint64_t annotation_name(uint64_t iid, std::string_view text);
  uint64_t annotation_text(uint64_t iid, std::string_view text);

  // Appends a packet with this encoded TrackEvent and its new definitions.
  void append_event(std::string& out, int64_t time_ns, const std::string& track_event);

 private:
  uint64_t define(std::unordered_set<uint64_t>& defined, uint32_t field, uint64_t iid, std::string_view text);

  const uint32_t id_, clock_id_;
  const uint64_t track_uuid_;
  bool started_ = false;
  std::unordered_set<uint32_t> classes_;
  std::unordered_set<uint64_t> event_names_, categories_, annotation_names_, annotation_texts_;
  std::string definitions_;  // an encoded InternedData
};

uint64_t PerfettoSequence::event_name(uint64_t iid, std::string_view text) {
  return define(event_names_, interned::kEventNames, iid, text);
}
uint64_t PerfettoSequence::category(uint64_t iid, std::string_view text) {
  return define(categories_, interned::kCategories, iid, text);
}
uint64_t PerfettoSequence::annotation_name(uint64_t iid, std::string_view text) {
  return define(annotation_names_, interned::kAnnotationNames, iid, text);
}
uint64_t PerfettoSequence::annotation_text(uint64_t iid, std::string_view text) {
  return define(annotation_texts_, interned::kStrings, iid, text);
}

uint64_t PerfettoSequence::define(std::unordered_set<uint64_t>& defined, uint32_t field, uint64_t iid,
                                  std::string_view text) {
  if (!defined.insert(iid).second) return iid;
  std::string room;
  const std::string_view valid = base::valid_utf8(text, room);
  protozero::pbf_writer data(definitions_);
  protozero::pbf_writer entry(data, field);
  entry.add_uint64(interned::kIid, iid);
  entry.add_string(interned::kName, valid.data(), valid.size());
  return iid;
}

void PerfettoSequence::append_event(std::string& out, int64_t time_ns, const std::string& track_event) {
  protozero::pbf_writer trace(out);
  protozero::pbf_writer written(trace, kPacket);
  written.add_uint64(packet::kTimestamp, static_cast<uint64_t>(std::max<int64_t>(0, time_ns)));
  written.add_uint32(packet::kSequenceId, id_);
  if (started_) {
    written.add_uint32(packet::kSequenceFlags, packet::kNeedsState);
  } else {
    started_ = true;
    written.add_uint32(packet::kSequenceFlags, packet::kStateCleared | packet::kNeedsState);
    written.add_bool(packet::kFirstOnSequence, true);
    protozero::pbf_writer packet_defaults(written, packet::kDefaults);
    packet_defaults.add_uint32(defaults::kTimestampClockId, clock_id_);
    protozero::pbf_writer event_defaults(packet_defaults, defaults::kTrackEvent);
    event_defaults.add_uint64(event::kTrackUuid, track_uuid_);
  }
  if (!definitions_.empty()) {
    written.add_message(packet::kInternedData, definitions_);
    definitions_.clear();
  }
  written.add_message(packet::kTrackEvent, track_event);
}

// Builds one TrackEvent at a time: its name, category, annotations and what the caller adds.
//
//   PerfettoEvent event;
//   event.start(event::kSliceBegin, sequence, range);
//   event.message().add_uint64(…);
//   sequence.append_event(out, range.start_ns, event.bytes());
class PerfettoEvent {
 public:
  // Without a name: the end of a slice, a counter.
  void start(uint32_t type);
  // With all data of the event's class and values. Names that are new for the sequence are defined on it.
  void start(uint32_t type, PerfettoSequence& sequence, const Event& from);

  void annotate(PerfettoSequence& sequence, const std::string& name, const Value& value);
  protozero::pbf_writer message() { return protozero::pbf_writer(bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  // Numbers for texts, from 1; the same on all sequences.
  class Numbers {
   public:
    uint64_t of(const std::string& text) { return numbers_.try_emplace(text, numbers_.size() + 1).first->second; }

   private:
    std::map<std::string, uint64_t> numbers_;
  };
  // Numbers for long values that may repeat, above all stacks: a sequence then writes the text once.
  class TextNumbers {
   public:
    // 0: the text is short, or there are too many texts. Then it is written as it is.
    uint64_t of(std::string_view text);

   private:
    std::unordered_map<std::string, uint64_t> numbers_;
    std::string key_;  // its memory is reused
  };
  struct Prepared {
    uint64_t name = 0;                  // 0: not prepared yet
    uint64_t category = 0;              // 0: none
    std::vector<uint64_t> annotations;  // for each field; 0: part of the name
    std::string colour;                 // empty: none
  };

  const Prepared& prepare(const ClassInfo& info);
  void define(PerfettoSequence& sequence, const ClassInfo& info, const Prepared& prepared);
  void add_annotation(PerfettoSequence& sequence, uint64_t name, const Value& value);

  Numbers category_numbers_, annotation_numbers_;
  TextNumbers text_numbers_;
  std::vector<Prepared> prepared_;  // by ClassInfo::index
  std::string bytes_, text_;
};

// Shorter texts are mostly addresses and numbers, which do not repeat.
constexpr size_t kShortestNumbered = 40;
constexpr size_t kMaxTexts = size_t{1} << 18;

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

// CPU samples in a Perfetto trace: PerfSample packets on a sequence of their own, with interned stacks.
//
// Perfetto shows them as flame graphs, and as marks on their threads.
class PerfettoSamples {
 public:
  // `period_ns` is the time that a sample stands for.
  PerfettoSamples(uint32_t sequence, uint32_t clock_id, uint64_t period_ns)
      : sequence_(sequence), clock_id_(clock_id), period_ns_(period_ns) {}

  void append(std::string& out, const Place& place, int64_t time_ns, memory::StackId stack, SampleNotes& notes);

 private:
  void define_stack(std::string& data, uint64_t iid, const std::vector<symbols::Frame>& frames);
  uint64_t name(std::string& data, const std::string& function);
  uint64_t mapping(std::string& data, const std::string& module);
  uint64_t frame(std::string& data, const symbols::Frame& frame);

  const uint32_t sequence_, clock_id_;
  const uint64_t period_ns_;
  bool begun_ = false;
  std::unordered_set<uint64_t> stacks_;
  std::map<std::string, uint64_t> names_, mappings_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> frames_;  // name and mapping
};

void add_string(std::string& data, uint32_t field, uint64_t iid, const std::string& text) {
  std::string room;
  const std::string_view valid = base::valid_utf8(text, room);
  protozero::pbf_writer interned_data(data);
  protozero::pbf_writer entry(interned_data, field);
  entry.add_uint64(interned::kIid, iid);
  entry.add_bytes(interned::kName, valid.data(), valid.size());
}

uint64_t PerfettoSamples::name(std::string& data, const std::string& function) {
  const auto [known, is_new] = names_.try_emplace(function, names_.size() + 1);
  if (is_new) add_string(data, interned::kFunctionNames, known->second, function);
  return known->second;
}

uint64_t PerfettoSamples::mapping(std::string& data, const std::string& module) {
  const auto [known, is_new] = mappings_.try_emplace(module, mappings_.size() + 1);
  if (!is_new) return known->second;
  add_string(data, interned::kMappingPaths, known->second, module);
  protozero::pbf_writer interned_data(data);
  protozero::pbf_writer entry(interned_data, interned::kMappings);
  entry.add_uint64(interned::kIid, known->second);
  entry.add_uint64(code_mapping::kPathIds, known->second);
  return known->second;
}

uint64_t PerfettoSamples::frame(std::string& data, const symbols::Frame& one) {
  const std::pair key(name(data, one.function), mapping(data, one.module));
  const auto [known, is_new] = frames_.try_emplace(key, frames_.size() + 1);
  if (!is_new) return known->second;
  protozero::pbf_writer interned_data(data);
  protozero::pbf_writer entry(interned_data, interned::kFrames);
  entry.add_uint64(interned::kIid, known->second);
  entry.add_uint64(stack_frame::kFunctionName, key.first);
  entry.add_uint64(stack_frame::kMapping, key.second);
  return known->second;
}

void PerfettoSamples::define_stack(std::string& data, uint64_t iid, const std::vector<symbols::Frame>& frames) {
  std::vector<uint64_t> ids;  // outermost first
  for (size_t i = frames.size(); i-- > 0;) ids.push_back(frame(data, frames[i]));
  protozero::pbf_writer interned_data(data);
  protozero::pbf_writer entry(interned_data, interned::kCallstacks);
  entry.add_uint64(interned::kIid, iid);
  for (const uint64_t id : ids) entry.add_uint64(callstack::kFrameIds, id);
}

void PerfettoSamples::append(std::string& out, const Place& place, int64_t time_ns, memory::StackId stack,
                             SampleNotes& notes) {
  const uint64_t iid = uint64_t{stack} + 1;
  std::string data;
  if (stacks_.insert(iid).second) define_stack(data, iid, notes.frames(stack));
  protozero::pbf_writer trace(out);
  protozero::pbf_writer written(trace, kPacket);
  written.add_uint64(packet::kTimestamp, static_cast<uint64_t>(std::max<int64_t>(0, time_ns)));
  written.add_uint32(packet::kSequenceId, sequence_);
  if (begun_) {
    written.add_uint32(packet::kSequenceFlags, packet::kNeedsState);
  } else {
    begun_ = true;
    written.add_uint32(packet::kSequenceFlags, packet::kStateCleared | packet::kNeedsState);
    written.add_bool(packet::kFirstOnSequence, true);
    protozero::pbf_writer packet_defaults(written, packet::kDefaults);
    packet_defaults.add_uint32(defaults::kTimestampClockId, clock_id_);
    constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
    protozero::pbf_writer of_samples(packet_defaults, defaults::kPerfSample);
    protozero::pbf_writer base(of_samples, perf_defaults::kTimebase);
    base.add_uint64(timebase::kFrequency, kNanosecondsPerSecond / period_ns_);
    base.add_uint32(timebase::kCounter, timebase::kCpuClock);
  }
  if (!data.empty()) written.add_message(packet::kInternedData, data);
  protozero::pbf_writer sample(written, packet::kPerfSample);
  sample.add_uint32(perf_sample::kPid, static_cast<uint32_t>(place.group->pid));
  sample.add_uint32(perf_sample::kTid, static_cast<uint32_t>(place.tid));
  sample.add_uint64(perf_sample::kCallstack, iid);
}

constexpr uint32_t kFirstSequence = 2;  // sequence 1 describes tracks and clocks

bool is_unsigned(trace::FieldType type) {
  return type == trace::FieldType::UInt || type == trace::FieldType::ByteCount;
}

class PerfettoWriter : public EventVisitor {
 public:
  PerfettoWriter(const trace::Reader& reader, ExportStream& sink)
      : reader_(reader),
        sink_(sink),
        places_(reader),
        flows_(reader),
        launches_(reader, flows_.arrows() + 1),
        notes_(reader),
        sample_notes_(reader),
        time_base_(on_one_boot(reader) ? TimeBase::Monotonic : TimeBase::Realtime),
        tracks_(reader, out_),
        samples_(static_cast<uint32_t>(kFirstSequence + places_.all().size()), clock_id(), sample_notes_.period_ns()) {
    for (const Place& place : places_.all()) add_sequence(PerfettoTracks::uuid_of(place));
  }

  WalkReport write() {
    append_clocks();
    tracks_.describe_all(places_);
    WalkReport report = visit_events(reader_, places_, time_base_, *this);
    flush();
    return report;
  }

  bool wants_moments() const override { return true; }

  void range_begin(const Range& range) override {
    PerfettoSequence& sequence = threads_[range.place->index];
    event_.start(event::kSliceBegin, sequence, range);
    if (range.lane != 0) event_.message().add_uint64(event::kTrackUuid, tracks_.lane(*range.place, range.lane));
    if (range.place->track->kind == trace::TrackKind::DeviceQueue) add_place(sequence, range);
    if (range.correlation != 0) add_correlation(sequence, range);
    append_event(sequence, range.start_ns);
  }

  void range_end(const Place& place, uint16_t lane, int64_t end_ns) override {
    event_.start(event::kSliceEnd);
    if (lane != 0) event_.message().add_uint64(event::kTrackUuid, tracks_.lane(place, lane));
    append_event(threads_[place.index], end_ns);
  }

  void point(const Point& point) override {
    if (point.kind == trace::PointKind::Counter) return counter(point);
    const SampleNotes::Note* const sampled =
        point.kind == trace::PointKind::Sample ? sample_notes_.find(point.number) : nullptr;
    if (sampled != nullptr && sampled->is_of_clock) return sample(point, sampled->stack);
    PerfettoSequence& sequence = threads_[point.place->index];
    event_.start(event::kInstant, sequence, point);
    annotate_note(sequence, point.kind, point.id);
    switch (point.kind) {
      case trace::PointKind::FlowBegin:
      case trace::PointKind::FlowStep:
        add_flow(event::kFlowIds, point);
        break;
      case trace::PointKind::FlowEnd:
        add_flow(event::kTerminatingFlowIds, point);
        break;
      case trace::PointKind::Allocation:
      case trace::PointKind::Free:
        event_.annotate(sequence, "address",
                        {.type = trace::FieldType::Pointer, .bits = point.id, .real = 0, .text = {}});
        add_note(sequence, point);
        break;
      case trace::PointKind::Sample: {
        const std::string stack = sampled != nullptr && point.id == 0 ? sample_notes_.text(sampled->stack)
                                                                      : stack_text(*point.place->writer, point.id);
        event_.annotate(sequence, "stack", {.type = trace::FieldType::String, .bits = 0, .real = 0, .text = stack});
        break;
      }
      default:
        break;
    }
    append_event(sequence, point.time_ns);
    if (trace::is_of_memory(point.kind)) memory_counter(point);
  }

  void async_range(const AsyncRange& range) override {
    const uint64_t uuid = tracks_.async(range);
    // On the sequences of its threads, so that a reader knows them.
    PerfettoSequence& sequence = threads_[range.place->index];
    event_.start(event::kSliceBegin, sequence, range);
    event_.message().add_uint64(event::kTrackUuid, uuid);
    annotate_note(sequence, trace::PointKind::AsyncBegin, range.id);
    append_event(sequence, range.start_ns);
    if (!range.finished) return;
    event_.start(event::kSliceEnd);
    event_.message().add_uint64(event::kTrackUuid, uuid);
    append_event(threads_[range.end_place->index], range.end_ns);
  }

 private:
  void add_sequence(uint64_t track_uuid) {
    const auto id = static_cast<uint32_t>(kFirstSequence + threads_.size());
    threads_.emplace_back(id, clock_id(), track_uuid);
  }

  uint32_t clock_id() const { return time_base_ == TimeBase::Monotonic ? clock::kMonotonic : clock::kRealtime; }

  void sample(const Point& point, memory::StackId stack) {
    samples_.append(out_, *point.place, point.time_ns, stack, sample_notes_);
    if (out_.size() >= kFlushAt) flush();
  }

  // Relates the clocks by the first time at which all were read, and states which clock the trace's times use. Perfetto
  // converts all times to CLOCK_BOOTTIME.
  void append_clocks() {
    protozero::pbf_writer trace(out_);
    protozero::pbf_writer written(trace, kPacket);
    written.add_uint32(packet::kSequenceId, 1);
    protozero::pbf_writer snapshot(written, packet::kClockSnapshot);
    const auto add_clock = [&](uint32_t id, uint64_t ns) {
      protozero::pbf_writer message(snapshot, clock_snapshot::kClocks);
      message.add_uint32(clock::kId, id);
      message.add_uint64(clock::kTimestamp, ns);
    };
    const bool monotonic = time_base_ == TimeBase::Monotonic;
    const trace::ClockPair pair = first_pair();
    if (monotonic) add_clock(clock::kMonotonic, pair.monotonic_ns);
    add_clock(clock::kBoottime, pair.boottime_ns());
    add_clock(clock::kRealtime, pair.realtime_ns);
    snapshot.add_enum(clock_snapshot::kPrimaryClock, monotonic ? clock::kMonotonic : clock::kRealtime);
  }

  trace::ClockPair first_pair() const {
    for (const auto& [id, writer] : reader_.writers()) {
      for (const auto& [clock_id, domain] : writer.clocks) {
        if (!domain.pairs.empty()) return domain.pairs.front();
      }
    }
    return {};
  }

  void counter(const Point& point) {
    event_.start(event::kCounter);
    protozero::pbf_writer message = event_.message();
    const PerfettoTracks::Counter track = tracks_.counter(point);
    message.add_uint64(event::kTrackUuid, track.uuid);
    const Value value = point.values.empty() ? Value{} : point.values[0];
    const bool fits = !is_unsigned(value.type) || value.bits <= uint64_t{std::numeric_limits<int64_t>::max()};
    if (track.is_double || !fits) {
      message.add_double(event::kDoubleCounterValue, value.number());
    } else {
      message.add_int64(event::kCounterValue, static_cast<int64_t>(value.bits));
    }
    append_event(threads_[point.place->index], point.time_ns);
  }

  void add_note(PerfettoSequence& sequence, const Point& point) {
    const MemoryNotes::Note* const note = notes_.find(point.number);
    if (note == nullptr) return;
    const auto annotate = [&](const std::string& key, trace::FieldType type, uint64_t bits, std::string_view text) {
      if (!has_field(*point.event_class, key))
        event_.annotate(sequence, key, {.type = type, .bits = bits, .real = 0, .text = text});
    };
    if (!has_field(*point.event_class, "Bytes"))
      annotate("bytes", trace::FieldType::Int, static_cast<uint64_t>(note->bytes), {});
    annotate("bytes_in_use", trace::FieldType::UInt, note->bytes_in_use, {});
    if (const std::string& stack = notes_.stack(*note); !stack.empty())
      annotate("stack", trace::FieldType::String, 0, stack);
  }

  void memory_counter(const Point& point) {
    const MemoryNotes::Note* const note = notes_.find(point.number);
    if (note == nullptr || has_field(*point.event_class, "Total Allocated")) return;  // it has its own counter
    const uint64_t track = tracks_.bytes_in_use(*point.place->group, "memory in use, " + notes_.device(*note));
    event_.start(event::kCounter);
    protozero::pbf_writer message = event_.message();
    message.add_uint64(event::kTrackUuid, track);
    message.add_int64(event::kCounterValue, static_cast<int64_t>(std::min<uint64_t>(note->bytes_in_use, INT64_MAX)));
    append_event(threads_[point.place->index], point.time_ns);
  }

  void add_place(PerfettoSequence& sequence, const Range& range) {
    const auto number = [&](const std::string& key, uint64_t value) {
      if (!has_field(*range.event_class, key))
        event_.annotate(sequence, key, {.type = trace::FieldType::UInt, .bits = value, .real = 0, .text = {}});
    };
    number("device", range.place->group->pid);
    number("stream", range.place->track->queue);
  }

  void add_correlation(PerfettoSequence& sequence, const Range& range) {
    const bool on_device = range.place->track->kind == trace::TrackKind::DeviceQueue;
    const trace::WriterId& writer = range.place->writer->id;
    event_.message().add_uint64(event::kCorrelationId, range.correlation);
    event_.annotate(sequence, "correlation",
                    {.type = trace::FieldType::UInt, .bits = range.correlation, .real = 0, .text = {}});
    if (on_device) {
      if (const uint32_t arrow = launches_.claim_execution(writer, range.correlation))
        event_.message().add_fixed64(event::kTerminatingFlowIds, arrow);
    } else {
      const Launches::Arrows arrows = launches_.claim_launch(writer, range.correlation);
      for (uint32_t i = 0; i < arrows.count; ++i) event_.message().add_fixed64(event::kFlowIds, arrows.first + i);
    }
  }

  // What follows it is not part of the event (event_note.h).
  void annotate_note(PerfettoSequence& sequence, trace::PointKind kind, uint64_t id) {
    const std::string note = note_of(kind, id);
    if (note.empty()) return;
    event_.annotate(sequence, std::string(kNoteKey),
                    {.type = trace::FieldType::String, .bits = 0, .real = 0, .text = note});
  }

  void add_flow(uint32_t field, const Point& point) {
    if (!point.enclosed) return;
    const Flows::Part part = flows_.part(point.number);
    for (uint32_t i = 0; i < part.count; ++i) event_.message().add_fixed64(field, part.first + i);
  }

  void append_event(PerfettoSequence& sequence, int64_t time_ns) {
    sequence.append_event(out_, time_ns, event_.bytes());
    if (out_.size() >= kFlushAt) flush();
  }

  void flush() {
    sink_.write(out_);
    out_.clear();
  }

  const trace::Reader& reader_;
  ExportStream& sink_;
  Places places_;
  const Flows flows_;
  Launches launches_;
  MemoryNotes notes_;
  SampleNotes sample_notes_;
  const TimeBase time_base_;
  std::string out_;
  PerfettoTracks tracks_;
  PerfettoSamples samples_;
  std::vector<PerfettoSequence> threads_;  // by Place::index
  PerfettoEvent event_;
};

}  // namespace

WalkReport write_perfetto(const trace::Reader& reader, ExportStream& sink) {
  return PerfettoWriter(reader, sink).write();
}

}  // namespace kymo::convert
