#include "import/snapshot.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "import/pickle_reader.h"
#include "kymo/error.h"

namespace kymo::import {
namespace {

using trace::FieldType;
using trace::PointKind;
using ValueType = PickleValue::Type;

constexpr size_t kBytesPerEvent = 16;  // an event takes more in the file, but may be in several lists
constexpr size_t kMostFrames = 4096;   // of a stack
constexpr size_t kMostDevices = 1024;

// The blocks of a memory, while the history is read.
class Blocks {
 public:
  void taken(uint64_t address, uint64_t bytes) {
    live_[address] = bytes;
    in_use_ += bytes;
  }
  void returned(uint64_t address) {
    const auto found = live_.find(address);
    if (found == live_.end()) return;
    in_use_ -= found->second;
    live_.erase(found);
  }
  uint64_t in_use() const { return in_use_; }

 private:
  std::unordered_map<uint64_t, uint64_t> live_;
  uint64_t in_use_ = 0;
};

struct MemoryEvent {
  enum class Kind : uint8_t { Take, Return, Request, Other };
  Kind kind = Kind::Other;
  bool of_segment = false;
  uint64_t address = 0, bytes = 0;
  PickleValue event;  // or a block or segment of before
};

class SnapshotImport {
 public:
  SnapshotImport(const Pickle& pickle, size_t size, TraceBuilder& builder)
      : pickle_(pickle), builder_(builder), events_left_(size / kBytesPerEvent + 1000) {}

  int64_t read() {
    // Old snapshots are only the list of segments.
    const bool is_list = pickle_.top().is(ValueType::List) && all_have_blocks(pickle_.top());
    const PickleValue traces = pickle_.member(pickle_.top(), "device_traces");
    const PickleValue segments = is_list ? pickle_.top() : pickle_.member(pickle_.top(), "segments");
    if (!traces.is(ValueType::List) && !segments.is(ValueType::List))
      throw Error(
          "it is a pickle, but not a memory snapshot of PyTorch (it has no device_traces and no segments); write one "
          "with torch.cuda.memory._dump_snapshot()");
    process_ = builder_.add_process({.pid = 0, .name = "PyTorch"});
    const auto histories = pickle_.items(traces);
    find_start(histories);
    add_settings();
    std::vector<std::vector<PickleValue>> segments_of(std::min(histories.size(), kMostDevices));
    uint64_t left_out = histories.size() - segments_of.size();
    for (const PickleValue& segment : pickle_.items(segments)) {
      const uint64_t device = number(segment, "device");
      if (!is_within_limit()) break;
      if (!has_size(segment, "total_size")) {
        ++bad_segments_;
        continue;
      }
      if (device >= kMostDevices) {
        ++left_out;
        continue;
      }
      if (device >= segments_of.size()) segments_of.resize(device + 1);
      segments_of[device].push_back(segment);
    }
    for (size_t device = 0; device < segments_of.size(); ++device)
      read_device(device, device < histories.size() ? histories[device] : PickleValue(), segments_of[device]);
    builder_.lose(base::format("histories and segments of more than {} devices", kMostDevices), left_out);
    annotations();
    builder_.lose("events of actions that Kymo does not know", unknown_);
    builder_.lose("events without a valid time, size or address", bad_events_);
    builder_.lose("segments and blocks without a valid size", bad_segments_);
    builder_.lose("events, because the pickle repeats them without end", repeated_);
    return start_ns_;
  }

 private:
  uint64_t number(const PickleValue& dict, std::string_view key) const {
    return static_cast<uint64_t>(pickle_.member(dict, key).as_number());
  }
  bool has_size(const PickleValue& dict, std::string_view key) const {
    const PickleValue value = pickle_.member(dict, key);
    return value.is(ValueType::Int) && value.number >= 0;
  }
  // Old snapshots have no times.
  bool has_time(const PickleValue& event) const {
    return pickle_.member(event, "time_us").is(ValueType::None) || has_size(event, "time_us");
  }
  bool all_have_blocks(const PickleValue& list) const {
    const auto items = pickle_.items(list);
    return std::all_of(items.begin(), items.end(),
                       [this](const PickleValue& one) { return pickle_.member(one, "blocks").is(ValueType::List); });
  }
  static int64_t nanoseconds(uint64_t microseconds) {
    return static_cast<int64_t>(std::min<uint64_t>(microseconds, INT64_MAX / 4000)) * 1000;
  }
  int64_t time_of(const PickleValue& event) const { return nanoseconds(number(event, "time_us")) - start_ns_; }

  void find_start(std::span<const PickleValue> histories) {
    int64_t first = std::numeric_limits<int64_t>::max();
    for (const PickleValue& history : histories)
      if (const auto events = pickle_.items(history); !events.empty())
        first = std::min(first, nanoseconds(number(events.front(), "time_us")));
    if (first != std::numeric_limits<int64_t>::max()) start_ns_ = first;
  }

