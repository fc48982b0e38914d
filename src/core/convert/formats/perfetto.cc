#include "convert/formats/perfetto.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/printable.h"
#include "base/text.h"
#include "convert/event_note.h"
#include "convert/flows.h"
#include "convert/formats/chrome.h"
#include "convert/formats/point_notes.h"
#include "convert/json_args.h"
#include "convert/launches.h"
#include "convert/perfetto_fields.h"
#include "convert/places.h"
#include "convert/trace_times.h"
#include "trace/loss_words.h"

namespace kymo::convert {
namespace {

using namespace perfetto;

constexpr uint32_t kDescriptionSequence = 1;

uint64_t uuid_for(std::string_view text) {
  return std::max<uint64_t>(1, base::hash(base::as_bytes(text)));  // Perfetto uses 0 itself
}

void add_text(protozero::pbf_writer& message, uint32_t field, std::string_view untrusted) {
  std::string room;
  const std::string_view text = base::valid_utf8(untrusted, room);
  message.add_string(field, text.data(), text.size());
}

void add_process(protozero::pbf_writer& descriptor, const Group& group) {
  protozero::pbf_writer message(descriptor, track::kProcess);
  message.add_int32(process::kPid, static_cast<int32_t>(group.pid));
  for (const std::string& word : group.writer->origin.command_line) add_text(message, process::kCommandLine, word);
  add_text(message, process::kName, group.name);
  if (!group.writer->origin.kymo_version.empty()) {
    add_text(message, process::kLabels, "recorded by Kymo " + group.writer->origin.kymo_version);
  }
  if (const uint64_t lost = trace::lost_events(group.writer->losses); lost != 0) {
    add_text(message, process::kLabels, base::format("{} events lost", lost));
  }
}

void add_thread(protozero::pbf_writer& descriptor, const Place& place) {
  protozero::pbf_writer message(descriptor, track::kThread);
  message.add_int32(thread::kPid, static_cast<int32_t>(place.group->pid));
  message.add_int32(thread::kTid, static_cast<int32_t>(place.tid));
  add_text(message, thread::kName, place.name);
}

// "queue 7 of context 1, of process 100, on GPU-8f3a: compute"
std::string queue_text(const Place& place) {
  const trace::Track& of = *place.track;
  if (of.kind != trace::TrackKind::DeviceQueue) return {};
  return base::format("queue {} of context {}, of process {}, on {}: {}", of.queue, of.context,
                      place.writer->origin.pid, of.device_uuid, place.name);
}

// The tracks of a Perfetto trace: which exist, their parents, and their ids.
//
//   process ── thread ── lane            ranges that overlap others of their thread
//      │
//      ├────── counter                   one for each category and name
//      └────── ranges across threads     as many as overlap, for each class
//   device ─── queue ── lane
//
// Each track is described in a packet before its first event. A uuid is a hash of the track's identity. So merged
// exports of the same process agree, and exports of different processes do not collide. Perfetto may show siblings of
// one name as one track. So names of siblings differ ("request", "request (2)"), and tracks ask not to be merged.
class PerfettoTracks {
 public:
  // Descriptions are appended to `out` when they are needed.
  PerfettoTracks(const trace::Reader& reader, std::string& out) : reader_(reader), out_(out) {}

  void describe_all(const Places& places) {
    for (const Group& group : places.groups()) {
      const bool is_device = group.writer == nullptr;
      describe({.uuid = uuid_of(group),
                .name = is_device ? std::string_view(group.name) : std::string_view(),
                .process = is_device ? nullptr : &group,
                .rank = group.index,
                .text = is_device ? "" : processes_json(reader_, places, &group)});
    }
    for (const Place& place : places.all()) {
      const bool is_thread = place.track->kind == trace::TrackKind::Thread;
      describe({.uuid = uuid_of(place),
                .parent = uuid_of(*place.group),
                .name = is_thread ? std::string_view() : std::string_view(place.name),
                .thread = is_thread ? &place : nullptr,
                .rank = place.index,
                .text = queue_text(place)});
    }
  }

