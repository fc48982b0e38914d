#include "import/perfetto_rows.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/text.h"
#include "import/perfetto_packets.h"

namespace kymo::import {
namespace {

using namespace perfetto;

constexpr size_t kMostPerfettoTracks = 1 << 18;  // the events of further tracks are on one
constexpr uint64_t kOtherTracks = 0;             // the uuid of that one: the track of events without one
constexpr int kMostParents = 64;                 // parents of parents

template <typename Message, typename Read>
Message read_message(std::string_view bytes, Read&& read) {
  Message message;
  Fields fields(bytes);
  for (Field field; fields.next(field);) read(message, field);
  return message;
}

// "queue 7 of context 1, of process 100, on GPU-8f3a: compute": what Kymo's export says about a queue.
bool take(std::string_view& text, std::string_view word, uint64_t& number) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

void PerfettoRows::describe(std::string_view descriptor) {
  uint64_t uuid = 0;
  Description description;
  Fields fields(descriptor);
  for (Field field; fields.next(field);) {
    switch (field.tag) {
      case track::kUuid:
        uuid = field.number;
        break;
      case track::kParentUuid:
        description.parent = field.number;
        break;
      case track::kName:
      case track::kStaticName:
        description.name = field.bytes;
        break;
      case track::kProcess:
        description.process = read_message<Process>(field.bytes, [](Process& read, const Field& one) {
          if (one.tag == process::kPid && one.is_number()) read.pid = static_cast<uint32_t>(one.number);
          if (one.tag == process::kName) read.name = one.bytes;
          if (one.tag == process::kCommandLine)
            read.command_line.append(read.command_line.empty() ? "" : " ").append(one.bytes);
        });
        break;
      case track::kThread:
        description.thread = read_message<Thread>(field.bytes, [](Thread& read, const Field& one) {
          if (one.tag == thread::kPid && one.is_number()) read.pid = static_cast<uint32_t>(one.number);
          if (one.tag == thread::kTid && one.is_number()) read.tid = static_cast<uint32_t>(one.number);
          if (one.tag == thread::kName) read.name = one.bytes;
        });
        break;
      case track::kCounter:
        description.counter = read_message<Counter>(field.bytes, [](Counter& read, const Field& one) {
          if (one.tag == counter::kCategories) read.category.append(read.category.empty() ? "" : ",").append(one.bytes);
          if (!one.is_number()) return;
          if (one.tag == counter::kUnit) read.counts_bytes = one.number == counter::kBytes;
          if (one.tag == counter::kMultiplier) read.multiplier = static_cast<int64_t>(one.number);
          if (one.tag == counter::kIsIncremental) read.is_incremental = one.number != 0;
          if (one.tag == counter::kType && one.number == counter::kThreadTime) read.name = "thread time";
          if (one.tag == counter::kType && one.number == counter::kInstructionCount) read.name = "instructions";
        });
        break;
      case track::kDescription: {
        constexpr std::string_view kOn = ", on ", kNamed = ": ";
        std::string_view text = field.bytes;
        Queue queue;
        if (!take(text, "queue ", queue.queue) || !take(text, " of context ", queue.context) ||
            !take(text, ", of process ", queue.pid) || !text.starts_with(kOn))
          break;
        text.remove_prefix(kOn.size());
        const size_t end = text.find(kNamed);
        if (end == text.npos) break;
        queue.device = text.substr(0, end);
        queue.name = text.substr(end + kNamed.size());
        description.queue = queue;
        break;
      }
      default:
        break;
    }
  }
  if (description.counter && !description.name.empty()) description.counter->name = description.name;
  if (descriptions_.size() >= kMostPerfettoTracks && !descriptions_.contains(uuid)) {
    ++left_out_;
    return;
  }
  if (description.thread) threads_.try_emplace({description.thread->pid, description.thread->tid}, uuid);
  descriptions_.insert_or_assign(uuid, std::move(description));
}

const PerfettoRows::Description* PerfettoRows::find(uint64_t uuid) const {
  const auto found = descriptions_.find(uuid);
  return found == descriptions_.end() ? nullptr : &found->second;
}

uint32_t PerfettoRows::track(uint64_t uuid) {
  if (const auto known = tracks_.find(uuid); known != tracks_.end()) return known->second;
  if (tracks_.size() >= kMostPerfettoTracks && uuid != kOtherTracks) return track(kOtherTracks);
  return tracks_[uuid] = builder_.add_track({.kind = trace::TrackKind::Process});
}

uint64_t PerfettoRows::thread(uint64_t pid, uint64_t tid) {
  const auto [known, is_new] = threads_.try_emplace({pid, tid}, 0);
  if (!is_new) return known->second;
  if (descriptions_.size() >= kMostPerfettoTracks) return kOtherTracks;
  while (descriptions_.contains(next_uuid_)) --next_uuid_;
  Description made;
  made.thread = Thread{pid, tid, {}};
  descriptions_.emplace(next_uuid_, std::move(made));
  return known->second = next_uuid_;
}

const PerfettoRows::Counter* PerfettoRows::counter(uint64_t uuid) const {
  const Description* const description = find(uuid);
  return description != nullptr && description->counter ? &*description->counter : nullptr;
}

uint32_t PerfettoRows::counter_track(uint64_t uuid, uint64_t thread) {
  const Description* const description = find(uuid);
  if (thread != 0 && thread != uuid && counter(thread) == nullptr) {
    const Description* const own = find(thread);
    // The values of a device are below the device, and those of its queue are sent with the queue's events.
    const bool same_parent = own != nullptr && description != nullptr && own->parent == description->parent;
    if (same_parent || pid_of(uuid) == pid_of(thread)) return track(thread);
  }
  return track(description != nullptr && description->parent != 0 ? description->parent : uuid);
}

void PerfettoRows::drop_queue(uint64_t uuid, std::vector<ImportedValue>& values) const {
  const Description* own = find(uuid);
  if (own != nullptr && !own->queue) own = parent_of(*own);  // a lane
  if (own == nullptr || !own->queue || values.size() < 2) return;
  const ImportedValue &device = values[values.size() - 2], &stream = values.back();
  if (device.name == "device" && stream.name == "stream" && stream.bits == own->queue->queue)
    values.resize(values.size() - 2);
}

std::optional<uint64_t> PerfettoRows::pid_of(uint64_t uuid) const {
  const Description* at = find(uuid);
  for (int depth = 0; at != nullptr && depth < kMostParents; ++depth) {
    if (at->process) return at->process->pid;
    if (at->thread) return at->thread->pid;
    if (at->queue) return at->queue->pid;
    at = at->parent != 0 ? parent_of(*at) : nullptr;
  }
  return std::nullopt;
}

uint32_t PerfettoRows::process(uint64_t pid) {
  const auto [known, is_new] = processes_.try_emplace(pid, 0);
  if (is_new) known->second = builder_.add_process({.pid = pid, .name = {}});
  return known->second;
}

// Kymo's export has a track for each lane of a thread or queue.
uint64_t PerfettoRows::lane_of(const Description& lane) const {
  const Description* const of = lane.parent != 0 ? parent_of(lane) : nullptr;
  if (lane.process || lane.thread || lane.counter || lane.queue || of == nullptr) return 0;
  if (!of->thread && !of->queue) return 0;
  const std::string& name = of->queue ? of->queue->name : of->name.empty() ? of->thread->name : of->name;
  std::string_view rest = lane.name;
  uint64_t number = 0;
  if (!rest.starts_with(name)) return 0;
  rest.remove_prefix(name.size());
  return take(rest, " (lane ", number) && rest == ")" ? number : 0;
}

// With the names of the tracks around it, up to its thread or process.
std::string PerfettoRows::name_of(const Description& description) const {
  constexpr int kMostNames = 8;
  std::string name = description.name;
  const Description* at = &description;
  for (int depth = 0; depth < kMostNames; ++depth) {
    at = at->parent != 0 ? parent_of(*at) : nullptr;
    if (at == nullptr || at->process || at->thread) break;
    if (!at->name.empty()) name = name.empty() ? at->name : base::format("{}: {}", at->name, name);
  }
  return name;
}

void PerfettoRows::finish() {
  for (const auto& [uuid, description] : descriptions_) {
    if (!description.process) continue;
    ImportedProcess& made = builder_.process(process(description.process->pid));
    made.name = !description.process->name.empty() ? description.process->name : description.name;
    if (!description.process->command_line.empty())
      made.metadata.emplace_back("command line", description.process->command_line);
  }
  std::vector<uint64_t> used;
  for (const auto& [uuid, number] : tracks_) used.push_back(uuid);
  for (const uint64_t uuid : used)  // the thread or queue of a lane may have no events of its own
    if (const Description* const lane = find(uuid); lane != nullptr && lane_of(*lane) != 0) track(lane->parent);

  for (const auto& [uuid, number] : tracks_) {
    const Description* const description = find(uuid);
    ImportedTrack made;
    made.kind = trace::TrackKind::Process;
    made.process = process(pid_of(uuid).value_or(0));
    if (description != nullptr) {
      if (const uint64_t lane = lane_of(*description); lane != 0) {
        made.lane_of = tracks_.at(description->parent);
        made.lane = static_cast<uint8_t>(std::min<uint64_t>(lane, UINT8_MAX));
      }
      if (description->thread) {
        made.kind = trace::TrackKind::Thread;
        made.tid = description->thread->tid;
        made.name = description->thread->name.empty() ? description->name : description->thread->name;
      } else if (description->queue) {
        made.kind = trace::TrackKind::DeviceQueue;
        made.name = description->queue->name;
        made.queue = description->queue->queue;
        made.context = description->queue->context;
        made.device = description->queue->device;
      } else if (!description->process) {
        made.name = name_of(*description);
      }
    }
    builder_.track(number) = made;
  }
}

}  // namespace kymo::import