  void add_settings() {
    for (const auto& [key, value] : pickle_.entries(pickle_.member(pickle_.top(), "allocator_settings"))) {
      constexpr size_t kMostSettings = 256;
      auto& metadata = builder_.process(process_).metadata;
      if (metadata.size() == kMostSettings) return;
      std::string text(value.as_text());
      if (value.is(ValueType::Int)) text = std::to_string(value.number);
      if (value.is(ValueType::Float)) text = base::format("{}", value.real);
      if (value.is(ValueType::Bool)) text = value.number != 0 ? "true" : "false";
      if (!text.empty()) metadata.emplace_back(key.as_text(), text);
    }
  }

  bool is_within_limit() {
    if (events_left_ != 0) --events_left_;
    repeated_ += events_left_ == 0;
    return events_left_ != 0;
  }

  void read_device(size_t device, const PickleValue& history, const std::vector<PickleValue>& segments) {
    device_ = base::format("cuda:{}", device);
    allocated_counter_ = device_ + " allocated";
    reserved_counter_ = device_ + " reserved";
    blocks_ = {};
    segments_ = {};
    std::vector<MemoryEvent> events;
    for (const PickleValue& event : pickle_.items(history)) {
      if (!is_within_limit()) break;
      if (!event.is(ValueType::Dict)) {
        ++unknown_;
        continue;
      }
      const MemoryEvent read = event_of(event);
      const bool is_valid =
          has_time(event) && (read.kind == MemoryEvent::Kind::Other ||
                              (has_size(event, "size") && pickle_.member(event, "addr").is(ValueType::Int)));
      if (is_valid) {
        events.push_back(read);
      } else {
        ++bad_events_;
      }
    }
    std::vector<MemoryEvent> before = existed_before(events, segments);
    if (events.empty() && before.empty()) return;
    track_ = builder_.add_track({.process = process_, .kind = trace::TrackKind::Process, .name = device_});
    for (const MemoryEvent& event : before) add(event, 0);
    for (const MemoryEvent& event : events) add(event, time_of(event.event));
  }

  MemoryEvent event_of(const PickleValue& event) {
    MemoryEvent read;
    const std::string_view action = pickle_.member(event, "action").as_text();
    read.event = event;
    read.address = number(event, "addr");
    read.bytes = number(event, "size");
    read.of_segment = action.starts_with("segment_");
    if (action == "alloc" || action == "segment_alloc" || action == "segment_map") {
      read.kind = MemoryEvent::Kind::Take;
    } else if (action == "free_completed" || action == "free" || action == "segment_free" ||
               action == "segment_unmap") {
      read.kind = MemoryEvent::Kind::Return;
    } else if (action == "free_requested") {
      read.kind = MemoryEvent::Kind::Request;
    }
    return read;
  }

  // Blocks and segments that the history frees, or the end has, and the history does not allocate.
  std::vector<MemoryEvent> existed_before(const std::vector<MemoryEvent>& events,
                                          const std::vector<PickleValue>& segments) {
    using Kind = MemoryEvent::Kind;
    std::vector<MemoryEvent> before;
    std::unordered_map<uint64_t, bool> lives[2];  // by address: whether it is alive now
    for (const MemoryEvent& event : events) {
      if (event.kind == Kind::Other) continue;
      const auto [known, is_new] = lives[event.of_segment].try_emplace(event.address, true);
      if (is_new && event.kind != Kind::Take)
        before.push_back({Kind::Take, event.of_segment, event.address, event.bytes, {}});
      if (event.kind != Kind::Request) known->second = event.kind == Kind::Take;
    }
    const auto keep = [&](bool of_segment, uint64_t address, uint64_t bytes, const PickleValue& from) {
      // What the history freed is not there, whatever the end says.
      if (lives[of_segment].try_emplace(address, true).second)
        before.push_back({Kind::Take, of_segment, address, bytes, from});
    };
    for (const PickleValue& segment : segments) {
      keep(true, number(segment, "address"), number(segment, "total_size"), segment);
      uint64_t address = number(segment, "address");
      for (const PickleValue& block : pickle_.items(pickle_.member(segment, "blocks"))) {
        if (!is_within_limit()) break;
        if (!has_size(block, "size")) {
          ++bad_segments_;
          continue;
        }
        const bool has_address = pickle_.member(block, "address").is(ValueType::Int);  // old snapshots do not
        const uint64_t bytes = number(block, "size");
        if (has_address) address = number(block, "address");
        if (pickle_.member(block, "state").as_text().starts_with("active")) keep(false, address, bytes, block);
        address += bytes;
      }
    }
    return before;
  }

