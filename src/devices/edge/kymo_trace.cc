#include "edge/kymo_trace.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/host.h"
#include "base/text.h"
#include "base/version.h"
#include "convert/kineto.h"
#include "edge/inputs.h"
#include "edge/rows.h"
#include "kymo/error.h"
#include "trace/model.h"
#include "trace/writer.h"

namespace kymo::edge {
namespace {

using trace::FieldType;

// A chunk holds at most 64 MiB, and a program may create names and texts of any length.
constexpr size_t kLongestName = 1 << 16;
constexpr size_t kLongestText = 1 << 20;

enum Known : uint32_t {
  kInputs = 1,
  kSequence = 2,
  kEngineId = 4,
  kHandle = 8,
  kHierarchy = 16,
  kCallStack = 32,
  kBackend = 64,
  kFlops = 128,
  kMemory = 256,
  kCounts = 512,
  kQueued = 1024,
  kRaw = 2048,
};
constexpr unsigned kKindShift = 16;

void put_text(trace::Values& to, std::string_view text) {
  text = text.substr(0, kLongestText);
  to.ints.push_back(text.size());
  to.text += text;
}

void put_signed(trace::Values& to, int64_t value) { to.ints.push_back(static_cast<uint64_t>(value)); }

// Kineto's categories, so that an export of the trace looks like the file that the profiler writes itself.
std::string_view trace_category(const EdgeEvent& event) {
  if (event.kind == EdgeKind::Device) return convert::kineto::device_work(event.name).category;
  return event.kind == EdgeKind::User ? convert::kineto::kAnnotation : convert::kineto::kOperator;
}

// The classes of points.
struct PointClasses {
  uint32_t memory = 1;         // of Allocation and Free: bytes, totals, device
  uint32_t out_of_memory = 2;  // of Instant
  uint32_t stack = 3;          // of Sample
  uint32_t window_end = 4;     // of Instant
};

// The event classes of a result: one for each combination of name, kind of event, and set of known values. The fields
// are those arguments of the Chrome file that a trace does not already contain. Also the classes of points.
class TraceClasses {
 public:
  explicit TraceClasses(const ResultData& result) : result_(result) {
    const std::vector<trace::Field> memory = {{"Bytes", FieldType::Int},
                                              {"Total Allocated", FieldType::ByteCount},
                                              {"Total Reserved", FieldType::ByteCount},
                                              {"Device Type", FieldType::Int},
                                              {"Device Id", FieldType::Int}};
    if (!result.allocations.empty()) {
      new_.push_back({kPoints.memory, "[memory]", "cpu_instant_event", 0, memory});
      new_.push_back({kPoints.out_of_memory, "[OutOfMemory]", "cpu_instant_event", 0, memory});
    }
    if (!result.stacks.empty()) new_.push_back({kPoints.stack, "C++ stack", "stack", 0, {}});
    new_.push_back({kPoints.window_end, "Record Window End", "window", 0, {}});
  }

  static constexpr PointClasses kPoints{};

  // Creates the class if it is the first of its kind.
  uint32_t of(const EdgeEvent& event) {
    const uint32_t known = known_about(event);
    const uint32_t kind = static_cast<uint32_t>(event.kind) << kKindShift;
    const auto [entry, is_new] = ids_.try_emplace({event.name.data(), event.name.size(), kind | known}, next_id_);
    if (is_new) {
      const std::string name(event.name.substr(0, kLongestName));
      new_.push_back({next_id_++, name, std::string(trace_category(event)), 0, fields_of(event, known)});
    }
    return entry->second;
  }

  // The values for the event's class, in the order of its fields.
  void append_values(const EdgeEvent& event, trace::Values& to) {
    struct Append {
      trace::Values& to;
      void text(std::string_view, std::string_view text) { put_text(to, text); }
      void integer(std::string_view, FieldType, uint64_t value) { to.ints.push_back(value); }
      void count(std::string_view, const EdgeCount& count) {
        constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
        to.doubles.push_back(count.known ? count.inclusive : kUnknown);
        to.doubles.push_back(count.known ? count.exclusive : kUnknown);
        to.ints.push_back(count.scaled ? 1 : 0);
      }
    };
    for_each_value(event, known_about(event), Append{to});
  }

