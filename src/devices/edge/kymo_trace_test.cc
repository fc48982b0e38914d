#include "edge/kymo_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>

#include "base/test_tree.h"
#include "base/text.h"
#include "convert/events.h"
#include "convert/formats/export.h"
#include "edge/rows.h"
#include "edge/test_chrome_reader.h"
#include "edge/test_result.h"
#include "kymo/error.h"
#include "trace/reader.h"
#include "trace/test_recorder.h"

namespace kymo::edge {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kTestStart;
using ::testing::Pair;
using testing::TestResult;

// Lists the contents of a trace as text, with times relative to the test's start.
class EdgeTraceScript : public convert::EventVisitor {
 public:
  void range(const convert::Range& range) override {
    lines.push_back(base::format("{} {}-{}{}{}{}", range.name, time(range.start_ns), time(range.end_ns),
                                 range.lane != 0 ? base::format(" lane {}", range.lane) : "",
                                 range.depth != 0 ? base::format(" depth {}", range.depth) : "",
                                 range.finished ? "" : " unfinished") +
                    values(range));
  }
  bool wants_moments() const override { return true; }
  void range_begin(const convert::Range& range) override { moments += base::format("({} ", range.name); }
  void range_end(const convert::Place&, uint16_t, int64_t) override { moments += ") "; }
  void point(const convert::Point& point) override {
    moments += base::format("{}@{} ", point.name, time(point.time_ns));
    points.push_back(base::format("{} {} id {}", static_cast<int>(point.kind), point.name, point.id) + values(point));
  }

  std::vector<std::string> lines, points;
  std::string moments;

 private:
  static int64_t time(int64_t ns) { return ns - static_cast<int64_t>(kTestStart); }
  static std::string values(const convert::Event& event) {
    std::string text;
    for (size_t i = 0; i < event.values.size(); ++i)
      text += base::format("; {}={}", event.event_class->keys[i], trace::to_text(event.values[i]));
    return text;
  }
};

class EdgeTraceTest : public ::testing::Test {
 protected:
  EdgeTraceScript write(const TestResult& result) {
    write_kymo_trace(result.data, path);
    const trace::Reader reader(path);
    EXPECT_THAT(reader.problems(), IsEmpty());
    EdgeTraceScript script;
    const convert::Places places(reader);
    const convert::WalkReport report = visit_events(reader, places, convert::TimeBase::Realtime, script);
    EXPECT_THAT(report.problems, IsEmpty());
    return script;
  }

