// What the traces of the golden tests share: one process, its threads and classes, and a recorder for their events.
#pragma once

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "trace/writer.h"

namespace kymo::golden {

using namespace trace;

inline constexpr uint64_t kMicrosecond = 1'000;
inline constexpr uint64_t kMillisecond = 1'000'000;
inline constexpr uint64_t kSecond = 1'000'000'000;
inline constexpr uint64_t kBoot = 100 * kSecond;                 // CLOCK_MONOTONIC when recording began
inline constexpr uint64_t kWallClock = 1'700'000'000 * kSecond;  // 2023-11-14 22:13:20 UTC
inline constexpr uint32_t kClock = 1;

enum ClassId : uint32_t { kStep = 1, kLoad, kForward, kRequest, kFinished, kQueueLength, kLearningRate, kHandOver };
enum TrackId : uint32_t { kMain = 1, kWorker, kNameless, kCompute, kCopy, kClockless };

inline WriterId writer_id(uint8_t fill) {
  WriterId id;
  id.bytes.fill(fill);
  return id;
}

inline Origin origin_of(uint64_t pid, const std::string& program) {
  Origin origin;
  origin.session = "00112233445566778899aabbccddeeff";
  origin.pid = pid;
  origin.parent_pid = 1;
  origin.host = "lab";
  origin.boot_id = "boot";
  origin.executable = "/opt/" + program;
  origin.command_line = {"./" + program, "--epochs", "2"};
  origin.start_realtime_ns = kWallClock;
  origin.policy = "block";
  origin.kymo_version = "0.1.0";
  origin.metadata = {{"model", "tiny"}};
  return origin;
}

inline ClockDomain clock_of() {
  ClockDomain domain;
  domain.id = kClock;
  domain.boot_id = "boot";
  domain.pairs = {{kBoot, kBoot, kWallClock, 40},
                  {kBoot + 10 * kSecond, kBoot + 10 * kSecond, kWallClock + 10 * kSecond, 60}};
  return domain;
}

inline EventClass class_of(uint32_t id, const std::string& name, const std::string& category,
                           std::vector<Field> fields = {}) {
  EventClass event_class;
  event_class.id = id;
  event_class.name = name;
  event_class.category = category;
  event_class.fields = std::move(fields);
  return event_class;
}

inline Track thread_of(uint32_t id, uint64_t tid, const std::string& name) {
  Track track;
  track.id = id;
  track.clock = kClock;
  track.tid = tid;
  track.name = name;
  return track;
}

// Adds events to a batch in recorded order; times are since the recording began.
class Recorder {
 public:
  explicit Recorder(uint32_t track) {
    batch_.track = track;
    batch_.ring = track;
  }

  void range(uint64_t start, uint64_t duration, uint32_t class_id, uint16_t depth, std::vector<uint64_t> values = {}) {
    Ranges& ranges = batch_.ranges;
    ranges.end.push_back(kBoot + start + duration);
    ranges.duration.push_back(duration);
    ranges.class_id.push_back(class_id);
    ranges.depth.push_back(depth);
    ranges.values.ints.insert(ranges.values.ints.end(), values.begin(), values.end());
  }
  void correlated(uint64_t start, uint64_t duration, uint32_t class_id, uint64_t correlation) {
    range(start, duration, class_id, 0);
    batch_.ranges.correlation.push_back(correlation);
  }
  void on_lanes(std::vector<uint16_t> lanes) { batch_.ranges.lane = std::move(lanes); }
  void named_range(uint64_t start, uint64_t duration, const std::string& name, uint16_t depth) {
    range(start, duration, kInlineName, depth, {name.size()});
    batch_.ranges.values.text += name;
  }
  void point(uint64_t time, PointKind kind, uint32_t class_id, uint64_t id = 0) {
    Points& points = batch_.points;
    points.time.push_back(kBoot + time);
    points.kind.push_back(kind);
    points.class_id.push_back(class_id);
    points.id.push_back(id);
  }
  void count(uint64_t time, uint32_t class_id, uint64_t value) {
    point(time, PointKind::Counter, class_id);
    batch_.points.values.ints.push_back(value);
  }
  void measure(uint64_t time, uint32_t class_id, double value) {
    point(time, PointKind::Counter, class_id);
    batch_.points.values.doubles.push_back(value);
  }
  // Of the point before: numbers, lengths of texts among them, and the texts.
  void values(const std::vector<uint64_t>& ints, const std::string& text) {
    Values& to = batch_.points.values;
    to.ints.insert(to.ints.end(), ints.begin(), ints.end());
    to.text += text;
  }
  void leave_open(uint64_t start, uint32_t class_id) {
    OpenRange open;
    open.start = kBoot + start;
    open.class_id = class_id;
    batch_.closing.push_back(open);
  }

  const EventBatch& batch() {
    batch_.sequence_end = batch_.ranges.size() + batch_.points.size();
    return batch_;
  }

 private:
  EventBatch batch_;
};

inline void write_catalog(Writer& writer, const WriterId& id, uint64_t pid, const std::string& program) {
  writer.origin(id, origin_of(pid, program));
  writer.clock(id, clock_of());
  writer.tracks(id, std::vector{thread_of(kMain, pid, "main"), thread_of(kWorker, pid + 1, "worker"),
                                thread_of(kNameless, pid + 2, "")});
  writer.classes(id, std::vector{class_of(kStep, "step {}", "training", {{"", FieldType::Int}}),
                                 class_of(kLoad, "load", "input", {{"bytes", FieldType::ByteCount}}),
                                 class_of(kForward, "forward", "training"), class_of(kRequest, "request", "serving"),
                                 class_of(kFinished, "epoch finished", "training"),
                                 class_of(kQueueLength, "queue length", "", {{"value", FieldType::Int}}),
                                 class_of(kLearningRate, "learning rate", "", {{"value", FieldType::Double}}),
                                 class_of(kHandOver, "hand over", "")});
}

inline void write_costs(Writer& writer, const WriterId& id) {
  writer.costs(id, std::vector{Cost{.track = kMain, .events = 122, .picoseconds_per_event = 9'000},
                               Cost{.track = 0, .collector_cpu_ns = 3 * kMillisecond}});
}

// In special_traces.cc: each writes the file of its name into the current folder.
void write_hostile();
void write_many();
void write_device();
void write_gpu(const std::string& name, double clock_mhz);
void write_described_gpu(const std::string& name, std::istream& lines);
void write_models();
void write_clockless();
void write_memory();
void write_samples();

}  // namespace kymo::golden