  // For kPoints.memory and kPoints.out_of_memory.
  void append_values(const EdgeAllocation& allocation, trace::Values& to) const {
    put_signed(to, allocation.bytes);
    to.ints.push_back(allocation.total_allocated);
    to.ints.push_back(allocation.total_reserved);
    put_signed(to, allocation.device.type);
    put_signed(to, allocation.device.index);
  }

  // The class of a Counter: the memory of a device that is in use. One value, in bytes.
  uint32_t memory_counter(const DeviceId& device) {
    const auto [entry, is_new] = memory_counters_.try_emplace({device.type, device.index}, next_id_);
    if (is_new) {
      const std::string name = "memory in use, " + device_text(device);
      new_.push_back({next_id_++, name, "memory", 0, {{"bytes", FieldType::Int}}});
    }
    return entry->second;
  }

  // The classes that were created since the last call, for the file.
  std::vector<trace::EventClass> take_new() { return std::exchange(new_, {}); }

 private:
  struct Key {
    const char* name;
    size_t size;
    uint32_t kind_and_known;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return (reinterpret_cast<uintptr_t>(key.name) ^ (key.size << 32 ^ key.kind_and_known)) * 0x9E3779B97F4A7C15u >>
             16;
    }
  };
  uint32_t known_about(const EdgeEvent& event) const {
    uint32_t known = 0;
    const auto add_if = [&](bool there, Known what) { known |= there ? what : 0u; };
    add_if(!result_.inputs_of(event).empty(), kInputs);
    add_if(event.sequence >= 0, kSequence);
    add_if(event.engine_id != 0, kEngineId);
    add_if(event.debug_handle >= 0, kHandle);
    add_if(!event.module_hierarchy.empty(), kHierarchy);
    add_if(!event.call_stack.empty(), kCallStack);
    add_if(event.kind == EdgeKind::Backend, kBackend);
    add_if(event.flops != 0, kFlops);
    add_if(event.memory_bytes != 0 || event.self_memory_bytes != 0, kMemory);
    add_if(!result_.counts_of(event).empty(), kCounts);
    add_if(event.queued_ns != 0, kQueued);
    add_if(event.raw_end_ns != 0 && (event.raw_start_ns != event.start_ns || event.raw_end_ns != event.end_ns), kRaw);
    return known;
  }

  std::vector<trace::Field> fields_of(const EdgeEvent& event, uint32_t known) {
    struct Collect {
      std::vector<trace::Field>& to;
      void text(std::string_view name, std::string_view) { to.push_back({std::string(name), FieldType::String}); }
      void integer(std::string_view name, FieldType type, uint64_t) { to.push_back({std::string(name), type}); }
      void count(const std::string& name, const EdgeCount&) {
        to.push_back({name, FieldType::Double});
        to.push_back({name + " (exclusive)", FieldType::Double});
        to.push_back({name + " (scaled)", FieldType::Bool});
      }
    };
    std::vector<trace::Field> fields;
    for_each_value(event, known, Collect{fields});
    return fields;
  }

  // The known values of an event, each with its name.
  template <class Put>
  void for_each_value(const EdgeEvent& event, uint32_t known, Put put) {
    const auto put_int = [&](std::string_view name, int64_t value) {
      put.integer(name, FieldType::Int, static_cast<uint64_t>(value));
    };
    if (known & kInputs) {
      const InputTexts& texts = inputs_.of(result_.inputs_of(event));
      put.text("Input Dims", texts.sizes);
      put.text("Input Strides", texts.strides);
      put.text("Input type", texts.types);
      put.text("Concrete Inputs", texts.values);
    }
    if (known & kSequence) {
      put_int("Sequence number", event.sequence);
      put.integer("Fwd thread id", FieldType::UInt, event.forward_thread);
    }
    if (known & kEngineId) put.integer("Record function id", FieldType::UInt, event.engine_id);
    if (known & kHandle) put_int("Debug handle", event.debug_handle);
    if (known & kHierarchy) put.text("Module Hierarchy", event.module_hierarchy);
    if (known & kCallStack) put.text("Call stack", event.call_stack);
    if (known & kBackend) put.text("Backend", event.backend);
    if (known & kFlops) put.integer("Flops", FieldType::UInt, event.flops);
    if (known & kMemory) {
      put_int("Memory", event.memory_bytes);
      put_int("Self memory", event.self_memory_bytes);
    }
    if (known & kCounts) {
      const std::span<const EdgeCount> counts = result_.counts_of(event);
      for (size_t i = 0; i < counts.size(); ++i) put.count(result_.event_names[i], counts[i]);
    }
    if (known & kQueued) put.integer("Queued ns", FieldType::UInt, event.queued_ns);
    if (known & kRaw) {
      put.integer("Raw start ns", FieldType::UInt, event.raw_start_ns);
      put.integer("Raw duration ns", FieldType::UInt,
                  event.raw_end_ns > event.raw_start_ns ? event.raw_end_ns - event.raw_start_ns : 0);
    }
  }

