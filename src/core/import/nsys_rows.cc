#include "import/nsys_rows.h"

#include "base/text.h"

namespace kymo::import {
namespace {

constexpr unsigned kThreadBits = 24;
constexpr uint64_t kThreadMask = (1 << kThreadBits) - 1;
constexpr size_t kMostNsysTracks = 1 << 18;  // the events of further threads and queues are on one

}  // namespace

void NsysRows::read_texts(SqliteFile& file) {
  for (SqliteRows rows = file.rows("StringIds", {"id", "value"}); rows.next();)
    if (const auto id = rows.number(0)) texts_.try_emplace(*id, rows.text(1));
}

const std::string& NsysRows::text(int64_t id) const {
  static const std::string kNone;
  const auto found = texts_.find(id);
  return found == texts_.end() ? kNone : found->second;
}

uint32_t NsysRows::process(uint64_t global_id) {
  const uint64_t key = builder_.process_count() < kMostNsysTracks ? global_id >> kThreadBits : 0;
  const auto [known, is_new] = processes_.try_emplace(key, 0);
  if (is_new) known->second = builder_.add_process({.pid = key & kThreadMask, .name = {}});
  return known->second;
}

uint32_t NsysRows::thread(uint64_t global_tid) {
  if (const auto known = threads_.find(global_tid); known != threads_.end()) return known->second;
  if (builder_.track_count() >= kMostNsysTracks) return process_track(0);
  return threads_[global_tid] = builder_.add_track({.process = process(global_tid), .tid = global_tid & kThreadMask});
}

uint32_t NsysRows::process_track(uint64_t global_pid) {
  const uint64_t key = builder_.track_count() < kMostNsysTracks ? global_pid >> kThreadBits : 0;
  const auto [known, is_new] = process_tracks_.try_emplace(key, 0);
  if (is_new)
    known->second =
        builder_.add_track({.process = process(global_pid), .kind = trace::TrackKind::Process, .name = "memory"});
  return known->second;
}

uint32_t NsysRows::queue(uint64_t global_pid, int64_t device, int64_t context, int64_t stream) {
  const uint32_t of = process(global_pid);
  if (const auto known = queues_.find({of, device, context, stream}); known != queues_.end()) return known->second;
  if (builder_.track_count() >= kMostNsysTracks) return process_track(0);
  return queues_[{of, device, context, stream}] = builder_.add_track({.process = of,
                                                                      .kind = trace::TrackKind::DeviceQueue,
                                                                      .name = base::format("stream {}", stream),
                                                                      .device = base::format("GPU {}", device),
                                                                      .context = static_cast<uint64_t>(context),
                                                                      .queue = static_cast<uint64_t>(stream)});
}

void NsysRows::finish(SqliteFile& file) {
  for (SqliteRows rows = file.rows("PROCESSES", {"globalPid", "name"}); rows.next();) {
    const auto found = processes_.find(static_cast<uint64_t>(rows.number(0).value_or(0)) >> kThreadBits);
    if (found != processes_.end() && !rows.text(1).empty()) builder_.process(found->second).name = rows.text(1);
  }
  std::unordered_map<uint32_t, int64_t> priorities;
  for (SqliteRows rows = file.rows("ThreadNames", {"globalTid", "nameId", "priority"}); rows.next();) {
    const auto found = threads_.find(static_cast<uint64_t>(rows.number(0).value_or(0)));
    if (found == threads_.end()) continue;
    const auto [priority, is_new] = priorities.try_emplace(found->second, rows.number(2).value_or(0));
    if (!is_new && rows.number(2).value_or(0) < priority->second) continue;
    priority->second = rows.number(2).value_or(0);
    builder_.track(found->second).name = text(rows.number(1).value_or(-1));
  }
  std::map<int64_t, std::string> devices;
  for (SqliteRows rows = file.rows("TARGET_INFO_GPU", {"cuDevice", "id", "name"}); rows.next();) {
    const auto number = rows.number(0) ? rows.number(0) : rows.number(1);
    if (number && !rows.text(2).empty()) devices[*number] = rows.text(2);
  }
  for (const auto& [key, track] : queues_) {
    const auto device = devices.find(std::get<1>(key));
    if (device != devices.end()) builder_.track(track).device += " (" + device->second + ")";
  }
}

}  // namespace kymo::import
