#include "convert/formats/chrome_header.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "convert/json_field.h"
#include "trace/clock.h"
#include "trace/loss_words.h"

namespace kymo::convert {

namespace {

void append_string(JsonObject& object, std::string_view key, std::string_view value) {
  append_json_string(object.key(key), value);
}
void append_number(JsonObject& object, std::string_view key, uint64_t value) {
  base::format_to(object.key(key), "{}", value);
}

template <typename Items, typename AppendItem>
void append_array(TextBuffer& out, const Items& items, AppendItem&& append_item) {
  JsonArray array(out);
  for (const auto& item : items) append_item(array.next(), item);
  array.close();
}

void append_losses(TextBuffer& out, const trace::WriterInfo& writer) {
  append_array(out, writer.losses, [&](TextBuffer& item, const trace::Loss& loss) {
    JsonObject object(item);
    append_string(object, "cause", trace::loss_words(loss.cause).key);
    append_number(object, "count", loss.count);
    if (const auto track = writer.tracks.find(loss.track); track != writer.tracks.end()) {
      append_string(object, "thread", track->second.name);
      append_number(object, "tid", track->second.tid);
    }
    if (!loss.detail.empty()) append_string(object, "detail", loss.detail);
    object.close();
  });
}

void append_cost(TextBuffer& out, const trace::WriterInfo& writer) {
  constexpr double kPicosecondsPerNanosecond = 1000;
  double recording_ns = 0;
  uint64_t events = 0, blocked_ns = 0, collector_ns = 0;
  for (const auto& [track, cost] : writer.costs) {
    events += cost.events;
    recording_ns +=
        static_cast<double>(cost.events) * static_cast<double>(cost.picoseconds_per_event) / kPicosecondsPerNanosecond;
    blocked_ns += cost.blocked_ns;
    collector_ns += cost.collector_cpu_ns;
  }
  JsonObject object(out);
  append_number(object, "events", events);
  append_number(object, "recording_ns", static_cast<uint64_t>(recording_ns));
  append_number(object, "blocked_ns", blocked_ns);
  append_number(object, "collector_cpu_ns", collector_ns);
  object.close();
}

// `pid` is that of its events in the file: two processes of different hosts may have the same one.
void append_process(TextBuffer& out, const trace::WriterInfo& writer, uint64_t pid) {
  const trace::Origin& origin = writer.origin;
  JsonObject object(out);
  append_number(object, "pid", origin.pid);
  if (pid != origin.pid) append_number(object, "pid_of_events", pid);
  append_number(object, "parent_pid", origin.parent_pid);
  append_string(object, "host", origin.host);
  append_string(object, "executable", origin.executable);
  append_array(object.key("command_line"), origin.command_line,
               [](TextBuffer& item, const std::string& argument) { append_json_string(item, argument); });
  append_number(object, "start_ns", origin.start_realtime_ns);
  append_string(object, "policy", origin.policy);
  append_string(object, "kymo_version", origin.kymo_version);
  JsonObject metadata(object.key("metadata"));
  for (const auto& [key, value] : origin.metadata) {
    append_json_string(metadata.escaped_key(base::json_string(key) + ':'), value);
  }
  metadata.close();
  append_cost(object.key("cost"), writer);
  append_losses(object.key("losses"), writer);
  object.close();
}

// The value of a numeric metadata entry. Distributed launchers store their numbers there.
std::optional<uint64_t> metadata_number(const trace::Reader& reader, std::string_view upper, std::string_view lower) {
  for (const auto& [id, writer] : reader.writers()) {
    for (const auto& [key, value] : writer.origin.metadata) {
      uint64_t number = 0;
      const char* const end = value.data() + value.size();
      const bool is_number = std::from_chars(value.data(), end, number).ptr == end && !value.empty();
      if ((key == upper || key == lower) && is_number) return number;
    }
  }
  return std::nullopt;
}

// How often CPU samples were taken, for readers that see only one process. Empty: there are none.
std::string sampling_of(const trace::Reader& reader) {
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [key, value] : writer.origin.metadata)
      if (key == "sampling") return value;
  return {};
}

// The program that requested the trace may have given it an id.
const std::string& trace_id_of(const trace::Origin& origin) {
  for (const auto& [key, value] : origin.metadata)
    if (key == "trace_id") return value;
  return origin.session;
}

}  // namespace