  const ResultData& result_;
  InputTextCache inputs_;
  std::unordered_map<Key, uint32_t, Hash> ids_;
  std::map<std::pair<int32_t, int32_t>, uint32_t> memory_counters_;  // by type and index
  std::vector<trace::EventClass> new_;
  uint32_t next_id_ = 5;  // after kPoints
};

constexpr size_t kEventsPerChunk = 32'768;
constexpr size_t kTextPerChunk = 8 << 20;
constexpr size_t kMaxOpen = 60'000;      // max number of open ranges in a chunk
constexpr size_t kTextOfOpen = 2 << 20;  // max size of their texts; the texts are written again when they end

uint16_t narrowed(uint64_t number) {
  return static_cast<uint16_t>(std::min<uint64_t>(number, std::numeric_limits<uint16_t>::max()));
}

// The output for the chunks of a trace, and the data that all tracks share.
struct TraceTarget {
  trace::Writer& writer;
  trace::WriterId id;
  const ResultData& result;
  const Rows& rows;
  TraceClasses& classes;
  std::vector<bool> launches;  // events that requested device operations
};

// Writes the events of one track: in the order of the program, split into chunks. Each chunk lists what is open at its
// ends (docs/format.md).
//
//   for the track's row     begin(event), point(…), … in the order of time; finish()
//   for its other lanes     lanes(events)
class TrackWriter {
 public:
  TrackWriter(TraceTarget& target, uint32_t track) : target_(target) { batch_.track = batch_.ring = track; }

  // The next event of the row. Its depth shows which earlier events have ended before it.
  void begin(uint32_t event) {
    end_down_to(target_.rows.places[event].depth);
    open_.push_back(event);
  }

  // An allocation (an index), the stack of an event, the end of the recording. In order of time.
  void allocation(uint32_t index) {
    const EdgeAllocation& one = target_.result.allocations[index];
    const auto [kind, class_id] = one.out_of_memory
                                      ? std::pair(trace::PointKind::Instant, TraceClasses::kPoints.out_of_memory)
                                      : std::pair(one.bytes < 0 ? trace::PointKind::Free : trace::PointKind::Allocation,
                                                  TraceClasses::kPoints.memory);
    end_before(one.time_ns);
    target_.classes.append_values(one, batch_.points.values);
    append_point(one.time_ns, kind, class_id, one.address);
    if (one.out_of_memory) return;
    batch_.points.values.ints.push_back(one.total_allocated);
    append_point(one.time_ns, trace::PointKind::Counter, target_.classes.memory_counter(one.device), 0);
  }

  void stack_of(uint32_t event) {
    const EdgeEvent& one = target_.result.events[event];
    append_point(one.start_ns, trace::PointKind::Sample, TraceClasses::kPoints.stack, one.stack + uint64_t{1});
  }

  // Records the time until which unfinished events were open.
  void window_end() {
    end_before(target_.result.end_ns);
    append_point(target_.result.end_ns, trace::PointKind::Instant, TraceClasses::kPoints.window_end, 0);
  }

  // Ends all open events, except those that never ended.
  void finish() {
    size_t unfinished = 0;
    while (unfinished < open_.size() && !target_.result.events[open_[unfinished]].finished) ++unfinished;
    end_down_to(unfinished);
    if (batch_.ranges.size() + batch_.points.size() != 0 || batch_.opening.size() != open_.size()) flush();
  }