  void add(const MemoryEvent& event, int64_t time) {
    using Kind = MemoryEvent::Kind;
    Blocks& blocks = event.of_segment ? segments_ : blocks_;
    std::string_view action = pickle_.member(event.event, "action").as_text();
    values_.clear();
    values_.push_back({"bytes", FieldType::ByteCount, event.bytes, 0, {}});
    values_.push_back({"device", FieldType::String, 0, 0, device_});
    values_.push_back({"stream", FieldType::UInt, number(event.event, "stream"), 0, {}});
    if (const uint32_t stack = stack_of(event.event)) values_.push_back({"stack_id", FieldType::UInt, stack, 0, {}});
    for (const std::string_view key : {"user_metadata", "compile_context"}) {
      const std::string_view text = pickle_.member(event.event, key).as_text();
      if (!text.empty() && text != "N/A") values_.push_back({key, FieldType::String, 0, 0, text});
    }
    if (event.kind == Kind::Other && action != "oom" && action != "snapshot") ++unknown_;
    if (event.kind == Kind::Take && action.empty()) action = event.of_segment ? "segment_alloc" : "alloc";
    const ImportedEvent imported{action.empty() ? "event" : action, event.of_segment ? "segment" : "memory", &values_};
    const bool is_change = event.kind == Kind::Take || event.kind == Kind::Return;
    if (is_change && !event.of_segment) {
      const bool is_taken = event.kind == Kind::Take;
      builder_.point(track_, time, is_taken ? PointKind::Allocation : PointKind::Free, event.address, imported);
    } else {
      values_.push_back({"address", FieldType::Pointer, event.address, 0, {}});
      builder_.point(track_, time, PointKind::Instant, 0, imported);
    }
    if (!is_change) return;
    blocks.returned(event.address);
    if (event.kind == Kind::Take) blocks.taken(event.address, event.bytes);
    values_.assign(1, {"value", FieldType::ByteCount, blocks.in_use(), 0, {}});
    builder_.point(track_, time, PointKind::Counter, 0,
                   {event.of_segment ? reserved_counter_ : allocated_counter_, "memory", &values_});
  }

  // The events share their lists of frames.
  uint32_t stack_of(const PickleValue& event) {
    const PickleValue list = pickle_.member(event, "frames");
    if (!list.is(ValueType::List)) return 0;
    const uint64_t key = uint64_t{track_} << 32 | list.container;
    const auto [known, is_new] = stacks_.try_emplace(key, 0);
    if (!is_new) return known->second;
    frames_.clear();
    for (const PickleValue& frame : pickle_.items(list)) {
      if (frames_.size() == kMostFrames) break;
      const std::string_view file = pickle_.member(frame, "filename").as_text();
      const uint64_t line = number(frame, "line");
      frames_.push_back({pickle_.member(frame, "name").as_text(), file == "??" ? std::string_view() : file,
                         static_cast<uint32_t>(std::min<uint64_t>(line, UINT32_MAX))});
    }
    return known->second = builder_.stack(track_, frames_);
  }

  void annotations() {
    const PickleValue list = pickle_.member(pickle_.top(), "external_annotations");
    if (pickle_.items(list).empty()) return;
    const uint32_t track =
        builder_.add_track({.process = process_, .kind = trace::TrackKind::Process, .name = "annotations"});
    for (const PickleValue& annotation : pickle_.items(list)) {
      if (!is_within_limit()) return;
      if (!has_time(annotation)) {
        ++bad_events_;
        continue;
      }
      values_.clear();
      const std::string_view stage = pickle_.member(annotation, "stage").as_text();
      if (!stage.empty()) values_.push_back({"stage", FieldType::String, 0, 0, stage});
      values_.push_back({"device", FieldType::UInt, number(annotation, "device"), 0, {}});
      builder_.point(track, time_of(annotation), PointKind::Instant, 0,
                     {pickle_.member(annotation, "name").as_text(), "annotation", &values_});
    }
  }

  const Pickle& pickle_;
  TraceBuilder& builder_;
  uint64_t events_left_, repeated_ = 0, unknown_ = 0, bad_events_ = 0, bad_segments_ = 0;
  uint32_t process_ = 0, track_ = 0;
  int64_t start_ns_ = 0;
  std::string device_, allocated_counter_, reserved_counter_;  // names for the current device
  Blocks blocks_, segments_;
  std::vector<ImportedValue> values_;
  std::vector<ImportedFrame> frames_;
  std::unordered_map<uint64_t, uint32_t> stacks_;  // by track and list of frames
};

}  // namespace

int64_t read_snapshot(ByteSource& source, TraceBuilder& builder) {
  const std::string bytes = source.read_all();
  if (!source.damage().empty()) throw Error(source.damage());
  const Pickle pickle(bytes);
  return SnapshotImport(pickle, bytes.size(), builder).read();
}

}  // namespace kymo::import
