#include "import/chrome_rows.h"

#include <algorithm>

#include "base/text.h"

namespace kymo::import {
namespace {

std::string_view text_argument(const JsonEvent& event, std::string_view key) {
  for (const JsonArgument& argument : event.arguments)
    if (argument.key == key && argument.type == JsonArgument::Type::String) return argument.text;
  return {};
}

const JsonArgument* number_argument(const JsonEvent& event, std::string_view key) {
  for (const JsonArgument& argument : event.arguments)
    if (argument.key == key && argument.type == JsonArgument::Type::Int) return &argument;
  return nullptr;
}

bool same(const JsonId& a, const JsonId& b, const std::string& b_text) {
  return a.is_text == b.is_text && (a.is_text ? a.text == b_text : a.number == b.number);
}

std::string key_of(const JsonEvent& event) {
  return ChromeRows::text_of(event.pid) + "\n" + ChromeRows::text_of(event.tid);
}

}  // namespace

std::string ChromeRows::text_of(const JsonId& id) {
  return id.is_text ? "\"" + std::string(id.text) : std::to_string(id.number);
}

bool ChromeRows::Last::is(const JsonEvent& event) const {
  return known && same(event.pid, pid, pid_text) && same(event.tid, tid, tid_text);
}

uint32_t ChromeRows::process(const JsonId& pid) {
  const auto [entry, is_new] = processes_.try_emplace(text_of(pid), 0);
  if (is_new) {
    ImportedProcess made;
    made.pid = !pid.is_text && pid.number > 0 ? static_cast<uint64_t>(pid.number) : 0;
    if (pid.is_text) made.name = std::string(pid.text);
    entry->second = builder_.add_process(std::move(made));
  }
  return entry->second;
}

ChromeRows::Row ChromeRows::row(const JsonEvent& event) {
  if (last_.is(event)) return last_.row;
  const auto [entry, is_new] = rows_.try_emplace(key_of(event));
  if (is_new) {
    ImportedTrack made;
    made.process = process(event.pid);
    made.tid = !event.tid.is_text && event.tid.number > 0 ? static_cast<uint64_t>(event.tid.number) : 0;
    if (event.tid.is_text) made.name = std::string(event.tid.text);
    entry->second = {builder_.add_track(std::move(made)), made.process};
  }
  last_ = {event.pid, event.tid, std::string(event.pid.text), std::string(event.tid.text), entry->second, true};
  return entry->second;
}

uint32_t ChromeRows::track(const JsonEvent& event) { return row(event).track; }

bool ChromeRows::is_device(const JsonEvent& event) {
  const JsonArgument* const device = number_argument(event, "device");
  return device != nullptr && !event.pid.is_text && static_cast<int64_t>(device->bits) == event.pid.number &&
         number_argument(event, "stream") != nullptr;
}

uint32_t ChromeRows::queue(const JsonEvent& event) {
  const uint32_t number = row(event).track;
  ImportedTrack& track = builder_.track(number);
  if (track.kind != trace::TrackKind::DeviceQueue) {
    track.kind = trace::TrackKind::DeviceQueue;
    device_pids_[number] = text_of(event.pid);
    const JsonArgument* const stream = number_argument(event, "stream");
    const JsonArgument* const context = number_argument(event, "context");
    track.queue = stream != nullptr ? stream->bits : track.tid;
    track.context = context != nullptr ? context->bits : 0;
  }
  return number;
}

bool ChromeRows::says(uint32_t number, const JsonArgument& argument) const {
  if (argument.type != JsonArgument::Type::Int) return false;
  const ImportedTrack& track = builder_.track(number);
  if (argument.key == "stream") return argument.bits == track.queue;
  if (argument.key == "context") return argument.bits == track.context;
  if (argument.key == "device") {
    const auto pid = device_pids_.find(number);
    return pid != device_pids_.end() && pid->second == std::to_string(argument.bits);
  }
  return false;
}

void ChromeRows::saw_launch(uint32_t track) {
  if (!launching_process_) launching_process_ = builder_.track(track).process;
}

void ChromeRows::name(const JsonEvent& event) {
  if (event.name == "process_name") {
    builder_.process(process(event.pid)).name = std::string(text_argument(event, "name"));
  } else if (event.name == "process_labels") {
    process_labels_[text_of(event.pid)] = std::string(text_argument(event, "labels"));
  } else if (event.name == "thread_name") {
    std::string_view name = text_argument(event, "name");
    while (name.ends_with(' ')) name.remove_suffix(1);
    track_names_[key_of(event)] = std::string(name);
  } else if (event.name == "thread_sort_index") {
    if (const JsonArgument* const order = number_argument(event, "sort_index"))
      track_orders_[key_of(event)] = order->bits;
  } else if (event.name == "kymo_queue_of") {
    if (const JsonArgument* const pid = number_argument(event, "pid"))
      queue_owners_[key_of(event)] = std::to_string(pid->bits);
  } else if (event.name == "kymo_queue_on") {
    queue_devices_[key_of(event)] = std::string(text_argument(event, "device"));
  }
}

void ChromeRows::name_devices(std::string_view json, JsonEvents& parser) {
  std::string text(json);
  // The objects have the same form as events.
  parser.parse(text, [this](const JsonEvent& device) {
    if (device.id && !device.id->is_text && !device.name.empty())
      device_names_[text_of(*device.id)] = std::string(device.name);
  });
}

// Kymo's exports have a row for each lane of a thread or queue: "name (lane 2)", with the next order after "name".
void ChromeRows::find_lanes() {
  constexpr uint64_t kLanesInOrder = 256;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> firsts;  // tracks, by process and order
  const auto order_of = [&](const std::string& key) {
    const auto found = track_orders_.find(key);
    return found != track_orders_.end() ? found->second : 0;
  };
  for (const auto& [key, row] : rows_)
    if (order_of(key) % kLanesInOrder == 0) firsts[{row.process, order_of(key)}] = row.track;
  for (const auto& [key, row] : rows_) {
    const uint64_t order = order_of(key), lane = order % kLanesInOrder;
    const auto first = firsts.find({row.process, order - lane});
    if (lane == 0 || first == firsts.end()) continue;
    ImportedTrack& track = builder_.track(row.track);
    if (!track.name.starts_with(builder_.track(first->second).name + " (lane ")) continue;
    track.lane_of = first->second;
    track.lane = static_cast<uint8_t>(lane);
  }
}

void ChromeRows::finish() {
  for (const auto& [key, row] : rows_) {
    const auto name = track_names_.find(key);
    if (name != track_names_.end()) builder_.track(row.track).name = name->second;
    const auto owner = queue_owners_.find(key);
    if (owner == queue_owners_.end()) continue;
    const auto owning = processes_.find(owner->second);
    if (owning != processes_.end()) owning_processes_[row.track] = owning->second;
    if (const auto device = queue_devices_.find(key); device != queue_devices_.end())
      own_devices_[row.track] = device->second;
  }
  for (const auto& [number, pid] : device_pids_) {
    ImportedTrack& track = builder_.track(number);
    const auto label = process_labels_.find(pid);
    const auto device = device_names_.find(pid);
    track.device = label != process_labels_.end() && !label->second.empty() ? label->second : "GPU " + pid;
    if (device != device_names_.end()) track.device += " (" + device->second + ")";
    if (const auto own = own_devices_.find(number); own != own_devices_.end()) track.device = own->second;
    const auto owner = owning_processes_.find(number);
    if (owner != owning_processes_.end()) {
      track.process = owner->second;
    } else if (launching_process_) {
      track.process = *launching_process_;
    }
  }
  find_lanes();
}

}  // namespace kymo::import