  // After finish(): events of lanes above 0, each lane in the order of begin. `first_lane` becomes lane 1.
  void lanes(std::span<const uint32_t> events, uint32_t first_lane) {
    // Events of one lane are sorted by their ends, children before parents. Then the events of all lanes are sorted by
    // their ends. That sort is stable, so it keeps the order within each lane.
    std::vector<std::vector<uint32_t>> open;
    std::vector<uint32_t> ended;
    ended.reserve(events.size());
    const auto end_lane = [&](std::vector<uint32_t>& stack, size_t depth) {
      for (; stack.size() > depth; stack.pop_back()) ended.push_back(stack.back());
    };
    for (const uint32_t event : events) {
      const RowPlace& place = target_.rows.places[event];
      const size_t lane = place.lane - first_lane;
      if (lane >= open.size()) open.resize(lane + 1);
      end_lane(open[lane], place.depth);
      open[lane].push_back(event);
    }
    for (std::vector<uint32_t>& stack : open) end_lane(stack, 0);
    std::stable_sort(ended.begin(), ended.end(), [&](uint32_t a, uint32_t b) { return end_of(a) < end_of(b); });
    for (const uint32_t event : ended) {
      const RowPlace& place = target_.rows.places[event];
      append_range(event, place.depth, narrowed(place.lane - first_lane + uint64_t{1}));
      flush_if_large();
    }
    if (batch_.ranges.size() != 0) flush();
  }

 private:
  void end_down_to(size_t depth) {
    while (open_.size() > depth) {
      const uint32_t event = open_.back();
      open_.pop_back();
      append_range(event, static_cast<uint32_t>(open_.size()), 0);
      flush_if_large();
    }
  }

  // A point in time exactly at the end of a range is inside the range.
  void end_before(uint64_t time) {
    size_t depth = open_.size();
    while (depth != 0 && end_of(open_[depth - 1]) < time) --depth;
    end_down_to(depth);
  }

  uint64_t end_of(uint32_t event) const {
    const EdgeEvent& one = target_.result.events[event];
    return one.start_ns + length_ns(one);
  }

  void append_range(uint32_t event, uint32_t depth, uint16_t lane) {
    const EdgeEvent& one = target_.result.events[event];
    trace::Ranges& ranges = batch_.ranges;
    ranges.end.push_back(end_of(event));
    ranges.duration.push_back(length_ns(one));
    ranges.class_id.push_back(target_.classes.of(one));
    ranges.depth.push_back(narrowed(depth));
    if (lane != 0) ranges.lane.push_back(lane);  // ranges of lane 0 have separate batches
    if (!target_.launches.empty()) ranges.correlation.push_back(correlation_of(event));
    target_.classes.append_values(one, ranges.values);
  }

  void append_point(uint64_t time, trace::PointKind kind, uint32_t class_id, uint64_t id) {
    batch_.points.time.push_back(time);
    batch_.points.kind.push_back(kind);
    batch_.points.class_id.push_back(class_id);
    batch_.points.id.push_back(id);
    flush_if_large();
  }

  // The number that links a device operation to the operation that requested it: the number of the latter.
  uint64_t correlation_of(uint32_t event) const {
    const EdgeEvent& one = target_.result.events[event];
    const bool on_device = event >= target_.result.first_device_event;
    const uint32_t launch = on_device ? one.caused_by : event;
    return launch < target_.launches.size() && target_.launches[launch] ? launch + uint64_t{1} : 0;
  }

  trace::OpenRange open_range(uint32_t event, size_t& text_left) {
    const EdgeEvent& one = target_.result.events[event];
    trace::Values values;
    target_.classes.append_values(one, values);
    trace::OpenRange open;
    open.start = one.start_ns;
    open.class_id = target_.classes.of(one);
    if (!target_.launches.empty()) open.correlation = correlation_of(event);
    if (values.text.size() <= text_left) {
      text_left -= values.text.size();
      open.ints = std::move(values.ints);
      open.doubles = std::move(values.doubles);
      open.text = std::move(values.text);
    }
    return open;
  }

  void flush_if_large() {
    const bool is_large = batch_.ranges.size() >= kEventsPerChunk || batch_.points.size() >= kEventsPerChunk ||
                          batch_.ranges.values.text.size() >= kTextPerChunk;
    if (is_large) flush();
  }

  void flush() {
    size_t text_left = kTextOfOpen;
    batch_.closing.clear();
    for (const uint32_t event : open_)
      if (batch_.closing.size() < kMaxOpen) batch_.closing.push_back(open_range(event, text_left));
    batch_.sequence_end = batch_.sequence_begin + batch_.ranges.size() + batch_.points.size();
    if (const auto classes = target_.classes.take_new(); !classes.empty()) {
      constexpr size_t kClassesPerChunk = 512;  // names are at most 64 KiB
      const std::span<const trace::EventClass> all(classes);
      for (size_t at = 0; at < all.size(); at += kClassesPerChunk)
        target_.writer.classes(target_.id, all.subspan(at, std::min(kClassesPerChunk, all.size() - at)));
    }
    target_.writer.events(target_.id, batch_);
    batch_.opening = std::move(batch_.closing);
    batch_.sequence_begin = batch_.sequence_end;
    batch_.ranges = {};
    batch_.points = {};
  }