  static uint64_t uuid_of(const Group& group) {
    if (group.writer == nullptr) return uuid_for("device/" + group.device_uuid);
    return uuid_for(group.writer->id.hex() + "/process");
  }

  static uint64_t uuid_of(const Place& place) {
    return uuid_for(base::format("{}/track/{}", place.writer->id.hex(), place.track->id));
  }

  uint64_t lane(const Place& place, uint16_t lane) {
    uint64_t& uuid = lanes_[{place.index, lane}];
    if (uuid == 0) {
      uuid = uuid_for(base::format("{}/track/{}/lane/{}", place.writer->id.hex(), place.track->id, lane));
      describe({.uuid = uuid, .parent = uuid_of(place), .name = lane_name(place, lane), .rank = lane});
    }
    return uuid;
  }

  struct Counter {
    uint64_t uuid = 0;
    bool is_double = false;  // classes of this name have different types, or doubles
  };
  Counter counter(const Point& point) {
    const Group& group = *point.place->group;
    const ClassInfo& info = *point.event_class;
    Counter& of_class = class_counters_[{group.index, info.index}];
    if (of_class.uuid != 0 && !info.has_places) return of_class;
    const trace::EventClass& event_class = info.event_class;
    Counter& counter = counters_[{group.index, event_class.category, std::string(point.name)}];
    if (counter.uuid == 0) {
      counter.uuid = uuid_for(base::format("{}/counter/{}/{}", uuid_of(group), event_class.category, point.name));
      counter.is_double = has_doubles(group, event_class);
      const auto& fields = event_class.fields;
      describe_counter(group, counter, point.name, event_class.category,
                       !fields.empty() && fields[0].type == trace::FieldType::ByteCount);
    }
    return of_class = counter;
  }

  // A counter of bytes that the trace itself does not have.
  uint64_t bytes_in_use(const Group& group, const std::string& name) {
    Counter& counter = counters_[{group.index, "memory", name}];
    if (counter.uuid == 0) {
      counter.uuid = uuid_for(base::format("{}/bytes in use/{}", uuid_of(group), name));
      describe_counter(group, counter, name, kDerivedCategory, true);
    }
    return counter.uuid;
  }

  // A track that is free from start_ns. It is in use until end_ns then.
  uint64_t async(const AsyncRange& range) {
    const Group& group = *range.place->group;
    auto& tracks = async_[{group.index, range.event_class->index}];
    const int64_t taken_until = range.finished ? range.end_ns : std::numeric_limits<int64_t>::max();
    // Take the track that has been free for the shortest time. The others stay free for ranges that began earlier.
    const auto after = tracks.upper_bound(range.start_ns);
    if (after != tracks.begin()) {
      auto free = tracks.extract(std::prev(after));
      free.key() = taken_until;
      return tracks.insert(std::move(free))->second;
    }
    const trace::EventClass& event_class = range.event_class->event_class;
    const uint64_t uuid =
        uuid_for(base::format("{}/async/{}/{}/{}", uuid_of(group), event_class.id, event_class.name, tracks.size()));
    describe({.uuid = uuid, .parent = uuid_of(group), .name = trace::shown_name(event_class)});
    tracks.emplace(taken_until, uuid);
    return uuid;
  }

