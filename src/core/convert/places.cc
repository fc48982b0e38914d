#include "convert/places.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "base/wildcard.h"
#include "kymo/error.h"
#include "trace/model.h"

namespace kymo::convert {

namespace {

std::string process_name(const trace::Origin& origin) {
  if (std::string name = trace::program_name(origin); !name.empty()) return name;
  return base::format("process {}", origin.pid);
}

// Imported devices have their numbers: "GPU 3", "GPU 3 (NVIDIA H200)".
std::optional<uint64_t> own_number(std::string_view device) {
  if (!device.starts_with("GPU ")) return std::nullopt;
  device.remove_prefix(4);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), number);
  const std::string_view rest = device.substr(static_cast<size_t>(end - device.data()));
  if (error != std::errc() || (!rest.empty() && !rest.starts_with(" ("))) return std::nullopt;
  return number;
}

std::string track_name(const trace::Track& track) {
  if (!track.name.empty()) return track.name;
  switch (track.kind) {
    case trace::TrackKind::DeviceQueue:
      return base::format("queue {}", track.queue);
    case trace::TrackKind::Process:
      return "process";
    default:
      return base::format("thread {}", track.tid);
  }
}

}  // namespace

Places::Places(const trace::Reader& reader) {
  // Processes come first, so that they keep their pids. Devices get the remaining numbers.
  std::map<const Group*, uint64_t> started;
  for (const auto& [id, writer] : reader.writers()) {
    Group& group = process_of(writer);
    const auto [latest, is_new] = started.try_emplace(&group, writer.origin.start_realtime_ns);
    if (is_new || writer.origin.start_realtime_ns <= latest->second) continue;
    latest->second = writer.origin.start_realtime_ns;
    group.name = process_name(writer.origin);  // after exec
  }
  for (const auto& [id, writer] : reader.writers()) {
    for (const auto& [track_id, track] : writer.tracks) {
      const bool on_device = track.kind == trace::TrackKind::DeviceQueue;
      Place& place = places_.emplace_back();
      place.index = static_cast<uint32_t>(places_.size() - 1);
      place.writer = &writer;
      place.track = &track;
      place.process = &process_of(writer);
      place.group = on_device ? &device_of(track) : place.process;
      place.name = track_name(track);
      place.tid = claim_tid(rows_[place.group], writer, track);
      by_track_[{id, track_id}] = &place;
    }
  }
}

const Place* Places::find(const trace::WriterId& writer, uint32_t track) const {
  const auto found = by_track_.find({writer, track});
  return found == by_track_.end() ? nullptr : found->second;
}

uint64_t Places::lane_tid(const Place& place, uint16_t lane) {
  if (lane == 0) return place.tid;
  uint64_t& tid = lanes_[{&place, lane}];
  if (tid == 0) tid = rows_[place.group].tids.invent();
  return tid;
}

std::string Places::key_of(const trace::WriterInfo& writer) {
  const trace::Origin& origin = writer.origin;
  // A process without a pid, of another tool's trace, is not the same as another one.
  return base::format("{}\n{}\n{}{}", origin.host, origin.boot_id, origin.pid,
                      origin.pid == 0 ? writer.id.hex() : std::string());
}

Group& Places::process_of(const trace::WriterInfo& writer) {
  const trace::Origin& origin = writer.origin;
  Group*& group = processes_[key_of(writer)];
  if (group == nullptr) {
    group = &groups_.emplace_back();
    group->index = static_cast<uint32_t>(groups_.size() - 1);
    group->pid = pids_.claim(origin.pid);
    group->name = process_name(origin);
    group->label = "CPU";
    group->sort_index = group->pid;
    group->writer = &writer;
  }
  return *group;
}

Group& Places::device_of(const trace::Track& track) {
  const std::optional<uint64_t> own = own_number(track.device_uuid);
  const uint64_t number = own.value_or(devices_.size());
  Group*& group = devices_[track.device_uuid];
  if (group == nullptr) {
    group = &groups_.emplace_back();
    group->index = static_cast<uint32_t>(groups_.size() - 1);
    group->pid = pids_.claim(number);
    group->label = base::format("GPU {}", number);
    group->name = own                      ? track.device_uuid
                  : track.device().empty() ? group->label
                                           : base::format("{} ({})", group->label, track.device());
    group->sort_index = kFirstDeviceOrder + number;
    group->device_uuid = track.device_uuid;
  }
  return *group;
}

// A thread of another writer in the same process may have the same thread id: before and after exec it is one thread.
uint64_t Places::claim_tid(Rows& rows, const trace::WriterInfo& writer, const trace::Track& track) {
  if (track.kind == trace::TrackKind::DeviceQueue) return rows.tids.claim(track.queue);
  if (track.kind != trace::TrackKind::Thread) return rows.tids.claim(track.tid);
  const auto before_exec = rows.threads.find(track.tid);
  if (before_exec != rows.threads.end() && before_exec->second != &writer) {
    before_exec->second = &writer;
    return track.tid;
  }
  const uint64_t tid = rows.tids.claim(track.tid);
  rows.threads.emplace(tid, &writer);
  return tid;
}

std::string group_label(const Group& group) {
  return group.writer == nullptr ? group.name : base::format("{} ({})", group.name, group.pid);
}

std::string lane_name(const Place& place, uint16_t lane) { return base::format("{} (lane {})", place.name, lane); }

namespace {

std::string full_track_name(const Place& place) { return base::format("{}/{}", place.group->name, place.name); }

bool describes(const std::string& pattern, const Place& place) {
  const auto fits = [&](const std::string& name) { return pattern == name || base::matches(pattern, name); };
  return fits(place.name) || fits(full_track_name(place)) ||
         fits(base::format("{}/{}", group_label(*place.group), place.name));
}

// Each name once: many threads may have the same.
std::string known_tracks(const Places& places) {
  constexpr size_t kShown = 20;
  std::set<std::string> names;
  for (const Place& place : places.all()) names.insert(full_track_name(place));
  std::string text;
  size_t shown = 0;
  for (const std::string& name : names) {
    if (shown++ == kShown) return text + base::format(" and {} more", names.size() - kShown);
    text += base::format("{}'{}'", text.empty() ? "" : ", ", name);
  }
  return text;
}

}  // namespace

TrackChoice::TrackChoice(const trace::Reader& reader, const std::vector<std::string>& patterns)
    : all_(patterns.empty()) {
  if (all_) return;
  const Places places(reader);
  for (const std::string& pattern : patterns) {
    bool is_used = false;
    for (const Place& place : places.all()) {
      if (!describes(pattern, place)) continue;
      is_used = true;
      chosen_.insert({place.writer->id, place.track->id});
      writers_.insert(place.writer->id);
    }
    if (is_used) continue;
    if (places.all().empty())
      throw Error(base::format("{} has no tracks, so none is named '{}'", reader.path(), pattern));
    throw Error(
        base::format("no track in {} is named '{}'; its tracks are {}", reader.path(), pattern, known_tracks(places)));
  }
}

TrackChoice::TrackChoice(std::set<std::pair<trace::WriterId, uint32_t>> tracks)
    : all_(false), chosen_(std::move(tracks)) {
  for (const auto& [writer, track] : chosen_) writers_.insert(writer);
}

}  // namespace kymo::convert