uint64_t chrome_start_ns(const trace::Reader& reader) {
  std::map<std::pair<trace::WriterId, uint32_t>, trace::ClockMap> clocks;  // by track
  for (const auto& [id, writer] : reader.writers()) {
    for (const auto& [track_id, track] : writer.tracks) {
      const auto domain = writer.clocks.find(track.clock);
      if (domain != writer.clocks.end()) clocks.emplace(std::pair(id, track_id), trace::clock_map(domain->second));
    }
  }
  int64_t earliest = std::numeric_limits<int64_t>::max();
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    const auto clock = clocks.find({chunk.writer, chunk.track});
    if (clock == clocks.end() || !clock->second.usable()) continue;
    earliest = std::min(earliest, clock->second.to_realtime_ns(chunk.first));
  }
  if (earliest == std::numeric_limits<int64_t>::max() || earliest < 0) return 0;
  return static_cast<uint64_t>(earliest);
}

void write_chrome_header(CompactChromeWriter& writer, const trace::Reader& reader, const Places& places) {
  // Early in the file and with a blank after the colon, because HTA searches for exactly this text to find the rank.
  if (const auto rank = metadata_number(reader, "RANK", "rank")) {
    const uint64_t world_size = metadata_number(reader, "WORLD_SIZE", "world_size").value_or(*rank + 1);
    base::format_to(writer.member("distributedInfo"), "{{\"rank\": {}, \"world_size\": {}}}", *rank, world_size);
  }
  std::vector<const Group*> devices;
  for (const Group& group : places.groups()) {
    if (group.writer == nullptr) devices.push_back(&group);
  }
  append_array(writer.member("deviceProperties"), devices, [](TextBuffer& item, const Group* device) {
    JsonObject object(item);
    append_number(object, "id", device->pid);
    append_string(object, "name", device->name);
    append_string(object, "uuid", device->device_uuid);
    object.close();
  });
  const trace::Origin* const origin = reader.writers().empty() ? nullptr : &reader.writers().begin()->second.origin;
  append_json_string(writer.member("host_name"), origin == nullptr ? "" : origin->host);
  append_json_string(writer.member("trace_id"), origin == nullptr ? "" : trace_id_of(*origin));
  if (const std::string rate = sampling_of(reader); !rate.empty()) append_json_string(writer.member("sampling"), rate);
  TextBuffer& kymo = writer.member("kymo");
  append(kymo, "{\"processes\": ");
  append_array(kymo, reader.writers(), [&](TextBuffer& item, const auto& process) {
    append_process(item, process.second, places.process(process.second).pid);
  });
  append(kymo, "}");
  append_json_string(writer.member("traceName"), reader.path());
}

void write_chrome_rows(CompactChromeWriter& writer, const Places& places) {
  for (const Group& group : places.groups()) writer.name_process(group.pid, group.name, group.label, group.sort_index);
  for (const Place& place : places.all()) write_chrome_row(writer, place, 0, place.tid);
}

void write_chrome_row(CompactChromeWriter& writer, const Place& place, uint16_t lane, uint64_t tid) {
  constexpr uint64_t kLanesInOrder = 256;
  const uint64_t order = place.index * kLanesInOrder + std::min<uint64_t>(lane, kLanesInOrder - 1);
  writer.name_row(writer.row(place.group->pid, tid), lane == 0 ? place.name : lane_name(place, lane), order);
  if (lane == 0 && place.track->kind == trace::TrackKind::DeviceQueue)
    writer.name_owner(writer.row(place.group->pid, tid), place.process->pid, place.track->device_uuid);
}

void write_chrome_trailer(CompactChromeWriter& writer, const WalkReport& report, const Flows& flows) {
  JsonObject object(writer.member("kymo_export"));
  append_number(object, "incomplete_flows", flows.incomplete());
  append_number(object, "unmatched_ends", report.unmatched_ends);
  append_array(object.key("problems"), report.problems, [](TextBuffer& item, const trace::Problem& problem) {
    JsonObject entry(item);
    append_number(entry, "offset", problem.offset);
    append_number(entry, "length", problem.length);
    append_string(entry, "what", problem.what);
    entry.close();
  });
  object.close();
}

}  // namespace kymo::convert