 private:
  struct Description {
    uint64_t uuid = 0, parent = 0;
    std::string_view name;  // empty: a process or thread, which has its own name
    const Group* process = nullptr;
    const Place* thread = nullptr;
    bool is_counter = false, counts_bytes = false;
    uint32_t rank = 0;               // among its siblings
    std::string_view category = {};  // of a counter
    std::string text = {};           // for people, and for the import into Kymo
  };
  void describe(const Description& description) {
    protozero::pbf_writer trace(out_);
    protozero::pbf_writer written(trace, kPacket);
    written.add_uint32(packet::kSequenceId, kDescriptionSequence);
    protozero::pbf_writer descriptor(written, packet::kTrackDescriptor);
    descriptor.add_uint64(track::kUuid, description.uuid);
    if (description.parent != 0) descriptor.add_uint64(track::kParentUuid, description.parent);
    if (!description.name.empty()) {
      add_text(descriptor, track::kName, unique_name(description.parent, description.name));
      descriptor.add_enum(track::kSiblingMerge, track::kNoMerge);
    }
    if (description.process != nullptr) add_process(descriptor, *description.process);
    if (description.thread != nullptr) add_thread(descriptor, *description.thread);
    if (description.is_counter) {
      std::string
          message;  // a nested writer would omit an empty message, but this message marks the track as a counter
      protozero::pbf_writer of_counter(message);
      if (!description.category.empty()) add_text(of_counter, counter::kCategories, description.category);
      if (description.counts_bytes) of_counter.add_enum(counter::kUnit, counter::kBytes);
      descriptor.add_message(track::kCounter, message);
    }
    if (!description.text.empty()) add_text(descriptor, track::kDescription, description.text);
    descriptor.add_enum(track::kChildOrdering, track::kExplicitOrder);
    descriptor.add_int32(track::kSiblingOrderRank, static_cast<int32_t>(description.rank));
  }

  std::string unique_name(uint64_t parent, std::string_view name) {
    std::string unique(name);
    for (int number = 2; !names_.emplace(parent, unique).second; ++number)
      unique = base::format("{} ({})", name, number);
    return unique;
  }

  void describe_counter(const Group& group, const Counter& counter, std::string_view name, std::string_view category,
                        bool counts_bytes) {
    describe({.uuid = counter.uuid,
              .parent = uuid_of(group),
              .name = name,
              .is_counter = true,
              .counts_bytes = counts_bytes,
              .category = category});
  }

  // A program that counts 1 and then 1.5 has two classes.
  bool has_doubles(const Group& group, const trace::EventClass& event_class) const {
    std::set<trace::FieldType> types;
    for (const auto& [id, writer] : reader_.writers()) {
      if (group.writer != nullptr && writer.origin.pid != group.writer->origin.pid) continue;
      for (const auto& [class_id, other] : writer.classes) {
        if (other.name == event_class.name && other.category == event_class.category && !other.fields.empty())
          types.insert(other.fields[0].type);
      }
    }
    return types.size() > 1 || types.contains(trace::FieldType::Double);
  }

