#include "convert/formats/perfetto_tracks.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <protozero/pbf_writer.hpp>
#include <vector>

#include "base/hash.h"
#include "base/printable.h"
#include "base/text.h"
#include "convert/event_note.h"
#include "convert/perfetto_fields.h"
#include "trace/loss_words.h"
#include "trace/reader.h"

namespace kymo::convert {

using namespace perfetto;

namespace {

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

}  // namespace

struct PerfettoTracks::Description {
  uint64_t uuid = 0, parent = 0;
  std::string_view name;  // empty: a process or thread, which has its own name
  const Group* process = nullptr;
  const Place* thread = nullptr;
  bool is_counter = false, counts_bytes = false;
  uint32_t rank = 0;               // among its siblings
  std::string_view category = {};  // of a counter
  std::string text = {};           // for people, and for the import into Kymo
};

void PerfettoTracks::describe(const Description& description) {
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
    std::string message;  // a nested writer would omit an empty message, but this message marks the track as a counter
    protozero::pbf_writer of_counter(message);
    if (!description.category.empty()) add_text(of_counter, counter::kCategories, description.category);
    if (description.counts_bytes) of_counter.add_enum(counter::kUnit, counter::kBytes);
    descriptor.add_message(track::kCounter, message);
  }
  if (!description.text.empty()) add_text(descriptor, track::kDescription, description.text);
  descriptor.add_enum(track::kChildOrdering, track::kExplicitOrder);
  descriptor.add_int32(track::kSiblingOrderRank, static_cast<int32_t>(description.rank));
}

std::string PerfettoTracks::unique_name(uint64_t parent, std::string_view name) {
  std::string unique(name);
  for (int number = 2; !names_.emplace(parent, unique).second; ++number) unique = base::format("{} ({})", name, number);
  return unique;
}

void PerfettoTracks::describe_all(const Places& places) {
  for (const Group& group : places.groups()) {
    const bool is_device = group.writer == nullptr;
    describe({.uuid = uuid_of(group),
              .name = is_device ? std::string_view(group.name) : std::string_view(),
              .process = is_device ? nullptr : &group,
              .rank = group.index});
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

uint64_t PerfettoTracks::uuid_of(const Group& group) {
  if (group.writer == nullptr) return uuid_for("device/" + group.device_uuid);
  return uuid_for(group.writer->id.hex() + "/process");
}

uint64_t PerfettoTracks::uuid_of(const Place& place) {
  return uuid_for(base::format("{}/track/{}", place.writer->id.hex(), place.track->id));
}

uint64_t PerfettoTracks::lane(const Place& place, uint16_t lane) {
  uint64_t& uuid = lanes_[{place.index, lane}];
  if (uuid == 0) {
    uuid = uuid_for(base::format("{}/track/{}/lane/{}", place.writer->id.hex(), place.track->id, lane));
    describe({.uuid = uuid, .parent = uuid_of(place), .name = lane_name(place, lane), .rank = lane});
  }
  return uuid;
}

PerfettoTracks::Counter PerfettoTracks::counter(const Point& point) {
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

uint64_t PerfettoTracks::bytes_in_use(const Group& group, const std::string& name) {
  Counter& counter = counters_[{group.index, "memory", name}];
  if (counter.uuid == 0) {
    counter.uuid = uuid_for(base::format("{}/bytes in use/{}", uuid_of(group), name));
    describe_counter(group, counter, name, kDerivedCategory, true);
  }
  return counter.uuid;
}

void PerfettoTracks::describe_counter(const Group& group, const Counter& counter, std::string_view name,
                                      std::string_view category, bool counts_bytes) {
  describe({.uuid = counter.uuid,
            .parent = uuid_of(group),
            .name = name,
            .is_counter = true,
            .counts_bytes = counts_bytes,
            .category = category});
}

// A program that counts 1 and then 1.5 has two classes.
bool PerfettoTracks::has_doubles(const Group& group, const trace::EventClass& event_class) const {
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

uint64_t PerfettoTracks::async(const AsyncRange& range) {
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

}  // namespace kymo::convert
