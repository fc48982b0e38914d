#include "push/process_list.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace kymo::push {
namespace {

// Null: it has none.
const std::string* value_of(const trace::Origin& origin, std::string_view name) {
  for (const auto& [key, value] : origin.metadata)
    if (key == name) return &value;
  return nullptr;
}

// Null: it was recorded.
const std::string* imported_from(const trace::Origin& origin) { return value_of(origin, "imported from"); }

// The process that had this number last, in the order of the list: numbers are used again, after exec and by later
// processes.
void find_parents(std::vector<Process>& processes) {
  std::map<std::tuple<std::string_view, std::string_view, uint64_t>, size_t> last;
  for (size_t i = 0; i < processes.size(); ++i) {
    Process& process = processes[i];
    const trace::Origin& origin = process.info->origin;
    const auto place_of = [&](uint64_t pid) { return last.find({process.recording, origin.boot_id, pid}); };
    const auto self = place_of(origin.pid), parent = place_of(origin.parent_pid);
    process.is_same_again = process.is_sampled && self != last.end();
    if (process.is_same_again)
      process.parent = self->second;
    else if (origin.parent_pid != 0 && parent != last.end())
      process.parent = parent->second;
    if (!process.is_same_again) last[{process.recording, origin.boot_id, origin.pid}] = i;
  }
}

}  // namespace

// Each process of an imported file has a session of its own.
std::string recording_of(const trace::Origin& origin) {
  const std::string* file = imported_from(origin);
  return file != nullptr ? "file " + *file : origin.session;
}

std::vector<Process> list_processes(const trace::Reader& reader) {
  std::set<trace::WriterId> with_events;
  for (const trace::EventChunk& chunk : reader.event_chunks()) with_events.insert(chunk.writer);
  std::vector<Process> processes;
  for (const auto& [id, info] : reader.writers()) {
    Process& process = processes.emplace_back();
    process.info = &info;
    process.recording = recording_of(info.origin);
    process.is_imported = imported_from(info.origin) != nullptr;
    process.is_sampled = !process.is_imported && value_of(info.origin, "sampling") != nullptr;
    process.has_events = with_events.contains(id);
  }
  // Writers of imported processes have other numbers each time.
  const auto key = [](const Process& one) {
    const trace::Origin& origin = one.info->origin;
    return std::tie(one.is_sampled, origin.start_realtime_ns, one.recording, origin.pid, origin.executable);
  };
  std::stable_sort(processes.begin(), processes.end(),
                   [&](const Process& a, const Process& b) { return key(a) < key(b); });
  find_parents(processes);
  return processes;
}

}  // namespace kymo::push
