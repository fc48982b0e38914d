// Kymo traces that are exported and imported again have all events, at the same times.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/test_tree.h"
#include "base/text.h"
#include "convert/events.h"
#include "convert/export_stream.h"
#include "convert/formats/chrome.h"
#include "convert/formats/perfetto.h"
#include "convert/json_args.h"
#include "import/import.h"
#include "trace/test_recorder.h"
#include "trace/test_support.h"

namespace kymo::import {
namespace {

using trace::FieldType;
using trace::PointKind;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

// All events of a trace as lines, sorted. What another format cannot have is left out: the numbers of lanes, types that
// are written as another type with the same text.
class Lines : public convert::EventVisitor {
 public:
  enum class Process { Pid, Name };  // a process without a pid gets one in an export
  explicit Lines(const std::string& path, Process process = Process::Pid)
      : process_(process), reader_(path), places_(reader_) {
    for (const trace::Problem& problem : reader_.problems()) lines.push_back("problem: " + problem.what);
    convert::visit_events(reader_, places_, convert::TimeBase::Realtime, *this);
    std::sort(lines.begin(), lines.end());
    std::sort(times.begin(), times.end());
  }

  void range(const convert::Range& range) override {
    add_times(range.start_ns, range.finished ? range.end_ns - range.start_ns : -1);
    add(range, base::format("range {}+{}{}{}{}", range.start_ns, range.finished ? range.end_ns - range.start_ns : -1,
                            range.lane == 0 ? base::format(" depth {}", range.depth) : " on a lane",
                            range.correlation != 0 ? base::format(" correlation {}", range.correlation) : "",
                            range.finished ? "" : " open"));
  }
  void point(const convert::Point& point) override {
    std::string what = base::format("point {} at {}", static_cast<int>(point.kind), point.time_ns);
    if (point.kind == PointKind::Sample) what += " stack " + convert::stack_text(*point.place->writer, point.id);
    if (!(point.kind >= PointKind::FlowBegin && point.kind <= PointKind::FlowEnd)) times.push_back(what);
    if (point.kind == PointKind::Allocation || point.kind == PointKind::Free)
      times.back() += base::format(" address {:#x}", point.id);
    add(point, what);
  }
  void async_range(const convert::AsyncRange& range) override {
    add_times(range.start_ns, range.finished ? range.end_ns - range.start_ns : -1);
    add(range,
        base::format("async {}+{} ends on {}", range.start_ns, range.finished ? range.end_ns - range.start_ns : -1,
                     range.finished ? range.end_place->name : "nothing"));
  }

  std::vector<std::string> lines;
  std::vector<std::string> times;  // of what is not a flow, sorted

 private:
  void add_times(int64_t start_ns, int64_t length) { times.push_back(base::format("range {}+{}", start_ns, length)); }
  void add(const convert::Event& event, const std::string& what) {
    const trace::Track& track = *event.place->track;
    const trace::EventClass& of = event.event_class->event_class;
    std::string values;
    for (size_t i = 0; i < event.values.size(); ++i) {
      const std::string& key = event.event_class->keys[i];
      if (key.empty()) continue;
      const bool is_counter = what.starts_with("point 2");
      const bool is_number = event.values[i].type == FieldType::ByteCount;
      values += base::format(" {}={}", is_counter ? "value" : key,
                             is_number ? std::to_string(event.values[i].bits) : trace::to_text(event.values[i]));
    }
    const std::string process =
        process_ == Process::Pid ? std::to_string(event.place->writer->origin.pid) : event.place->group->name;
    lines.push_back(base::format("{} {} {} {}: {} [{}] {:x} {}{}", process, event.place->name,
                                 static_cast<int>(track.kind), track.device_uuid, event.name, of.category,
                                 of.colour & 0xFFFFFF, what, values));
  }