  const trace::Reader& reader_;
  std::string& out_;
  std::map<std::pair<uint32_t, uint16_t>, uint64_t> lanes_;
  std::map<std::tuple<uint32_t, std::string, std::string>, Counter> counters_;  // by group, category and name
  std::map<std::pair<uint32_t, uint32_t>, Counter> class_counters_;             // the same, by group and class
  std::set<std::pair<uint64_t, std::string>> names_;                            // of tracks, with their parents
  // For each group and class: the tracks, by the time from which they are free.
  std::map<std::pair<uint32_t, uint32_t>, std::multimap<int64_t, uint64_t>> async_;
};

}  // namespace

using namespace perfetto;

namespace {

// Values of annotations.
Value text_value(std::string_view text) {
  return {.type = trace::FieldType::String, .bits = 0, .real = 0, .text = text};
}
Value number_value(uint64_t number, trace::FieldType type = trace::FieldType::UInt) {
  return {.type = type, .bits = number, .real = 0, .text = {}};
}

// Adds the definition of a text to an encoded InternedData.
void define_text(std::string& definitions, uint32_t field, uint64_t iid, std::string_view text) {
  std::string room;
  const std::string_view valid = base::valid_utf8(text, room);
  protozero::pbf_writer data(definitions);
  protozero::pbf_writer entry(data, field);
  entry.add_uint64(interned::kIid, iid);
  entry.add_string(interned::kName, valid.data(), valid.size());
}

// Writes what the packets of a sequence begin with. The first one also has what `add_defaults(defaults)` adds.
template <typename AddDefaults>
void begin_packet(protozero::pbf_writer& packet, uint32_t sequence, uint32_t clock_id, int64_t time_ns, bool& has_begun,
                  AddDefaults&& add_defaults) {
  packet.add_uint64(packet::kTimestamp, static_cast<uint64_t>(std::max<int64_t>(0, time_ns)));
  packet.add_uint32(packet::kSequenceId, sequence);
  if (std::exchange(has_begun, true)) return packet.add_uint32(packet::kSequenceFlags, packet::kNeedsState);
  packet.add_uint32(packet::kSequenceFlags, packet::kStateCleared | packet::kNeedsState);
  packet.add_bool(packet::kFirstOnSequence, true);
  protozero::pbf_writer defaults(packet, packet::kDefaults);
  defaults.add_uint32(defaults::kTimestampClockId, clock_id);
  add_defaults(defaults);
}

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
  if (defined.insert(iid).second) define_text(definitions_, field, iid, text);
  return iid;
}

void PerfettoSequence::append_event(std::string& out, int64_t time_ns, const std::string& track_event) {
  protozero::pbf_writer trace(out);
  protozero::pbf_writer written(trace, kPacket);
  begin_packet(written, id_, clock_id_, time_ns, started_, [&](protozero::pbf_writer& packet_defaults) {
    protozero::pbf_writer event_defaults(packet_defaults, defaults::kTrackEvent);
    event_defaults.add_uint64(event::kTrackUuid, track_uuid_);
  });
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
  if (!prepared.colour.empty()) annotate(sequence, "colour", text_value(prepared.colour));
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

uint64_t PerfettoSamples::name(std::string& data, const std::string& function) {
  const auto [known, is_new] = names_.try_emplace(function, names_.size() + 1);
  if (is_new) define_text(data, interned::kFunctionNames, known->second, function);
  return known->second;
}

uint64_t PerfettoSamples::mapping(std::string& data, const std::string& module) {
  const auto [known, is_new] = mappings_.try_emplace(module, mappings_.size() + 1);
  if (!is_new) return known->second;
  define_text(data, interned::kMappingPaths, known->second, module);
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
  begin_packet(written, sequence_, clock_id_, time_ns, begun_, [&](protozero::pbf_writer& packet_defaults) {
    constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
    protozero::pbf_writer of_samples(packet_defaults, defaults::kPerfSample);
    protozero::pbf_writer base(of_samples, perf_defaults::kTimebase);
    base.add_uint64(timebase::kFrequency, kNanosecondsPerSecond / period_ns_);
    base.add_uint32(timebase::kCounter, timebase::kCpuClock);
  });
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
        event_.annotate(sequence, "address", number_value(point.id, trace::FieldType::Pointer));
        add_note(sequence, point);
        break;
      case trace::PointKind::Sample: {
        const std::string stack = sampled != nullptr && point.id == 0 ? sample_notes_.text(sampled->stack)
                                                                      : stack_text(*point.place->writer, point.id);
        event_.annotate(sequence, "stack", text_value(stack));
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
    const auto annotate = [&](const std::string& key, const Value& value) {
      if (!has_field(*point.event_class, key)) event_.annotate(sequence, key, value);
    };
    if (!has_field(*point.event_class, "Bytes"))
      annotate("bytes", number_value(static_cast<uint64_t>(note->bytes), trace::FieldType::Int));
    annotate("bytes_in_use", number_value(note->bytes_in_use));
    if (const std::string& stack = notes_.stack(*note); !stack.empty()) annotate("stack", text_value(stack));
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
      if (!has_field(*range.event_class, key)) event_.annotate(sequence, key, number_value(value));
    };
    number("device", range.place->group->pid);
    number("stream", range.place->track->queue);
  }

  void add_correlation(PerfettoSequence& sequence, const Range& range) {
    const bool on_device = range.place->track->kind == trace::TrackKind::DeviceQueue;
    const trace::WriterId& writer = range.place->writer->id;
    event_.message().add_uint64(event::kCorrelationId, range.correlation);
    event_.annotate(sequence, "correlation", number_value(range.correlation));
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
    if (!note.empty()) event_.annotate(sequence, std::string(kNoteKey), text_value(note));
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