  TraceTarget& target_;
  std::vector<uint32_t> open_;  // events, outermost first
  trace::EventBatch batch_;
};

constexpr uint32_t kClock = 1;
constexpr uint32_t kLanesPerTrack = 4096;  // a lane's number has 16 bits; further lanes go to additional tracks

std::string whole_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> command_line() {
  std::vector<std::string> arguments;
  const std::string text = whole_file("/proc/self/cmdline");
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    arguments.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return arguments;
}

trace::Origin origin_of(const ResultData& result) {
  trace::Origin origin;
  origin.session = trace::random_writer_id().hex();
  origin.pid = result.pid;
  origin.start_realtime_ns = result.start_ns;
  origin.kymo_version = base::kVersion;
  origin.host = base::host_name();
  origin.boot_id = base::boot_id();
  if (result.pid == static_cast<uint64_t>(getpid())) {
    std::error_code ignored;
    origin.parent_pid = static_cast<uint64_t>(getppid());
    origin.executable = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
    origin.command_line = command_line();
  }
  origin.metadata.emplace_back("profiler", "edge");
  for (const std::string_view option : result.options()) origin.metadata.emplace_back(option, "1");
  std::vector<std::string> uncounted;
  for (const EdgeUncounted& of : result.without_flops) uncounted.push_back(base::format("{} ({})", of.name, of.calls));
  if (!uncounted.empty()) origin.metadata.emplace_back("flops_not_counted", base::join(uncounted, ", "));
  return origin;
}

// Times stay as in the result, nanoseconds since 1970; the pair converts them to the host's own clock. It names no
// boot, because these ticks do not start at the boot.
trace::ClockDomain clock_of(const ResultData& result) {
  const base::RealtimeOffset offset = base::realtime_offset();
  trace::ClockDomain clock;
  clock.id = kClock;
  clock.pairs = {{result.start_ns, result.start_ns - std::min(offset.ns, result.start_ns), result.start_ns,
                  offset.error_ns, base::suspended_ns()}};
  return clock;
}

class EdgeTraceWriter {
 public:
  EdgeTraceWriter(const ResultData& result, const std::string& path)
      : result_(result),
        writer_(path, trace::Writer::Mode::Create),
        rows_(arrange_rows(result)),
        classes_(result),
        target_{writer_, trace::random_writer_id(), result, rows_, classes_, launches()} {}

  void write() {
    writer_.origin(target_.id, origin_of(result_));
    writer_.clock(target_.id, clock_of(result_));
    write_tracks();
    write_stacks();
    if (!result_.losses.empty()) write_losses();
    write_events();
    writer_.close();
  }

 private:
  std::vector<bool> launches() const {
    std::vector<bool> launches;
    for (size_t i = result_.first_device_event; i < result_.events.size(); ++i) {
      const uint32_t launch = result_.events[i].caused_by;
      if (launch >= result_.first_device_event) continue;
      launches.resize(result_.first_device_event);
      launches[launch] = true;
    }
    return launches;
  }

  // One track for the row, and another one for every kLanesPerTrack lanes.
  static uint32_t parts_of(const RowTrack& track) { return 1 + (track.lanes - 1) / kLanesPerTrack; }

  void write_tracks() {
    std::vector<trace::Track> tracks;
    for (const RowTrack& row : rows_.tracks) {
      first_ids_.push_back(next_id_);
      for (uint32_t part = 0; part < parts_of(row); ++part) {
        trace::Track& track = tracks.emplace_back();
        track.id = next_id_++;
        track.clock = kClock;
        track.name = row.name;
        track.tid = row.thread;
        if (!row.on_device) continue;
        track.kind = trace::TrackKind::DeviceQueue;
        track.device_uuid = track.device_name = device_text(row.device);
        track.queue = row.queue;
      }
    }
    writer_.tracks(target_.id, tracks);
  }

