#include "import/chrome_rows.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "convert/places.h"

namespace kymo::import {
namespace {

std::string key_of(const std::string& pid, const std::string& tid) { return pid + "\n" + tid; }

// The number of a key of JsonId; nothing: it is negative, too large, or a text.
std::optional<uint64_t> number_of(std::string_view key) {
  if (key.starts_with('"')) key.remove_prefix(1);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (error != std::errc() || end != key.data() + key.size() || std::to_string(number) != key) return std::nullopt;
  return number;
}

// What people see of a key without a number.
std::string text_of(std::string_view key) { return std::string(key.starts_with('"') ? key.substr(1) : key); }

}  // namespace

uint32_t ChromeRows::process(const std::string& pid) {
  const auto [entry, is_new] = processes_.try_emplace(pid, 0);
  if (is_new) entry->second = builder_.add_process({});
  return entry->second;
}

std::optional<uint32_t> ChromeRows::find_process(uint64_t pid) const {
  const auto found = processes_.find(std::to_string(pid));
  return found == processes_.end() ? std::nullopt : std::optional(found->second);
}

uint32_t ChromeRows::track(const ChromePiece::Row& row) {
  const std::string key = key_of(row.pid, row.tid);
  const auto [entry, is_new] = rows_.try_emplace(key);
  if (is_new) {
    const uint32_t of = process(row.pid);
    entry->second = {builder_.add_track({.process = of}), of, row.tid};
  }
  const uint32_t number = entry->second.track;
  ImportedTrack& track = builder_.track(number);
  if (row.queue && track.kind != trace::TrackKind::DeviceQueue) {
    track.kind = trace::TrackKind::DeviceQueue;
    track.queue = row.queue->queue;
    track.context = row.queue->context;
    device_pids_[number] = row.pid;
    auto queues = std::make_shared<ChromeQueues>(*queues_);
    queues->emplace(key, *row.queue);
    queues_ = std::move(queues);
  }
  return number;
}

bool ChromeRows::agrees(const ChromePiece& piece) const {
  return std::all_of(piece.rows.begin(), piece.rows.end(), [this](const ChromePiece::Row& row) {
    if (!row.queue) return true;
    const auto known = queues_->find(key_of(row.pid, row.tid));
    return known == queues_->end() || known->second == *row.queue;
  });
}

void ChromeRows::saw_launch(uint32_t track) {
  if (!launching_process_) launching_process_ = builder_.track(track).process;
}

void ChromeRows::name(const ChromePiece::Name& name) {
  const std::string key = key_of(name.pid, name.tid);
  if (name.what == "process_name") {
    builder_.process(process(name.pid)).name = name.text;
  } else if (name.what == "process_labels") {
    process_labels_[name.pid] = name.text;
  } else if (name.what == "thread_name") {
    std::string_view text = name.text;
    while (text.ends_with(' ')) text.remove_suffix(1);
    track_names_[key] = text;
  } else if (name.what == "thread_sort_index") {
    if (name.number) track_orders_[key] = *name.number;
  } else if (name.what == "kymo_queue_of") {
    if (name.number) queue_owners_[key] = std::to_string(*name.number);
  } else if (name.what == "kymo_queue_on") {
    queue_devices_[key] = name.text;
  }
}

void ChromeRows::name_devices(std::string_view json, JsonEvents& parser) {
  std::string text(json);
  // The objects have the same form as events.
  parser.parse(text, [this](const JsonEvent& device) {
    if (device.id && !device.id->is_text && !device.name.empty())
      device_names_[device.id->key()] = std::string(device.name);
  });
}

// Processes and threads keep their numbers. Others get numbers that nothing else in the file has, as in an export, so
// that they stay apart. Their texts are their names if they have no other, like the numbers that viewers cannot show.
void ChromeRows::number_ids() {
  std::set<uint64_t> pids;
  using convert::RowNumbers;
  for (const auto& [pid, number] : processes_) {
    ImportedProcess& process = builder_.process(number);
    const auto known = number_of(pid);
    if (known) pids.insert(process.pid = *known);
    if (process.name.empty() && known.value_or(UINT64_MAX) > RowNumbers::kLargest) process.name = text_of(pid);
  }
  std::set<std::pair<uint32_t, uint64_t>> tids;  // with their processes
  for (const auto& [key, row] : rows_) {
    ImportedTrack& track = builder_.track(row.track);
    const auto known = number_of(row.tid);
    if (known) tids.insert({row.process, track.tid = *known});
    if (track.name.empty() && known.value_or(UINT64_MAX) > RowNumbers::kLargest) track.name = text_of(row.tid);
  }
  // In the order of their keys, not of the hash table.
  const std::map<std::string, uint32_t> processes(processes_.begin(), processes_.end());
  uint64_t next = RowNumbers::kFirstInvented;
  for (const auto& [pid, number] : processes) {
    if (number_of(pid)) continue;
    while (!pids.insert(next).second) ++next;
    builder_.process(number).pid = next;
  }
  const std::map<std::string, Row> rows(rows_.begin(), rows_.end());
  next = RowNumbers::kFirstInvented;
  for (const auto& [key, row] : rows) {
    if (number_of(row.tid)) continue;
    while (!tids.insert({row.process, next}).second) ++next;
    builder_.track(row.track).tid = next;
  }
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
  number_ids();
}

}  // namespace kymo::import