  const Process process_;
  trace::Reader reader_;
  convert::Places places_;
};

using Export = convert::WalkReport (*)(const trace::Reader&, convert::ExportStream&);

void export_and_import(const std::string& path, Export write, const std::string& exported,
                       const std::string& imported) {
  {
    const trace::Reader reader(path);
    convert::FileStream sink(exported);
    write(reader, sink);
    sink.finish();
  }
  import_trace(exported, imported);
}

std::vector<std::string> round_trip(const std::string& path, Export write, const std::string& extension,
                                    Lines::Process process = Lines::Process::Pid) {
  const TemporaryFolder folder;
  const std::string imported = folder / "imported.kymo";
  export_and_import(path, write, folder / ("trace." + extension), imported);
  return Lines(imported, process).lines;
}

void record_everything(const std::string& path) {
  TestRecorder one(path);
  one.add_thread(1, 11, "main");
  one.add_thread(2, 12, "");
  trace::Track queue;
  queue.id = 3;
  queue.kind = trace::TrackKind::DeviceQueue;
  queue.clock = TestRecorder::kClock;
  queue.name = "compute";
  queue.device_uuid = "uuid-1";
  queue.context = 2;
  queue.queue = 7;
  one.add_track(queue);
  one.add_class({1, "step {}", "train", 0xFF11AA22, {{"", FieldType::Int}, {"rows", FieldType::UInt}}});
  one.add_class(2, "load", "", {{"path", FieldType::String}, {"ratio", FieldType::Double}, {"ok", FieldType::Bool}});
  one.add_class(3, "memory", "counters", {{"bytes", FieldType::ByteCount}});
  one.add_class(4, "rate", "", {{"rate", FieldType::Double}});
  one.add_class(5, "mark", "", {{"n", FieldType::Int}});
  one.add_class(6, "hand over", "queue");
  one.add_class(7, "request", "web", {{"n", FieldType::Int}});
  one.add_class(8, "allocate", "memory", {{"bytes", FieldType::ByteCount}});
  one.add_class(9, "release", "memory");
  one.add_class(10, "sample");
  one.add_class(11, "launch gemm", "launch");
  one.add_class(13, "gemm", "compute");
  one.add_class(14, "mark {} of {phase}", "",
                {{"", FieldType::String}, {"phase", FieldType::String}, {"", FieldType::Int}});
  one.add_class(15, "scale", "kernel", {{"operations_in_submission", FieldType::Int}});
  one.add_class(16, "frame", "device range");
  one.add_class(17, "copy buffer", "copy");
  one.add_class(18, "{}", "", {{"", FieldType::String}});
  one.add_class(19, "noted", "user_annotation");
  const std::vector<trace::Frame> frames = {{1, 0, 0, "inner", "a.cc", 3}, {2, 0, 0, "outer", "a.cc", 9}};
  const std::vector<trace::Stack> stacks = {{1, {1, 2}}};
  one.file().stacks(one.id(), {}, frames, stacks);

  one.begin(1, 100, 1, {int64_t{1}, int64_t{128}});
  one.begin(1, 110, 2, {"/a \"b\"", 0.25, int64_t{1}});
  one.point(1, 115, PointKind::FlowBegin, 6, 77);
  one.point(1, 115, PointKind::Allocation, 8, 0x7f0000001000, {int64_t{4096}});
  one.end(1, 120);
  one.cut(1);
  one.point(1, 125, PointKind::Instant, 5, 0, {int64_t{-3}});
  one.point(1, 130, PointKind::Counter, 3, 0, {int64_t{1 << 20}});
  one.point(1, 131, PointKind::Counter, 4, 0, {0.5});
  one.point(1, 132, PointKind::AsyncBegin, 7, 5, {int64_t{9}});
  one.begin(1, 140, 11, {}, 42);
  one.end(1, 145);
  one.point(1, 146, PointKind::Sample, 10, 1);
  one.end(1, 150);
  one.point(1, 150, PointKind::Free, 9, 0x7f0000001000);
  one.point(1, 151, PointKind::FlowBegin, 6, 78);  // never ends
  one.begin(1, 160, 2, {"open", 1.5, int64_t{0}});
  one.begin(1, 165, 5, {int64_t{1}});

  one.begin(2, 300, 2, {"", -1e300, int64_t{0}});
  one.point(2, 305, PointKind::FlowStep, 6, 77);
  one.end(2, 310);
  one.begin(2, 320, 2, {"x", 0.0, int64_t{0}});
  one.point(2, 330, PointKind::FlowEnd, 6, 77);  // at the end of its range
  one.point(2, 330, PointKind::AsyncEnd, 7, 5);
  one.end(2, 330);
  one.point(2, 340, PointKind::AsyncBegin, 7, 6, {int64_t{10}});  // never ends

  one.begin(2, 350, 14, {"x", "end", int64_t{4}});
  one.begin(2, 351, 18, {"its own name"});
  one.begin(2, 352, 19);
  one.end(2, 353);
  one.end(2, 354);
  one.end(2, 360);

  one.complete(3, 400, 500, 13, 0, 0, 42);
  one.complete(3, 600, 640, 16, 0, 0, 43);  // a label, with the correlation of its submission
  one.complete(3, 600, 610, 17, 1, 0, 43);
  one.complete(3, 605, 620, 13, 0, 1, 43);  // overlaps it
  one.begin(3, 700, 15, {int64_t{3}});
  one.end(3, 800);
  one.point(3, 900, PointKind::AsyncBegin, 16, 1);
  one.point(3, 905, PointKind::AsyncBegin, 16, 2);
  one.point(3, 950, PointKind::AsyncEnd, 16, 1);
  one.point(3, 990, PointKind::AsyncEnd, 16, 2);
  one.close();

  // Another process, with a queue of the same device, a thread of the same name and the same ids.
  TestRecorder two(path, 2, 101, trace::Writer::Mode::Append);
  two.add_thread(1, 21, "main");
  two.add_track(queue);
  two.add_class(1, "launch", "launch");
  two.add_class(2, "copy", "compute");
  two.add_class(3, "hand over");
  two.begin(1, 500, 1, {}, 42);
  two.point(1, 501, PointKind::FlowBegin, 3, 77);
  two.end(1, 505);
  two.begin(1, 510, 1);
  two.point(1, 511, PointKind::FlowEnd, 3, 77);
  two.end(1, 515);
  two.complete(3, 520, 530, 2, 0, 0, 42);
  two.close();
}

// The ranges of lanes have no values, as the recorder has none for them.
void record_lanes(const std::string& path) {
  TestRecorder one(path, 2, 200);
  one.add_thread(1, 11, "main");
  one.add_class(1, "a");
  one.add_class(2, "b");
  one.complete(1, 0, 100, 1);
  one.complete(1, 50, 150, 2, 0, 1);
  one.complete(1, 60, 170, 2, 0, 2);
  one.complete(1, 120, 130, 1, 1, 1);
  one.close();
}

// The times that the export lost.
std::vector<std::string> lost_times(const std::string& path, Export write, const std::string& extension) {
  const TemporaryFolder folder;
  export_and_import(path, write, folder / ("trace." + extension), folder / "imported.kymo");
  const std::vector<std::string> want = Lines(path).times, have = Lines(folder / "imported.kymo").times;
  std::vector<std::string> lost;
  std::set_difference(want.begin(), want.end(), have.begin(), have.end(), std::back_inserter(lost));
  return lost;
}

TEST(RoundTripTest, PerfettoKeepsAllTimes) {
  const TemporaryFolder folder;
  record_everything(folder / "a.kymo");
  EXPECT_EQ(lost_times(folder / "a.kymo", convert::write_perfetto, "pftrace"), std::vector<std::string>());
}

TEST(RoundTripTest, ChromeKeepsAllTimes) {
  const TemporaryFolder folder;
  record_everything(folder / "a.kymo");
  EXPECT_EQ(lost_times(folder / "a.kymo", convert::write_chrome, "json"), std::vector<std::string>());
}

TEST(RoundTripTest, ChromeKeepsTheHostAndTheEnvironmentOfEachProcess) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  const TemporaryFolder folder;
  const std::string path = folder / "a.kymo", exported = folder / "a.json", imported = folder / "b.kymo";
  for (const uint8_t number : {1, 2}) {
    TestRecorder one(path, number, 100 + number,
                     number == 1 ? trace::Writer::Mode::Create : trace::Writer::Mode::Append, 0, "/usr/bin/train",
                     {{"KYMO_JOB", "a \"job\""}, {"RANK", std::to_string(number)}, {"torch", "2.11"}});
    one.add_class(1, "a");
    one.add_thread(1, 100 + number, "main");
    one.complete(1, 100, 110, 1);
    one.close();
  }
  export_and_import(path, convert::write_chrome, exported, imported);
  const trace::Reader reader(imported);
  ASSERT_EQ(reader.writers().size(), 2u);
  for (const auto& [id, writer] : reader.writers()) {
    EXPECT_EQ(writer.origin.host, "box");
    Pairs environment;
    for (const auto& one : writer.origin.metadata)
      if (one.first == "KYMO_JOB" || one.first == "RANK") environment.push_back(one);
    EXPECT_EQ(environment, (Pairs{{"KYMO_JOB", "a \"job\""}, {"RANK", std::to_string(writer.origin.pid - 100)}}));
  }
}

// As on two hosts. In the file they have other ones.
TEST(RoundTripTest, ProcessesWithTheSamePidKeepTheirEnvironmentAndTheirDevices) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.kymo", exported = folder / "a.json", imported = folder / "b.kymo";
  for (const uint8_t number : {1, 2}) {
    TestRecorder one(path, number, 0, number == 1 ? trace::Writer::Mode::Create : trace::Writer::Mode::Append, 0,
                     "/usr/bin/train", {{"RANK", std::to_string(number)}});
    one.add_class(1, "a");
    one.add_class(2, "gemm", "kernel");
    one.add_thread(1, 7, "main");
    one.add_queue(2, base::format("GPU-{}", number), "stream");
    one.complete(1, 100, 110, 1);
    one.complete(2, 100, 110, 2);
    one.close();
  }
  export_and_import(path, convert::write_chrome, exported, imported);
  std::set<std::string> found;
  const trace::Reader reader(imported);
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [key, value] : writer.origin.metadata)
      for (const auto& [number, track] : writer.tracks)
        if (key == "RANK" && track.kind == trace::TrackKind::DeviceQueue) found.insert(value + " " + track.device_uuid);
  EXPECT_EQ(found, (std::set<std::string>{"1 GPU-1", "2 GPU-2"}));
}

