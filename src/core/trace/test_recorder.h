// Writes small traces for tests the way a collector would: begins and ends in the order of the program, cut into chunks
// where the test says so. A tick is a nanosecond; tick 0 is kMonotonicZero and kRealtimeZero.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "trace/model.h"
#include "trace/writer.h"

namespace kymo::trace::testing {

inline constexpr uint64_t kMonotonicZero = 5'000'000'000;
inline constexpr uint64_t kRealtimeZero = 1'700'000'000'000'000'000;

// A temporary folder. It is removed at the end, with its content.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    char name[] = "/tmp/kymo-test-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TemporaryFolder() { (void)!std::system(("rm -rf '" + path_ + "'").c_str()); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class TestRecorder {
 public:
  using Argument = std::variant<int64_t, double, std::string>;
  using Arguments = std::vector<Argument>;
  static constexpr uint32_t kClock = 1;

  explicit TestRecorder(const std::string& path, uint8_t writer = 1, uint64_t pid = 100,
                        trace::Writer::Mode mode = trace::Writer::Mode::Create, uint64_t parent_pid = 0,
                        const std::string& executable = "/usr/bin/train",
                        std::vector<std::pair<std::string, std::string>> metadata = {{"RANK", "3"},
                                                                                     {"WORLD_SIZE", "8"}},
                        uint64_t started_later_ns = 0)
      : file_(path, mode) {
    id_.bytes.fill(writer);
    trace::Origin origin;
    origin.session = "5e55104";
    origin.pid = pid;
    origin.parent_pid = parent_pid;
    origin.host = "box";
    origin.boot_id = "boot";
    origin.executable = executable;
    origin.command_line = {program_name(executable), "--epochs", "2"};
    origin.start_realtime_ns = kRealtimeZero + started_later_ns;
    origin.policy = "block";
    origin.kymo_version = "0.1.0";
    origin.metadata = std::move(metadata);
    file_.origin(id_, origin);
    trace::ClockDomain clock;
    clock.id = kClock;
    clock.pairs = {{0, kMonotonicZero, kRealtimeZero, 20}};
    file_.clock(id_, clock);
  }

  void add_class(const trace::EventClass& event_class) { file_.classes(id_, {&event_class, 1}); }
  void add_class(uint32_t id, std::string name, std::string category = {}, std::vector<trace::Field> fields = {}) {
    add_class({id, std::move(name), std::move(category), 0, std::move(fields)});
  }
  void add_track(const trace::Track& track) { file_.tracks(id_, {&track, 1}); }
  void add_cost(const trace::Cost& cost) { file_.costs(id_, {&cost, 1}); }
  void add_thread(uint32_t id, uint64_t tid, std::string name) {
    trace::Track track;
    track.id = id;
    track.clock = kClock;
    track.tid = tid;
    track.name = std::move(name);
    add_track(track);
  }

  // A queue of a device.
  void add_queue(uint32_t id, std::string device_uuid, std::string name, uint64_t queue = 0,
                 std::string device_name = {}) {
    trace::Track track;
    track.id = id;
    track.kind = trace::TrackKind::DeviceQueue;
    track.clock = kClock;
    track.name = std::move(name);
    track.device_uuid = std::move(device_uuid);
    track.device_name = std::move(device_name);
    track.queue = queue;
    add_track(track);
  }

  void begin(uint32_t track, uint64_t time, uint32_t class_id, const Arguments& arguments = {},
             uint64_t correlation = 0) {
    trace::OpenRange open;
    open.start = time;
    open.class_id = class_id;
    open.correlation = correlation;
    trace::Values values;
    add(values, arguments);
    open.ints = values.ints;
    open.doubles = values.doubles;
    open.text = values.text;
    open_[track].push_back(open);
  }

  void end(uint32_t track, uint64_t time) {
    const trace::OpenRange open = std::move(open_[track].back());
    open_[track].pop_back();
    trace::Ranges& ranges = batches_[track].ranges;
    add_range(ranges, open.start, time, open.class_id, open_[track].size(), 0, open.correlation);
    ranges.values.ints.insert(ranges.values.ints.end(), open.ints.begin(), open.ints.end());
    ranges.values.doubles.insert(ranges.values.doubles.end(), open.doubles.begin(), open.doubles.end());
    ranges.values.text += open.text;
  }

  // A complete range, on any lane.
  void complete(uint32_t track, uint64_t start, uint64_t end, uint32_t class_id, uint16_t depth = 0, uint16_t lane = 0,
                uint64_t correlation = 0) {
    add_range(batches_[track].ranges, start, end, class_id, depth, lane, correlation);
  }

  void point(uint32_t track, uint64_t time, trace::PointKind kind, uint32_t class_id, uint64_t id = 0,
             const Arguments& arguments = {}) {
    trace::Points& points = batches_[track].points;
    points.time.push_back(time);
    points.kind.push_back(kind);
    points.class_id.push_back(class_id);
    points.id.push_back(id);
    add(points.values, arguments);
  }

  // Ends the track's chunk and writes it. lose() drops it instead, like a chunk that was lost.
  void cut(uint32_t track) { file_.events(id_, take(track)); }
  void lose(uint32_t track) { take(track); }

  trace::Writer& file() { return file_; }
  const trace::WriterId& id() const { return id_; }
  void close() {
    for (auto& [track, batch] : batches_) {
      if (batch.ranges.size() + batch.points.size() != 0 || open_[track] != batch.opening) cut(track);
    }
    file_.close();
  }

 private:
  static void add(trace::Values& values, const Arguments& arguments) {
    for (const Argument& argument : arguments) {
      if (const auto* integer = std::get_if<int64_t>(&argument)) {
        values.ints.push_back(static_cast<uint64_t>(*integer));
      } else if (const auto* real = std::get_if<double>(&argument)) {
        values.doubles.push_back(*real);
      } else {
        const std::string& text = std::get<std::string>(argument);
        values.ints.push_back(text.size());
        values.text += text;
      }
    }
  }

  static void add_range(trace::Ranges& ranges, uint64_t start, uint64_t end, uint32_t class_id, size_t depth,
                        uint16_t lane, uint64_t correlation) {
    if (lane != 0 && ranges.lane.empty()) ranges.lane.resize(ranges.size());
    if (correlation != 0 && ranges.correlation.empty()) ranges.correlation.resize(ranges.size());
    const bool with_lanes = lane != 0 || !ranges.lane.empty();
    const bool with_correlations = correlation != 0 || !ranges.correlation.empty();
    ranges.end.push_back(end);
    ranges.duration.push_back(end - start);
    ranges.class_id.push_back(class_id);
    ranges.depth.push_back(static_cast<uint16_t>(std::min<size_t>(depth, UINT16_MAX)));
    if (with_lanes) ranges.lane.push_back(lane);
    if (with_correlations) ranges.correlation.push_back(correlation);
  }

  trace::EventBatch take(uint32_t track) {
    trace::EventBatch batch = std::exchange(batches_[track], {});
    batch.track = track;
    batch.sequence_begin = sequence_[track];
    batch.sequence_end = sequence_[track] += batch.ranges.size() + batch.points.size() + 1;
    batch.closing = open_[track];
    batches_[track].opening = open_[track];
    return batch;
  }

  trace::WriterId id_;
  trace::Writer file_;
  std::map<uint32_t, trace::EventBatch> batches_;
  std::map<uint32_t, std::vector<trace::OpenRange>> open_;
  std::map<uint32_t, uint64_t> sequence_;
};

}  // namespace kymo::trace::testing
