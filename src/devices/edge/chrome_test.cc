#include "edge/chrome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "edge/test_chrome_reader.h"
#include "edge/test_result.h"
#include "trace/test_recorder.h"

namespace kymo::edge {
namespace {

using testing::ChromeLines;
using ::testing::HasSubstr;
using testing::kTestStart;
using ::testing::Not;
using testing::TestResult;

class EdgeChromeTest : public ::testing::Test {
 protected:
  // Returns the text, after a check that viewers can read it.
  std::string write(const TestResult& result) {
    convert::FileStream sink(path);
    write_chrome(result.data, "/tmp/run.json", sink);
    sink.finish();
    EXPECT_EQ(testing::chrome_faults(path), "");
    return testing::file_text(path);
  }

  trace::testing::TemporaryFolder folder;
  const std::string path = folder / "trace.json";
};

TEST_F(EdgeChromeTest, EmptyResultGivesAValidFile) {
  const std::string text = write(TestResult());
  EXPECT_THAT(text, HasSubstr("\"schemaVersion\": 1,"));
  EXPECT_THAT(text, HasSubstr("\"deviceProperties\": [],"));
  EXPECT_THAT(text, HasSubstr("\"displayTimeUnit\": \"ms\","));
  EXPECT_THAT(text, HasSubstr("\"traceName\": \"/tmp/run.json\""));
  EXPECT_THAT(text, Not(HasSubstr("record_shapes")));
  EXPECT_THAT(text, Not(HasSubstr("losses")));
}

TEST_F(EdgeChromeTest, TimesAreMicrosecondsSinceTheStartOfAQuarterYear) {
  TestResult result;
  result.thread(5, "main");
  result.event("short", 1, 1);
  result.event("long", 2'034, 1'002'044);
  const uint64_t base = kTestStart / 7'889'238'000'000'000 * 7'889'238'000'000'000;
  const std::string text = write(result);
  EXPECT_THAT(text, HasSubstr("\"baseTimeNanoseconds\": " + std::to_string(base) + ","));
  const std::string whole = std::to_string((kTestStart - base) / 1000);
  EXPECT_THAT(text, HasSubstr("\"ts\": " + whole + ".001, \"dur\": 0.000,"));
  EXPECT_THAT(text, HasSubstr(".034, \"dur\": 1000.010,"));
}

TEST_F(EdgeChromeTest, EventHasTheFormatOfKineto) {
  TestResult result;
  result.data.inputs_wanted = result.data.modules_wanted = true;
  result.thread(5, "main");
  const uint32_t add = result.event("aten::add", 1000, 3000);
  Inputs inputs;
  const int64_t sizes[] = {64, 64}, strides[] = {64, 1};
  inputs.tensor(Element::Float, sizes, strides);
  inputs.integer(1);
  result.inputs(add, inputs);
  result[add].engine_id = 9;
  result[add].sequence = 3;
  result[add].module_hierarchy = "top(C)::<unknown>.aten::add";
  result[add].call_stack = "a.py(3): forward;b.py(7): run";
  result[add].flops = 4096;
  const std::string text = write(result);
  EXPECT_THAT(text, HasSubstr("\"record_shapes\": 1,\n"));
  EXPECT_THAT(text, HasSubstr("\"with_modules\": 1,\n"));
  EXPECT_THAT(text, HasSubstr(R"(    "ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 77, "tid": 5,
    "ts": )"));
  EXPECT_THAT(text, HasSubstr(R"(, "dur": 2.000,
    "args": {
      "External id": 1,
      "Record function id": 9,
      "Ev Idx": 0,
      "Sequence number": 3,
      "Fwd thread id": 0,
      "Input Dims": [[64, 64], []],
      "Input Strides": [[64, 1], []],
      "Input type": ["float", "Scalar"],
      "Concrete Inputs": ["", "1"],
      "Call stack": "a.py(3): forward;b.py(7): run",
      "Module Hierarchy": "top(C)::<unknown>.aten::add.",
      "Flops": 4096
    }
  })"));
  EXPECT_THAT(text, HasSubstr("\"name\": \"thread 5 (main)\""));
}

TEST_F(EdgeChromeTest, OperatorsWithoutFlopsAreInTheMetadata) {
  TestResult result;
  result.data.flops_wanted = true;
  EXPECT_THAT(write(result), Not(HasSubstr("flops_not_counted")));
  result.data.without_flops = {{"aten::sort", 3}, {"my\"op", 1}};
  EXPECT_THAT(write(result), HasSubstr(R"("flops_not_counted": {"aten::sort": 3, "my\"op": 1},)"));
}

TEST_F(EdgeChromeTest, ReaderOfPyTorchTestsFindsItsFields) {
  TestResult result;
  result.thread(5, "main");
  const auto place = [&](uint32_t event, std::string_view where) { result[event].module_hierarchy = where; };
  place(result.event("aten::sub", 10, 20), "top(C)::<unknown>.A0(A)::forward.aten::sub");
  place(result.event("aten::add", 30, 40), "top(C)::<unknown>.A0(A)::forward.SELF(A)::forward_impl_.aten::add");
  place(result.event("aten::add", 50, 60), "top(C)::<unknown>.SELF(C)::call_b.B0(B)::forward.aten::add");
  const uint32_t last = result.event("aten::add", 70, 80, EdgeEvent::kNone, EdgeKind::Backend);
  place(last, "top(C)::<unknown>.aten::add");
  result[last].backend = "test_backend";
  result.allocation(75, 0x1000, 16384, 16384, 49152);
  ChromeLines lines(write(result));
  EXPECT_TRUE(lines.find("aten::sub", "Module Hierarchy", "top(C)::<unknown>.A0(A)::forward.aten::sub"));
  lines.rewind();
  EXPECT_TRUE(
      lines.find("aten::add", "Module Hierarchy", "top(C)::<unknown>.A0(A)::forward.SELF(A)::forward_impl_.aten::add"));
  EXPECT_TRUE(
      lines.find("aten::add", "Module Hierarchy", "top(C)::<unknown>.SELF(C)::call_b.B0(B)::forward.aten::add"));
  EXPECT_TRUE(lines.find("aten::add", "Module Hierarchy", "top(C)::<unknown>.aten::add"));
  lines.rewind();
  EXPECT_TRUE(lines.find("aten::add", "Backend", "test_backend"));
  lines.rewind();
  EXPECT_TRUE(lines.find("[memory]", "Bytes", "16384"));
  lines.rewind();
  EXPECT_TRUE(lines.find("[memory]", "Total Reserved", "49152"));
  EXPECT_FALSE(lines.find("[memory]", "Total Reserved", "49152")) << "there is one";
}

TEST_F(EdgeChromeTest, MemoryIsAnInstant) {
  TestResult result;
  result.data.memory_wanted = true;
  result.thread(5, "main");
  result.event("aten::empty", 0, 100);
  result.allocation(10, 4096, 512, 512);
  result.allocation(20, 4096, -512, 0);
  result.allocation(30, 0, 1 << 30, 0);
  result.data.allocations.back().out_of_memory = true;
  const std::string text = write(result);
  EXPECT_THAT(text, HasSubstr(R"(    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]",
    "pid": 77, "tid": 5,
    "ts": )"));
  EXPECT_THAT(text, HasSubstr(R"(
      "Device Type": 0,
      "Device Id": -1,
      "Addr": 4096,
      "Bytes": -512,
      "Total Allocated": 0,
      "Total Reserved": 0,
      "Ev Idx": 2
)"));
  EXPECT_THAT(text, HasSubstr(R"("name": "[OutOfMemory]",)"));
  EXPECT_THAT(text, HasSubstr("\"Device Id\": -1,\n      \"Bytes\": 1073741824,"));
}

TEST_F(EdgeChromeTest, CountersAreArgumentsWithTheirNames) {
  TestResult result;
  result.data.event_names = {"cycles", "odd\"name", "unknown"};
  result.data.counts = {{1200, 700, false, true}, {10.5, 3.25, true, true}, {0, 0, false, false}};
  result.thread(5, "main");
  result[result.event("a", 0, 10)].counts = 0;
  result[result.event("b", 20, 30)].counts = 1;  // some of its counts are missing
  const std::string text = write(result);
  EXPECT_THAT(text, HasSubstr(R"J(
      "cycles": 1200,
      "cycles (exclusive)": 700,
      "odd\"name": 10.5,
      "odd\"name (exclusive)": 3.25,
      "odd\"name (scaled)": true
    })J"));
  EXPECT_THAT(text, Not(HasSubstr("unknown")));
}

TEST_F(EdgeChromeTest, CppStackIsOneText) {
  TestResult result;
  result.data.stacks = {{{"run()", "a.cc", "/bin/x", 12, true}, {"libx.so+0x10", "", "/lib/libx.so", 0, false}}};
  result.thread(5, "main");
  result[result.event("a", 0, 10)].stack = 0;
  result[result.event("b", 20, 30)].stack = 7;  // not a valid stack
  EXPECT_THAT(write(result), HasSubstr(R"J("C++ stack": "run() (a.cc:12);libx.so+0x10")J"));
}

TEST_F(EdgeChromeTest, UnfinishedEventIsMarked) {
  TestResult result;
  result.thread(5, "main");
  result[result.event("forever", 0, 1'000'000)].finished = false;
  result.event("done", 10, 20, 0);
  const std::string text = write(result);
  EXPECT_THAT(text, HasSubstr("\"Ev Idx\": 0,\n      \"finished\": false\n"));
  EXPECT_THAT(text, HasSubstr("\"Ev Idx\": 1\n"));
}

TEST_F(EdgeChromeTest, OverlappingEventHasARowMarkedOverlapping) {
  TestResult result;
  result.thread(5, "main");
  result.event("a", 0, 50);
  result.event("b", 20, 80, EdgeEvent::kNone, EdgeKind::Backend);
  const std::string text = write(result);
  EXPECT_THAT(text, HasSubstr(R"("name": "b", "pid": 77, "tid": 10000000,)"));
  EXPECT_THAT(text, HasSubstr(R"J("name": "thread 5 (main), overlapping 1")J"));
  EXPECT_THAT(text, HasSubstr(R"("Backend": "")"));
}

TEST_F(EdgeChromeTest, DevicesAreProcessesAndQueuesAreTheirThreads) {
  TestResult result;
  result.thread(5, "main");
  const uint32_t launch = result.event("aten::mm", 0, 50);
  const uint32_t kernel = result.device_event("mm_kernel", 100, 200, {10, 0}, 2);
  result[kernel].caused_by = launch;
  result.device_event("other", 150, 180, {1, 0}, 2);
  const std::string text = write(result);
  EXPECT_THAT(text, HasSubstr(R"("cat": "kernel", "name": "mm_kernel", "pid": 0, "tid": 2,)"));
  EXPECT_THAT(text, HasSubstr(R"("cat": "kernel", "name": "other", "pid": 1, "tid": 2,)"));
  EXPECT_THAT(text,
              HasSubstr("\"External id\": 1,\n      \"Ev Idx\": 1,\n      \"device\": 0,\n      \"stream\": 2\n"));
  EXPECT_THAT(text, HasSubstr(R"("name": "Vulkan 0")"));
  EXPECT_THAT(text, HasSubstr(R"("labels": "CUDA 0")"));
  EXPECT_THAT(text, HasSubstr(R"("name": "stream 2 ")"));
  EXPECT_THAT(text, HasSubstr(R"("cat": "ac2g", "name": "ac2g", "bp": "e")"));
}

TEST_F(EdgeChromeTest, MovedEventsKeepTheirOriginalTimes) {
  TestResult result;
  result.data.adjusted = true;
  result.thread(5, "main");
  const uint32_t parent = result.event("aten::mm", 0, 5000);
  const uint32_t moved = result.event("mm_shader", 1000, 4000, parent, EdgeKind::Device);
  result[moved].device = {10, 0};
  result[moved].raw_start_ns = kTestStart + 7000;
  result[moved].raw_end_ns = kTestStart + 10'000;
  const std::string text = write(result);
  EXPECT_THAT(text, HasSubstr("\"adjust_vulkan_timestamps\": 1"));
  EXPECT_THAT(text, HasSubstr(R"("cat": "cpu_op", "name": "mm_shader", "pid": 77, "tid": 5,)"));
  EXPECT_THAT(text, HasSubstr("\"Raw duration\": 3.000"));
}

TEST_F(EdgeChromeTest, ForwardOperatorsHaveArrowsToTheirBackwardFunctions) {
  TestResult result;
  result.thread(5, "main");
  result[result.event("aten::mul", 0, 10)].sequence = 3;
  result.thread(6, "autograd");
  const uint32_t backward = result.event("MulBackward0", 50, 60, EdgeEvent::kNone, EdgeKind::Backward);
  result[backward].sequence = 3;
  result[backward].forward_thread = 1;
  const std::string text = write(result);
  EXPECT_THAT(text, HasSubstr("\"ph\": \"s\", \"id\": 1, \"pid\": 77, \"tid\": 5, \"ts\": "));
  EXPECT_THAT(text, HasSubstr("\"ph\": \"f\", \"id\": 1, \"pid\": 77, \"tid\": 6, \"ts\": "));
  EXPECT_THAT(text, HasSubstr("\"cat\": \"fwdbwd\", \"name\": \"fwdbwd\", \"bp\": \"e\""));
}

TEST_F(EdgeChromeTest, LossesAreListed) {
  TestResult result;
  result.data.losses = {"2 backend events ended before they began", "a \"quoted\" one"};
  EXPECT_THAT(write(result), HasSubstr(R"(  "losses": [
    "2 backend events ended before they began",
    "a \"quoted\" one"
  ],
  "traceName")"));
}

TEST_F(EdgeChromeTest, UserScopesAreAnnotations) {
  TestResult result;
  result.thread(5, "main");
  result.event("step", 0, 10, EdgeEvent::kNone, EdgeKind::User);
  EXPECT_THAT(write(result), HasSubstr(R"("cat": "user_annotation", "name": "step")"));
}

// ---- Any content of the result --------------------------------------------------------------------------------------

std::string hostile_chrome_text(std::mt19937_64& random) {
  std::string text(random() % 12, ' ');
  for (char& byte : text) byte = random() % 2 ? "\"\\\n\r\t{},:\x01\x7f"[random() % 11] : static_cast<char>(random());
  return text;
}

TEST_F(EdgeChromeTest, AnyTextsAndTimesGiveAValidFile) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 8; ++round) {
    TestResult result;
    result.data.event_names = {hostile_chrome_text(random)};
    result.data.counts = {{std::nan(""), HUGE_VAL, true, true}, {-1, 1e300, false, true}};
    result.data.stacks = {
        {{hostile_chrome_text(random), hostile_chrome_text(random), hostile_chrome_text(random), 1, false}}};
    result.data.losses = {hostile_chrome_text(random)};
    for (uint64_t thread = 1; thread < 4; ++thread) {
      result.thread(thread == 3 ? ~uint64_t{0} : thread, hostile_chrome_text(random));
      for (int i = 0; i < 100; ++i) {
        const uint64_t start = random() % 1'000'000;
        const uint32_t event = result.event(hostile_chrome_text(random), start, random() % 1'000'000, random() % 200,
                                            static_cast<EdgeKind>(random() % 5));
        EdgeEvent& one = result[event];
        one.call_stack = result.data.keep(hostile_chrome_text(random));
        one.module_hierarchy = result.data.keep(hostile_chrome_text(random));
        one.backend = result.data.keep(hostile_chrome_text(random));
        one.sequence = static_cast<int64_t>(random() % 20) - 1;
        one.stack = static_cast<uint32_t>(random() % 3);
        one.counts = static_cast<uint32_t>(random() % 4);
        Inputs inputs;
        inputs.text(hostile_chrome_text(random));
        result.inputs(event, inputs);
        if (random() % 10 == 0) one.inputs_size = static_cast<uint32_t>(random());
        if (random() % 20 == 0) one.start_ns = random() % 2 ? 0 : 1000;  // long before the base time of the file
      }
      result.allocation(5, ~uint64_t{0}, INT64_MIN, ~uint64_t{0});
    }
    for (int i = 0; i < 20; ++i) {
      const uint64_t start = random() % 1000;
      result.device_event(hostile_chrome_text(random), start, start + random() % 1000,
                          {static_cast<int32_t>(random() % 20) - 3, static_cast<int32_t>(random() % 3) - 1}, random());
    }
    write(result);
    ASSERT_FALSE(HasFailure()) << "in round " << round;
  }
}

TEST_F(EdgeChromeTest, ManyEventsAreWrittenInPieces) {
  TestResult result;
  result.thread(5, "main");
  for (uint64_t i = 0; i < 20'000; ++i) result.event("aten::add", i * 10, i * 10 + 5);
  const std::string text = write(result);
  EXPECT_GT(text.size(), 8 * convert::kFlushAt);
  EXPECT_THAT(text, HasSubstr("\"Ev Idx\": 19999"));
}

}  // namespace
}  // namespace kymo::edge