TEST(RoundTripTest, PerfettoKeepsLanes) {
  const TemporaryFolder folder;
  record_lanes(folder / "a.kymo");
  EXPECT_EQ(round_trip(folder / "a.kymo", convert::write_perfetto, "pftrace").size(), 4u);
  EXPECT_EQ(round_trip(folder / "a.kymo", convert::write_perfetto, "pftrace"), Lines(folder / "a.kymo").lines);
}

TEST(RoundTripTest, ChromeKeepsLanes) {
  const TemporaryFolder folder;
  record_lanes(folder / "a.kymo");
  EXPECT_EQ(lost_times(folder / "a.kymo", convert::write_chrome, "json"), std::vector<std::string>());
}

TEST(RoundTripTest, NamesWithBracesAndOddIdsAreKept) {
  const TemporaryFolder folder;
  const std::string json = folder / "in.json", first = folder / "first.kymo";
  std::ofstream(json)
      << R"([{"ph":"X","cat":"c","name":"a {n} {{x}}","pid":-3,"tid":"io","ts":1,"dur":1,"args":{"n":5}},
    {"ph":"X","cat":"c","name":"b","pid":-3,"tid":"net","ts":1,"dur":1},
    {"ph":"X","cat":"c","name":"c","pid":"p","tid":-1,"ts":1,"dur":1}])";
  import_trace(json, first);
  const std::vector<std::string> lines = Lines(first).lines;
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[1].find(": a {n} {{x}} [c]"), std::string::npos) << lines[1];
  EXPECT_EQ(round_trip(first, convert::write_perfetto, "pftrace", Lines::Process::Name),
            Lines(first, Lines::Process::Name).lines);
  EXPECT_EQ(round_trip(first, convert::write_chrome, "json"), lines);
}

// A real trace of PyTorch, with thousands of events.
TEST(RoundTripTest, TracesOfPyTorchAreKept) {
  const TemporaryFolder folder;
  const std::string first = folder / "first.kymo";
  import_trace(base::in_tree("tests/data/kineto/torch-2.11-api.json.gz"), first);
  EXPECT_GT(Lines(first).times.size(), 100u);
  EXPECT_EQ(lost_times(first, convert::write_perfetto, "pftrace"), std::vector<std::string>());
  EXPECT_EQ(lost_times(first, convert::write_chrome, "json"), std::vector<std::string>());
}

}  // namespace
}  // namespace kymo::import