  trace::testing::TemporaryFolder folder;
  const std::string path = folder / "run.kymo";
};

TEST_F(EdgeTraceTest, EmptyResultGivesAValidTrace) {
  EXPECT_THAT(write(TestResult()).lines, IsEmpty());
  const trace::Reader reader(path);
  ASSERT_EQ(reader.writers().size(), 1u);
  const trace::Origin& origin = reader.writers().begin()->second.origin;
  EXPECT_EQ(origin.pid, 77u);
  EXPECT_EQ(origin.start_realtime_ns, kTestStart);
}

TEST_F(EdgeTraceTest, OperatorsWithoutFlopsAreInTheMetadata) {
  TestResult result;
  result.data.without_flops = {{"aten::sort", 3}, {"aten::topk", 1}};
  write(result);
  const trace::Reader reader(path);
  EXPECT_THAT(reader.writers().begin()->second.origin.metadata,
              Contains(Pair("flops_not_counted", "aten::sort (3), aten::topk (1)")));
}

TEST_F(EdgeTraceTest, RangesNestAndKeepTheirTimes) {
  TestResult result;
  result.thread(5, "main");
  const uint32_t outer = result.event("outer", 0, 100);
  const uint32_t inner = result.event("inner", 0, 50, outer);
  result.event("leaf", 10, 50, inner);
  result.event("next", 50, 100, outer);
  const EdgeTraceScript script = write(result);
  EXPECT_THAT(script.lines,
              ElementsAre("outer 0-100", "inner 0-50 depth 1", "leaf 10-50 depth 2", "next 50-100 depth 1"));
  EXPECT_EQ(script.moments, "(outer (inner (leaf ) ) (next ) ) Record Window End@1000000 ");
  const trace::Reader reader(path);
  const auto& tracks = reader.writers().begin()->second.tracks;
  ASSERT_EQ(tracks.size(), 1u);
  EXPECT_EQ(tracks.begin()->second.name, "main");
  EXPECT_EQ(tracks.begin()->second.tid, 5u);
}

TEST_F(EdgeTraceTest, KnownValuesOfAnEventAreItsFields) {
  TestResult result;
  result.data.event_names = {"cycles"};
  result.data.counts = {{1200, 700, true, true}};
  result.thread(5, "main");
  const uint32_t add = result.event("aten::add", 0, 10);
  Inputs inputs;
  const int64_t sizes[] = {64, 64}, strides[] = {64, 1};
  inputs.tensor(Element::Float, sizes, strides);
  inputs.integer(1);
  result.inputs(add, inputs);
  EdgeEvent& event = result[add];
  event.sequence = 3;
  event.engine_id = 9;
  event.debug_handle = 4;
  event.module_hierarchy = "top(C)::<unknown>.aten::add";
  event.call_stack = "a.py(3): forward";
  event.flops = 4096;
  event.memory_bytes = 512;
  event.self_memory_bytes = -8;
  event.counts = 0;
  event.raw_start_ns = kTestStart + 3;
  const uint32_t plain = result.event("aten::add", 20, 30);
  const uint32_t backend = result.event("aten::add", 40, 50, EdgeEvent::kNone, EdgeKind::Backend);
  result[backend].backend = "npu";
  EXPECT_EQ(result[plain].counts, EdgeEvent::kNone);
  EXPECT_THAT(
      write(result).lines,
      ElementsAre(base::format("aten::add 0-10; Input Dims=[[64, 64], []]; Input Strides=[[64, 1], []]; "
                               "Input type=[\"float\", \"Scalar\"]; Concrete Inputs=[\"\", \"1\"]; Sequence number=3; "
                               "Fwd thread id=0; Record function id=9; Debug handle=4; "
                               "Module Hierarchy=top(C)::<unknown>.aten::add; Call stack=a.py(3): forward; Flops=4096; "
                               "Memory=512; Self memory=-8; cycles=1200; cycles (exclusive)=700; cycles (scaled)=true; "
                               "Raw start ns={}; Raw duration ns=7",
                               kTestStart + 3),
                  "aten::add 20-30", "aten::add 40-50; Backend=npu"));
}

TEST_F(EdgeTraceTest, MemoryIsPointsAndACounter) {
  TestResult result;
  result.thread(5, "main");
  result.event("a", 0, 100);
  result.event("b", 200, 300);
  result.allocation(50, 0x10, 512, 512, 1024);
  result.allocation(150, 0x10, -512, 0, 1024);
  result.allocation(250, 0, 99, 0);
  result.data.allocations.back().out_of_memory = true;
  const EdgeTraceScript script = write(result);
  EXPECT_EQ(script.moments,
            "(a [memory]@50 memory in use, CPU 0@50 ) [memory]@150 memory in use, CPU 0@150 "
            "(b [OutOfMemory]@250 ) Record Window End@1000000 ");
  EXPECT_THAT(script.points,
              ElementsAre("8 [memory] id 16; Bytes=512; Total Allocated=512 B; Total Reserved=1.0 kB; Device Type=0; "
                          "Device Id=-1",
                          "2 memory in use, CPU 0 id 0; bytes=512",
                          "9 [memory] id 16; Bytes=-512; Total Allocated=0 B; Total Reserved=1.0 kB; Device Type=0; "
                          "Device Id=-1",
                          "2 memory in use, CPU 0 id 0; bytes=0",
                          "1 [OutOfMemory] id 0; Bytes=99; Total Allocated=0 B; Total Reserved=0 B; Device Type=0; "
                          "Device Id=-1",
                          "1 Record Window End id 0"));
}

TEST_F(EdgeTraceTest, OverlappingEventsHaveLanes) {
  TestResult result;
  result.thread(5, "main");
  result.event("a", 0, 50);
  const uint32_t b = result.event("b", 20, 80, EdgeEvent::kNone, EdgeKind::User);
  result.event("in b", 30, 70, b);
  result.event("c", 40, 90, EdgeEvent::kNone, EdgeKind::User);
  result.event("d", 55, 60);
  EXPECT_THAT(write(result).lines,
              ElementsAre("a 0-50", "d 55-60", "b 20-80 lane 1", "in b 30-70 lane 1 depth 1", "c 40-90 lane 2"));
}

TEST_F(EdgeTraceTest, UnfinishedEventIsOpenUntilTheRecordingEnds) {
  TestResult result;
  result.thread(5, "main");
  const uint32_t forever = result.event("forever", 0, 1'000'000);
  result[forever].finished = false;
  result.event("inside", 10, 20, forever);
  result.event("beside", 15, 30, forever);
  EXPECT_THAT(write(result).lines,
              ElementsAre("inside 10-20 depth 1", "beside 15-30 lane 1", "forever 0-1000000 unfinished"));
}

TEST_F(EdgeTraceTest, DevicesHaveQueuesThatAreLinkedToTheirLaunches) {
  TestResult result;
  result.thread(5, "main");
  const uint32_t launch = result.event("aten::mm", 0, 50);
  result.event("aten::relu", 60, 70);
  const uint32_t kernel = result.device_event("mm_kernel", 100, 200, {10, 1}, 2);
  result[kernel].caused_by = launch;
  result[kernel].queued_ns = kTestStart + 20;
  write(result);
  const trace::Reader reader(path);
  const trace::Track& queue = reader.writers().begin()->second.tracks.at(2);
  EXPECT_EQ(queue.kind, trace::TrackKind::DeviceQueue);
  EXPECT_EQ(queue.device_uuid, "Vulkan 1");
  EXPECT_EQ(queue.queue, 2u);
  ASSERT_EQ(reader.event_chunks().size(), 2u);
  trace::EventBatch host, device;
  reader.read(reader.event_chunks()[0], host);
  reader.read(reader.event_chunks()[1], device);
  EXPECT_THAT(host.ranges.correlation, ElementsAre(1u, 0u));
  EXPECT_THAT(device.ranges.correlation, ElementsAre(1u));
  convert::export_trace(reader, folder / "run.json");
  EXPECT_THAT(testing::file_text(folder / "run.json"), HasSubstr("ac2g"));
}

TEST_F(EdgeTraceTest, StacksAreSamplesWithFrames) {
  TestResult result;
  const EdgeFrame main{"main", "a.cc", "/bin/x", 12, false};
  result.data.stacks = {{{"run()", "b.cc", "/bin/x", 3, true}, main}, {main}};
  result.thread(5, "main");
  result[result.event("a", 0, 10)].stack = 1;
  result[result.event("b", 20, 30)].stack = 0;
  EXPECT_EQ(write(result).moments, "(a C++ stack@0 ) (b C++ stack@20 ) Record Window End@1000000 ");
  const trace::Reader reader(path);
  EXPECT_EQ(reader.writers().begin()->second.frames.size(), 2u);
  convert::export_trace(reader, folder / "run.json");
  EXPECT_THAT(testing::file_text(folder / "run.json"), HasSubstr("run() < main"));
}

TEST_F(EdgeTraceTest, LossesAreInTheTrace) {
  TestResult result;
  result.data.losses = {"2 backend events ended before they began"};
  write(result);
  const trace::Reader reader(path);
  const auto& losses = reader.writers().begin()->second.losses;
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].detail, "2 backend events ended before they began");
}