  // Ids are indices plus one, because 0 means none.
  void write_stacks() {
    using FrameKey = std::tuple<std::string_view, std::string_view, std::string_view, uint32_t>;
    std::map<std::string_view, uint32_t> modules;
    std::map<FrameKey, uint32_t> frames;
    std::vector<trace::Module> new_modules;
    std::vector<trace::Frame> new_frames;
    std::vector<trace::Stack> stacks;
    constexpr size_t kPerChunk = 4096;
    const auto flush = [&] {
      if (!stacks.empty()) writer_.stacks(target_.id, new_modules, new_frames, stacks);
      new_modules.clear();
      new_frames.clear();
      stacks.clear();
    };
    for (const std::vector<EdgeFrame>& stack : result_.stacks) {
      trace::Stack& one = stacks.emplace_back();
      one.id = static_cast<uint32_t>(&stack - result_.stacks.data()) + 1;
      for (const EdgeFrame& frame : stack) {
        const auto module = modules.try_emplace(frame.module, static_cast<uint32_t>(modules.size() + 1));
        if (module.second) new_modules.push_back({module.first->second, frame.module, {}, 0, 0});
        const FrameKey key{frame.function, frame.file, frame.module, frame.line};
        const auto known = frames.try_emplace(key, static_cast<uint32_t>(frames.size() + 1));
        if (known.second) {
          new_frames.push_back({known.first->second, module.first->second, 0, frame.function, frame.file, frame.line});
        }
        one.frames.push_back(known.first->second);
      }
      if (stacks.size() + new_frames.size() >= kPerChunk) flush();
    }
    flush();
  }

  void write_losses() {
    std::vector<trace::Loss> losses;
    for (const std::string& words : result_.losses) losses.push_back({trace::LossCause::Reported, 0, 1, 0, 0, words});
    writer_.losses(target_.id, losses);
  }

  void write_events() {
    std::vector<std::vector<uint32_t>> rows(rows_.tracks.size()), lanes(rows_.tracks.size()),
        allocations(rows_.tracks.size());
    for (uint32_t i = 0; i < result_.events.size(); ++i) {
      const RowPlace& place = rows_.places[i];
      (place.lane == 0 ? rows : lanes)[place.track].push_back(i);
    }
    for (uint32_t i = 0; i < result_.allocations.size(); ++i)
      allocations[rows_.of_threads.at(result_.allocations[i].thread)].push_back(i);
    for (uint32_t track = 0; track < rows_.tracks.size(); ++track)
      write_track(track, rows[track], lanes[track], allocations[track]);
  }

  void write_track(uint32_t track, const std::vector<uint32_t>& events, std::vector<uint32_t>& lanes,
                   const std::vector<uint32_t>& allocations) {
    TrackWriter row(target_, first_ids_[track]);
    auto allocation = allocations.begin();
    const auto allocations_before = [&](uint64_t time) {
      for (; allocation != allocations.end() && result_.allocations[*allocation].time_ns < time; ++allocation)
        row.allocation(*allocation);
    };
    for (const uint32_t event : events) {
      const EdgeEvent& one = result_.events[event];
      allocations_before(one.start_ns);
      row.begin(event);
      if (one.stack < result_.stacks.size()) row.stack_of(event);
    }
    for (; allocation != allocations.end(); ++allocation) row.allocation(*allocation);
    if (track == 0) row.window_end();
    row.finish();

    // Lanes 1 to 4095 belong to the first track, the next 4096 to the next.
    const auto part_of = [&](uint32_t event) { return rows_.places[event].lane / kLanesPerTrack; };
    std::stable_sort(lanes.begin(), lanes.end(), [&](uint32_t a, uint32_t b) { return part_of(a) < part_of(b); });
    for (auto at = lanes.begin(); at != lanes.end();) {
      const uint32_t part = part_of(*at);
      const auto end = std::find_if(at, lanes.end(), [&](uint32_t event) { return part_of(event) != part; });
      if (part == 0) {
        row.lanes({at, end}, 1);
      } else {
        TrackWriter(target_, first_ids_[track] + part).lanes({at, end}, part * kLanesPerTrack);
      }
      at = end;
    }
  }

  const ResultData& result_;
  trace::Writer writer_;
  const Rows rows_;
  TraceClasses classes_;
  TraceTarget target_;
  std::vector<uint32_t> first_ids_;  // the first track id of each RowTrack
  uint32_t next_id_ = 1;
};

}  // namespace

void write_kymo_trace(const ResultData& result, const std::string& path) { EdgeTraceWriter(result, path).write(); }

}  // namespace kymo::edge
