#include "import/perfetto.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "import/exported.h"
#include "import/perfetto_event.h"
#include "import/perfetto_packets.h"
#include "kymo/error.h"

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

// The tracks of a Perfetto trace: found by their uuids, named by their descriptions, which may come later.
class PerfettoRows {
 public:
  // A track of counter values.
  struct Counter {
    std::string name, category;
    bool counts_bytes = false, is_incremental = false;
    int64_t multiplier = 1;
  };

  explicit PerfettoRows(TraceBuilder& builder) : builder_(builder) {}

  // Reads a TrackDescriptor. Throws protozero::exception.
  void describe(std::string_view descriptor) {
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
            if (one.tag == counter::kCategories)
              read.category.append(read.category.empty() ? "" : ",").append(one.bytes);
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
          description.text = text;
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

  uint32_t track(uint64_t uuid) {
    if (const auto known = tracks_.find(uuid); known != tracks_.end()) return known->second;
    if (tracks_.size() >= kMostPerfettoTracks && uuid != kOtherTracks) return track(kOtherTracks);
    return tracks_[uuid] = builder_.add_track({.kind = trace::TrackKind::Process});
  }

  // The track of a thread that a sample names by its numbers.
  uint64_t thread(uint64_t pid, uint64_t tid) {
    const auto [known, is_new] = threads_.try_emplace({pid, tid}, 0);
    if (!is_new) return known->second;
    if (descriptions_.size() >= kMostPerfettoTracks) return kOtherTracks;
    while (descriptions_.contains(next_uuid_)) --next_uuid_;
    Description made;
    made.thread = Thread{pid, tid, {}};
    descriptions_.emplace(next_uuid_, std::move(made));
    return known->second = next_uuid_;
  }

  // Of the process that a track is in.
  std::optional<uint64_t> pid_of(uint64_t uuid) const {
    const Description* at = find(uuid);
    for (int depth = 0; at != nullptr && depth < kMostParents; ++depth) {
      if (at->process) return at->process->pid;
      if (at->thread) return at->thread->pid;
      if (at->queue) return at->queue->pid;
      at = at->parent != 0 ? parent_of(*at) : nullptr;
    }
    return std::nullopt;
  }

  // null: it is not a counter's track
  const Counter* counter(uint64_t uuid) const {
    const Description* const description = find(uuid);
    return description != nullptr && description->counter ? &*description->counter : nullptr;
  }

  // Where a counter's values go: the track of the thread that counts, if they are of one process.
  uint32_t counter_track(uint64_t uuid, uint64_t thread) {
    const Description* const description = find(uuid);
    if (thread != 0 && thread != uuid && counter(thread) == nullptr) {
      const Description* const own = find(thread);
      // The values of a device are below the device, and those of its queue are sent with the queue's events.
      const bool same_parent = own != nullptr && description != nullptr && own->parent == description->parent;
      if (same_parent || pid_of(uuid) == pid_of(thread)) return track(thread);
    }
    return track(description != nullptr && description->parent != 0 ? description->parent : uuid);
  }

  // Puts all tracks into their processes.
  void finish() {
    for (const auto& [uuid, description] : descriptions_) {
      if (!description.process) continue;
      ImportedProcess& made = builder_.process(process(description.process->pid));
      made.name = !description.process->name.empty() ? description.process->name : description.name;
      for (const ExportedProcess& exported : exported_processes(description.text)) exported.add_to(made);
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

  uint64_t left_out() const { return left_out_; }  // descriptions

 private:
  struct Process {
    uint64_t pid = 0;
    std::string name, command_line;
  };
  struct Thread {
    uint64_t pid = 0, tid = 0;
    std::string name;
  };
  struct Queue {  // of a trace that Kymo exported
    uint64_t queue = 0, context = 0, pid = 0;
    std::string device, name;
  };
  struct Description {
    uint64_t parent = 0;
    std::string name, text;
    std::optional<Process> process;
    std::optional<Thread> thread;
    std::optional<Counter> counter;
    std::optional<Queue> queue;
  };

  const Description* find(uint64_t uuid) const {
    const auto found = descriptions_.find(uuid);
    return found == descriptions_.end() ? nullptr : &found->second;
  }

  const Description* parent_of(const Description& description) const { return find(description.parent); }
  uint32_t process(uint64_t pid) {
    const auto [known, is_new] = processes_.try_emplace(pid, 0);
    if (is_new) known->second = builder_.add_process({.pid = pid, .name = {}});
    return known->second;
  }

  // 0: it is not a lane
  // Kymo's export has a track for each lane of a thread or queue.
  uint64_t lane_of(const Description& lane) const {
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
  std::string name_of(const Description& description) const {
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

  TraceBuilder& builder_;
  std::unordered_map<uint64_t, Description> descriptions_;
  std::unordered_map<uint64_t, uint32_t> tracks_;              // by uuid
  std::map<uint64_t, uint32_t> processes_;                     // by pid
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> threads_;  // uuids, by pid and tid
  uint64_t next_uuid_ = UINT64_MAX;
  uint64_t left_out_ = 0;
};

using perfetto::clock::kFirstCustom;
using perfetto::clock::kFirstOfSequence;

constexpr size_t kMostClocks = 4096;  // more are not known
constexpr int64_t kLatestClock = std::numeric_limits<int64_t>::max() / 4;

bool is_of_sequence(uint32_t clock) { return clock >= kFirstOfSequence && clock < kFirstCustom; }

std::optional<int64_t> nanoseconds(uint64_t value, uint64_t multiplier) {
  uint64_t ns = 0;
  if (__builtin_mul_overflow(value, multiplier, &ns) || ns > static_cast<uint64_t>(kLatestClock)) return std::nullopt;
  return static_cast<int64_t>(ns);
}

// The clocks of a Perfetto trace: converts the times of all of them to one, the trace's own.
//
// Snapshots say what several clocks showed at one moment. A time is converted with the last snapshot before it, over as
// many clocks as needed. Clocks 64 to 127 belong to a sequence. Their times may be differences to the time before.
class PerfettoClocks {
 public:
  struct Reading {
    uint32_t clock = 0;
    uint64_t value = 0;
    bool is_incremental = false;
    uint64_t multiplier = 1;  // nanoseconds of a unit
  };

  // `primary`: the trace's clock; 0: the snapshot does not say.
  void snapshot(uint32_t sequence, std::span<const Reading> readings, uint32_t primary) {
    if (primary_ == 0 && primary != 0 && primary < kFirstOfSequence) primary_ = primary;
    std::vector<std::pair<Key, int64_t>> times;
    for (const Reading& reading : readings) {
      const Key key = key_of(sequence, reading.clock);
      const uint64_t multiplier = std::max<uint64_t>(reading.multiplier, 1);
      if (clocks_.size() < kMostClocks || clocks_.contains(key))
        clocks_[key] = {reading.value, reading.is_incremental && is_of_sequence(reading.clock), multiplier};
      if (const auto ns = nanoseconds(reading.value, multiplier)) times.emplace_back(key, *ns);
    }
    if (times.size() < 2) return;
    has_snapshots_ = true;
    // All are related to one of them. So a snapshot takes no more memory than its readings.
    auto hub = std::find_if(times.begin(), times.end(), [&](const auto& one) { return one.first == trace_clock(); });
    if (hub == times.end()) hub = times.begin();
    const auto [hub_key, hub_ns] = *hub;
    for (const auto& one : times) {
      if (one.first == hub_key) continue;
      if (!relate(one.first, hub_key, one.second, hub_ns)) return;
      relate(hub_key, one.first, hub_ns, one.second);
    }
  }

  // Nanoseconds of the trace's clock. Nothing if the clock is not known, or the time is out of range. Must be called
  // for each time of a sequence, in order. `clock` 0: the packet does not say.
  std::optional<int64_t> trace_time(uint32_t sequence, uint32_t clock, uint64_t value) {
    if (clock == 0) {
      const bool has_boottime = clocks_.contains(perfetto::clock::kBoottime);
      clock = has_boottime ? perfetto::clock::kBoottime : static_cast<uint32_t>(trace_clock());
    }
    const Key key = key_of(sequence, clock);
    uint64_t multiplier = 1;
    if (const auto known = clocks_.find(key); known != clocks_.end()) {
      if (known->second.is_incremental) value = known->second.last += value;
      multiplier = known->second.multiplier;
    } else if (is_of_sequence(clock)) {
      return std::nullopt;
    }
    const auto ns = nanoseconds(value, multiplier);
    if (!ns) return std::nullopt;
    if (const auto time = convert(key, trace_clock(), *ns)) return time;
    // The trace does not relate its clocks, so it has only one.
    return is_of_sequence(clock) || has_snapshots_ ? std::nullopt : ns;
  }

  // When the trace's clock was 0, in nanoseconds since 1970; 0: not known.
  int64_t realtime_base() {
    const Key clock = trace_clock();
    if (clock == perfetto::clock::kRealtime) return 0;
    // At the first moment at which both were read.
    const std::vector<Key>* const path = route(clock, perfetto::clock::kRealtime);
    if (path == nullptr) return 0;
    const int64_t first = edges_.at({clock, path->front()}).front().from;
    const auto realtime = convert(clock, perfetto::clock::kRealtime, first);
    return realtime ? *realtime - first : 0;
  }

 private:
  using Key = uint64_t;  // the clock, and its sequence above
  struct OfSequence {
    uint64_t last = 0;
    bool is_incremental = false;
    uint64_t multiplier = 1;
  };
  struct Pair {
    int64_t from = 0, to = 0;
  };
  using Edges = std::map<std::pair<Key, Key>, std::vector<Pair>>;  // sorted by `from`

  static Key key_of(uint32_t sequence, uint32_t clock) {
    return (is_of_sequence(clock) ? Key{sequence} << 32 : 0) | clock;
  }

  Key trace_clock() const { return primary_ != 0 ? primary_ : perfetto::clock::kBoottime; }

  bool relate(Key from, Key to, int64_t from_ns, int64_t to_ns) {
    auto known = edges_.find({from, to});
    if (known == edges_.end()) {
      if (edges_.size() >= 2 * kMostClocks) return false;
      known = edges_.try_emplace({from, to}).first;
      routes_.clear();
    }
    std::vector<Pair>& pairs = known->second;
    if (pairs.empty() || pairs.back().from < from_ns) pairs.push_back({from_ns, to_ns});
    return true;
  }

  // The clocks from `from` to `to`, without `from`.
  const std::vector<Key>* route(Key from, Key to) {
    const auto known = routes_.find({from, to});
    if (known != routes_.end()) return known->second.empty() ? nullptr : &known->second;
    std::vector<Key>& path = routes_[{from, to}];
    std::map<Key, Key> reached_from{{from, from}};
    std::deque<Key> open{from};
    while (!open.empty() && !reached_from.contains(to)) {
      const Key here = open.front();
      open.pop_front();
      for (auto edge = edges_.lower_bound({here, 0}); edge != edges_.end() && edge->first.first == here; ++edge)
        if (reached_from.try_emplace(edge->first.second, here).second) open.push_back(edge->first.second);
    }
    if (!reached_from.contains(to)) return nullptr;
    for (Key at = to; at != from; at = reached_from[at]) path.push_back(at);
    std::reverse(path.begin(), path.end());
    return &path;
  }

  std::optional<int64_t> convert(Key from, Key to, int64_t ns) {
    if (from == to) return ns;
    const std::vector<Key>* const path = route(from, to);
    if (path == nullptr) return std::nullopt;
    for (const Key next : *path) {
      const std::vector<Pair>& pairs = edges_.at({from, next});
      auto pair =
          std::upper_bound(pairs.begin(), pairs.end(), ns, [](int64_t at, const Pair& one) { return at < one.from; });
      if (pair != pairs.begin()) --pair;
      ns += pair->to - pair->from;  // each is at most kLatestClock
      if (ns > kLatestClock || ns < -kLatestClock) return std::nullopt;
      from = next;
    }
    return ns;
  }

  std::map<Key, OfSequence> clocks_;
  Edges edges_;
  std::map<std::pair<Key, Key>, std::vector<Key>> routes_;  // empty: there is none
  uint32_t primary_ = 0;
  bool has_snapshots_ = false;
};

}  // namespace

using namespace perfetto;

namespace {

// CPU samples of a Perfetto trace, as samples of Kymo (docs/sampling.md): of traces that Kymo exported, and of others.
class PerfettoSamples {
 public:
  PerfettoSamples(TraceBuilder& builder, PerfettoRows& rows) : builder_(builder), rows_(rows) {}

  // Reads a PerfSample. Throws protozero::exception.
  void add(const PerfettoSequence& sequence, int64_t time, std::string_view perf_sample);
  // After all: states how often samples were taken.
  void finish();

  uint64_t without_stack() const { return without_stack_; }

 private:
  std::vector<ImportedFrame> frames_of(const PerfettoSequence& sequence, uint64_t callstack);

  TraceBuilder& builder_;
  PerfettoRows& rows_;
  std::vector<ImportedValue> values_;
  std::vector<std::string> texts_;  // of frames without a name
  uint64_t period_ns_ = 0;
  uint64_t without_stack_ = 0;
};

constexpr size_t kMostFrames = 1024;

std::string path_of(const PerfettoSequence& sequence, uint64_t mapping) {
  const auto parts = sequence.mappings.find(mapping);
  std::string path;
  if (parts == sequence.mappings.end()) return path;
  for (const uint64_t part : parts->second) {
    const std::string* const text = PerfettoSequence::find(sequence.mapping_paths, part);
    if (text == nullptr || text->empty()) continue;
    // Other tools store each folder of a path by itself, without slashes.
    if (parts->second.size() > 1) path += '/';
    path += *text;
  }
  return path;
}

std::vector<ImportedFrame> PerfettoSamples::frames_of(const PerfettoSequence& sequence, uint64_t callstack) {
  std::vector<ImportedFrame> frames;
  const auto stack = sequence.callstacks.find(callstack);
  if (stack == sequence.callstacks.end()) return frames;
  texts_.clear();
  texts_.reserve(2 * std::min(stack->second.size(), kMostFrames));  // their addresses must not change
  for (auto id = stack->second.rbegin(); id != stack->second.rend() && frames.size() < kMostFrames; ++id) {
    const auto known = sequence.frames.find(*id);
    if (known == sequence.frames.end()) continue;
    const std::string& module = texts_.emplace_back(path_of(sequence, known->second.mapping));
    const std::string* const name = PerfettoSequence::find(sequence.function_names, known->second.function);
    const bool is_named = name != nullptr && !name->empty();
    const std::string& function =
        is_named
            ? *name
            : texts_.emplace_back(base::format("{}+{:#x}", module.substr(module.rfind('/') + 1), known->second.offset));
    frames.push_back({.function = function, .file = {}, .line = 0, .module = module});
  }
  return frames;
}

void PerfettoSamples::add(const PerfettoSequence& sequence, int64_t time, std::string_view perf_sample) {
  uint64_t pid = 0, tid = 0, callstack = 0;
  Fields fields(perf_sample);
  for (Field field; fields.next(field);) {
    if (!field.is_number()) continue;
    if (field.tag == perf_sample::kPid) pid = static_cast<uint32_t>(field.number);
    if (field.tag == perf_sample::kTid) tid = static_cast<uint32_t>(field.number);
    if (field.tag == perf_sample::kCallstack) callstack = field.number;
  }
  if (callstack == 0) {
    ++without_stack_;
    return;
  }
  if (period_ns_ == 0) period_ns_ = sequence.sample_period_ns;
  const uint32_t track = rows_.track(rows_.thread(pid, tid));
  const uint32_t stack = builder_.stack(track, frames_of(sequence, callstack));
  values_.assign(1, {"node", trace::FieldType::UInt, 0, 0, {}});
  builder_.point(track, time, trace::PointKind::Sample, stack, {"sample", "cpu", &values_});
}

void PerfettoSamples::finish() {
  constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
  if (period_ns_ == 0 || builder_.process_count() == 0) return;
  builder_.process(0).metadata.emplace_back("sampling", base::format("{} Hz", kNanosecondsPerSecond / period_ns_));
}

using namespace perfetto;
using trace::FieldType;
using trace::PointKind;

constexpr size_t kMostSequences = 1 << 16;

// Packets with other content than events. Nothing is lost without the first group.
constexpr std::array<uint32_t, 9> kHousekeeping = {33, 35, 36, 45, 46, 69, 72, 87, 89};
constexpr std::array<std::pair<uint32_t, std::string_view>, 10> kKnownContent = {{{1, "ftrace_events"},
                                                                                  {2, "process_tree"},
                                                                                  {5, "chrome_events"},
                                                                                  {7, "sys_stats"},
                                                                                  {9, "process_stats"},
                                                                                  {37, "profile_packet"},
                                                                                  {39, "android_log"},
                                                                                  {52, "gpu_counter_event"},
                                                                                  {53, "gpu_render_stage_event"},
                                                                                  {56, "heap_graph"}}};
constexpr uint32_t kMostContent = 256;  // kinds of packets that are counted one by one

class PerfettoImport {
 public:
  explicit PerfettoImport(TraceBuilder& builder) : builder_(builder), rows_(builder), samples_(builder, rows_) {}

  int64_t read(ByteSource& source) {
    PerfettoPackets packets([&](std::span<char> buffer) { return source.read(buffer); });
    read_all(packets, false);
    if (packet_count_ == 0) throw Error("it has no packets, so it is not a Perfetto trace");
    rows_.finish();
    samples_.finish();
    report(packets, source);
    return clocks_.realtime_base();
  }

 private:
  void read_all(PerfettoPackets& packets, bool is_nested) {
    for (std::string_view bytes; packets.next(bytes);) {
      ++packet_count_;
      try {
        add(bytes, is_nested);
      } catch (const protozero::exception&) {
        ++damaged_;
      }
    }
  }

  void add(std::string_view bytes, bool is_nested) {
    const PerfettoPacket packet = read_packet(bytes);
    if (!packet.compressed.empty()) return is_nested ? void(++damaged_) : decompress(packet.compressed, packet.codec);
    if (packet.other != 0 && !packet.has_event && packet.descriptor.empty() && packet.snapshot.empty())
      ++other_content_[std::min(packet.other, kMostContent)];
    if (!packet.descriptor.empty()) rows_.describe(packet.descriptor);
    if (sequences_.size() >= kMostSequences && !sequences_.contains(packet.sequence)) {
      ++beyond_sequences_;
      return;
    }
    PerfettoSequence& sequence = sequences_[packet.sequence];
    if (packet.previous_dropped) sequence.packet_was_lost();
    if ((packet.flags & packet::kStateCleared) != 0) sequence.clear();
    if (!packet.defaults.empty()) sequence.set_defaults(packet.defaults);
    if (!packet.interned.empty()) sequence.define(packet.interned);
    if (!packet.snapshot.empty()) snapshot(packet.sequence, packet.snapshot);
    if (!packet.time) {
      without_time_ += packet.has_event;
      return;
    }
    const uint32_t clock = packet.clock != 0 ? packet.clock : sequence.default_clock;
    // For every packet, because some clocks count from one to the next.
    const std::optional<int64_t> time = clocks_.trace_time(packet.sequence, clock, *packet.time);
    if (!packet.has_event) return;
    if ((packet.flags & packet::kNeedsState) != 0 && !sequence.is_valid()) {
      ++without_state_;
    } else if (!time) {
      ++without_clock_;
    } else if (!packet.sample.empty()) {
      samples_.add(sequence, *time, packet.sample);
    } else {
      event(sequence, *time, packet.event);
    }
  }

  void decompress(std::string_view compressed, Inflated::Codec codec) {
    Inflated bytes(compressed, codec);
    PerfettoPackets packets([&](std::span<char> buffer) { return bytes.read(buffer); });
    read_all(packets, true);
    damaged_ += packets.left_out() + (bytes.is_damaged() || !packets.damage().empty());
  }

  void snapshot(uint32_t sequence, std::string_view bytes) {
    std::vector<PerfettoClocks::Reading> readings;
    uint32_t primary = 0;
    Fields fields(bytes);
    for (Field field; fields.next(field);) {
      if (field.tag == clock_snapshot::kPrimaryClock && field.is_number())
        primary = static_cast<uint32_t>(field.number);
      if (field.tag != clock_snapshot::kClocks || !field.is_bytes()) continue;
      PerfettoClocks::Reading& reading = readings.emplace_back();
      Fields of_clock(field.bytes);
      for (Field one; of_clock.next(one);) {
        if (one.tag == clock::kId) reading.clock = static_cast<uint32_t>(one.number);
        if (one.tag == clock::kTimestamp) reading.value = one.number;
        if (one.tag == clock::kIsIncremental) reading.is_incremental = one.number != 0;
        if (one.tag == clock::kMultiplier) reading.multiplier = one.number;
      }
    }
    clocks_.snapshot(sequence, readings, primary);
  }

  void event(PerfettoSequence& sequence, int64_t time, std::string_view bytes) {
    read_event(bytes, sequence, event_);
    unnamed_ += event_.has_unknown_name;
    const uint64_t uuid = event_.track.value_or(sequence.default_track);
    switch (event_.type) {
      case event::kSliceBegin:
        begin(uuid, time);
        break;
      case event::kSliceEnd:
        end(uuid, time);
        break;
      case event::kInstant:
        instant(uuid, time);
        break;
      case event::kCounter:
        counter(sequence, uuid, time, rows_.counter_track(uuid, sequence.default_track), event_.counter_value,
                event_.double_counter_value);
        break;
      default:
        ++without_type_;
        return;
    }
    extra_counters(sequence, uuid, time);
  }

  void begin(uint64_t uuid, int64_t time) {
    std::vector<ImportedValue>& values = event_.args.values;
    const ImportedEvent event{event_.name, event_.category, &values, take_colour(values)};
    const uint64_t correlation = event_.correlation;
    if (correlation != 0 && !values.empty() && values.back().name == "correlation" && values.back().bits == correlation)
      values.pop_back();
    const uint32_t track = rows_.track(uuid);
    builder_.begin(track, time, event, correlation);
    // Kymo connects a launch and its work by their correlation, and writes flows for other tools.
    if (correlation == 0) flows(track, time);
  }

  void end(uint64_t uuid, int64_t time) {
    values_at_ends_ += event_.args.values.size();
    const uint32_t track = rows_.track(uuid);
    flows(track, time);
    builder_.end(track, time);
  }

  void instant(uint64_t uuid, int64_t time) {
    const uint32_t track = rows_.track(uuid);
    std::vector<ImportedValue>& values = event_.args.values;
    const auto note = take_note(values, additions_);
    const uint32_t colour = take_colour(values);
    const ImportedEvent event{event_.name, event_.category, &values, colour};
    if (!note) {
      builder_.point(track, time, PointKind::Instant, 0, event);
      return flows(track, time);
    }
    const uint32_t stack = stack_of(additions_.text("stack"), builder_, track);
    if (note->kind == PointKind::Allocation && stack != 0) values.push_back(stack_value(stack));
    builder_.point(track, time, note->kind, note->kind == PointKind::Sample ? stack : note->id, event);
  }

  // A flow begins at the first event that has its id.
  void flows(uint32_t track, int64_t time) {
    const auto point = [&](PointKind kind, uint64_t number) {
      builder_.point(track, time, kind, number, {"flow", {}, nullptr});
    };
    for (const uint64_t id : event_.flows) {
      const auto [known, is_new] = flows_.try_emplace(id, next_flow_);
      next_flow_ += is_new;
      point(is_new ? PointKind::FlowBegin : PointKind::FlowStep, known->second);
    }
    for (const uint64_t id : event_.terminating_flows) {
      const auto known = flows_.find(id);
      point(PointKind::FlowEnd, known != flows_.end() ? known->second : next_flow_++);
      if (known != flows_.end()) flows_.erase(known);
    }
  }

  void counter(PerfettoSequence& sequence, uint64_t uuid, int64_t time, uint32_t track, std::optional<int64_t> value,
               std::optional<double> real) {
    const PerfettoRows::Counter* const of = rows_.counter(uuid);
    if (of != nullptr && of->category == convert::kDerivedCategory) return;
    ImportedValue imported{"value", FieldType::Int, 0, 0, {}};
    if (real) {
      imported.type = FieldType::Double;
      imported.real = *real * static_cast<double>(of != nullptr ? of->multiplier : 1);
    } else {
      auto number = static_cast<uint64_t>(value.value_or(0));
      if (of != nullptr) number *= static_cast<uint64_t>(of->multiplier);
      if (of != nullptr && of->is_incremental) {
        int64_t& sum = sequence.counter_sums[uuid];
        sum = static_cast<int64_t>(number += static_cast<uint64_t>(sum));
      }
      imported.bits = number;
      if (of != nullptr && of->counts_bytes) imported.type = FieldType::ByteCount;
    }
    counter_values_.assign(1, imported);
    const bool is_named = of != nullptr && !of->name.empty();
    builder_.point(track, time, PointKind::Counter, 0,
                   {is_named               ? std::string_view(of->name)
                    : !event_.name.empty() ? event_.name
                                           : "counter",
                    of != nullptr ? std::string_view(of->category) : event_.category, &counter_values_});
  }

  void extra_counters(PerfettoSequence& sequence, uint64_t uuid, int64_t time) {
    const auto& tracks = event_.extra_tracks.empty() ? sequence.extra_counters : event_.extra_tracks;
    const auto& double_tracks =
        event_.extra_double_tracks.empty() ? sequence.extra_double_counters : event_.extra_double_tracks;
    const uint32_t track = rows_.track(uuid);
    for (size_t i = 0; i < event_.extra_values.size(); ++i) {
      if (i < tracks.size())
        counter(sequence, tracks[i], time, track, event_.extra_values[i], std::nullopt);
      else
        ++extra_without_track_;
    }
    for (size_t i = 0; i < event_.extra_doubles.size(); ++i) {
      if (i < double_tracks.size())
        counter(sequence, double_tracks[i], time, track, std::nullopt, event_.extra_doubles[i]);
      else
        ++extra_without_track_;
    }
  }

  void report(const PerfettoPackets& packets, const ByteSource& source) {
    builder_.lose("packets that are damaged", damaged_);
    builder_.lose("events without a time", without_time_);
    builder_.lose("events of a clock that the file does not relate to the others", without_clock_);
    builder_.lose("events whose names are in a packet that was lost", without_state_);
    builder_.lose("events without a type, such as those in Chrome's old form (legacy_event)", without_type_);
    builder_.lose("names that the file does not define", unnamed_);
    builder_.lose("arguments at the ends of ranges", values_at_ends_);
    builder_.lose("values of counters without a track", extra_without_track_);
    builder_.lose(base::format("packets of more than {} sequences", kMostSequences), beyond_sequences_);
    builder_.lose("CPU samples without a stack: they only count what was lost", samples_.without_stack());
    builder_.lose("descriptions of tracks, because there are too many", rows_.left_out());
    builder_.lose(base::format("packets larger than {} MiB", PerfettoPackets::kLargest >> 20), packets.left_out());
    for (uint32_t field = 0; field < other_content_.size(); ++field) {
      if (std::find(kHousekeeping.begin(), kHousekeeping.end(), field) != kHousekeeping.end()) continue;
      const auto known =
          std::find_if(kKnownContent.begin(), kKnownContent.end(), [&](const auto& one) { return one.first == field; });
      builder_.lose(known != kKnownContent.end() ? base::format("packets of type {}", known->second)
                    : field == kMostContent      ? std::string("packets of unknown types")
                                                 : base::format("packets of type {}", field),
                    other_content_[field]);
    }
    if (!packets.damage().empty()) builder_.lose_damaged("the end of the file: " + packets.damage());
    if (!source.damage().empty()) builder_.lose_damaged("the rest of the file: " + source.damage());
  }

  TraceBuilder& builder_;
  PerfettoRows rows_;
  PerfettoSamples samples_;
  PerfettoClocks clocks_;
  std::unordered_map<uint32_t, PerfettoSequence> sequences_;
  PerfettoEvent event_;
  std::vector<ImportedValue> counter_values_;
  Additions additions_;
  std::unordered_map<uint64_t, uint64_t> flows_;  // numbers of open flows
  uint64_t next_flow_ = 1;
  uint64_t packet_count_ = 0, damaged_ = 0, without_time_ = 0, without_clock_ = 0, without_state_ = 0;
  uint64_t without_type_ = 0, unnamed_ = 0, values_at_ends_ = 0, extra_without_track_ = 0;
  uint64_t beyond_sequences_ = 0;
  std::array<uint64_t, kMostContent + 1> other_content_{};
};

}  // namespace

int64_t read_perfetto(ByteSource& source, TraceBuilder& builder) { return PerfettoImport(builder).read(source); }

}  // namespace kymo::import