TEST_F(EdgeTraceTest, ErrorNamesAnUnwritablePath) {
  try {
    write_kymo_trace(TestResult().data, "/no/such/folder/run.kymo");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/no/such/folder/run.kymo"));
  }
}

// ---- Large results and any times ------------------------------------------------------------------------------------

TEST_F(EdgeTraceTest, ChunksFitTogether) {
  TestResult result;
  result.thread(5, "main");
  const uint32_t whole = result.event("whole", 0, 10'000'000);
  uint32_t half = EdgeEvent::kNone;
  for (uint64_t i = 0; i < 70'000; ++i) {
    if (i % 35'000 == 0) half = result.event("half", i * 10, i * 10 + 350'000, whole);
    result.event("aten::add", i * 10 + 1, i * 10 + 9, half);
    result.allocation(i * 10 + 5, i, 8, 8 * i);
  }
  const EdgeTraceScript script = write(result);
  const trace::Reader reader(path);
  EXPECT_GT(reader.event_chunks().size(), 4u);
  EXPECT_EQ(script.lines.size(), result.data.events.size());
  std::string expected = "(whole ";
  for (int i = 0; i < 70'000; ++i) {
    if (i % 35'000 == 0) expected += i == 0 ? "(half " : ") (half ";
    expected += base::format("(aten::add [memory]@{} memory in use, CPU 0@{} ) ", i * 10 + 5, i * 10 + 5);
  }
  expected += ") ) ";
  // The end of the window comes before the end of `whole`, and is a separate event.
  std::string moments = script.moments;
  const size_t at = moments.find("Record Window End");
  ASSERT_NE(at, std::string::npos);
  moments.erase(at, moments.find(' ', moments.find('@', at)) + 1 - at);
  EXPECT_TRUE(moments == expected);
}

TEST_F(EdgeTraceTest, AnyTimesAreKept) {
  std::mt19937_64 random(23);
  for (const uint64_t longest : {30u, 3000u, 1'000'000u}) {
    TestResult result;
    for (uint64_t thread = 1; thread < 3; ++thread) {
      result.thread(thread, "t");
      uint64_t now = 0;
      for (uint32_t i = 0; i < 1500; ++i) {
        now += random() % 20;
        const auto parent = static_cast<uint32_t>(random() % (result.data.events.size() + 1));
        const uint32_t event = result.event("e" + std::to_string(i % 5), now, now + random() % longest, parent);
        result[event].finished = random() % 1000 != 0;
        if (random() % 500 == 0) result[event].start_ns = random() % 2 ? 5 : 1;
      }
    }
    const EdgeTraceScript script = write(result);
    EXPECT_EQ(script.lines.size(), result.data.events.size()) << longest;
    const trace::Reader reader(path);
    convert::export_trace(reader, folder / "run.json");
    convert::export_trace(reader, folder / "run.csv");
    convert::export_trace(reader, folder / "run.pftrace");
  }
}

// ---- The command ---------------------------------------------------------------------------------------------------

std::string command_output(const std::string& command) {
  std::string text;
  if (FILE* const pipe = popen((command + " 2>&1").c_str(), "r")) {
    std::array<char, 4096> buffer;
    for (size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), pipe)) != 0;) text.append(buffer.data(), got);
    if (pclose(pipe) != 0) text += "(failed)";
  }
  return text;
}

TEST_F(EdgeTraceTest, CommandReadsTheTrace) {
  const std::string kymo = kymo::base::built("bin/kymo");
  if (!std::filesystem::exists(kymo)) GTEST_SKIP() << "the command is not built";
  TestResult result;
  result.data.losses = {"2 backend events ended before they began"};
  result.thread(5, "main");
  const uint32_t linear = result.event("aten::linear", 0, 1000);
  result.event("aten::addmm", 100, 900, linear);
  result.allocation(500, 0x10, 512, 512, 1024);
  write(result);
  const std::string info = command_output(kymo + " info " + path);
  EXPECT_THAT(info, HasSubstr("2 ranges"));
  EXPECT_THAT(info, HasSubstr("2 backend events ended before they began"));
  const std::string stats = command_output(kymo + " stats " + path);
  EXPECT_THAT(stats, HasSubstr("aten::addmm"));
  EXPECT_THAT(stats, HasSubstr("memory in use, CPU 0"));
  const std::string exported = command_output(kymo + " export " + path + " -o " + (folder / "run.json"));
  EXPECT_THAT(testing::file_text(folder / "run.json"), HasSubstr("aten::linear")) << exported;
}

}  // namespace
}  // namespace kymo::edge
