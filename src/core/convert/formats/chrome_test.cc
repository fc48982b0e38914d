#include "convert/formats/chrome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/text.h"
#include "trace/test_recorder.h"

namespace kymo::convert {
namespace {

using ::testing::HasSubstr;
using trace::FieldType;
using trace::PointKind;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

// Ticks count from kRealtimeZero, which is this long after the base: 1,700,000,000 s modulo 7,889,238 s.
constexpr uint64_t kZeroAfterBaseUs = 1'700'000'000ull % 7'889'238 * 1'000'000;

std::string microseconds(uint64_t tick) {
  return base::format("{}.{:03}", kZeroAfterBaseUs + tick / 1000, tick % 1000);
}

class ChromeTest : public ::testing::Test {
 protected:
  TestRecorder make() {
    TestRecorder recorder(path);
    recorder.add_thread(1, 101, "main");
    recorder.add_thread(2, 102, "worker \"two\"");
    recorder.add_class(1, "outer");
    recorder.add_class({2, "in\"ner", "cat\\1", 0xFF336699, {{"rows", FieldType::Int}, {"note", FieldType::String}}});
    recorder.add_class(3, "step {}", "train", {{"", FieldType::Int}, {"loss", FieldType::Double}});
    recorder.add_class(4, "memory", "", {{"", FieldType::ByteCount}});
    recorder.add_class(5, "flow", "net");
    return recorder;
  }
  static void add_queue(TestRecorder& recorder) { recorder.add_queue(3, "GPU-a", "", 7, "NPU 9"); }
  std::string convert() {
    StringStream sink;
    write_chrome(trace::Reader(path), sink);
    return sink.text();
  }
  // The number of occurrences of `part`.
  static size_t count(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }

  TemporaryFolder folder;
  std::string path = folder / "t.kymo";
};

TEST_F(ChromeTest, RangesAreCompleteSlices) {
  TestRecorder recorder = make();
  recorder.begin(1, 1000, 1);
  recorder.begin(1, 1500, 2, {int64_t{-3}, "a\nb"});
  recorder.end(1, 2001);
  recorder.end(1, 4000);
  recorder.close();
  const std::string text = convert();
  EXPECT_THAT(text, HasSubstr(R"({"ph":"X","cat":"user_annotation","name":"outer","pid":100,"tid":101,"ts":)" +
                              microseconds(1000) + R"(,"dur":3.000,"args":{"External id":2}})"));
  EXPECT_THAT(text,
              HasSubstr(R"({"ph":"X","cat":"cat\\1","name":"in\"ner","pid":100,"tid":101,"ts":)" + microseconds(1500) +
                        R"(,"dur":0.501,"args":{"rows":-3,"note":"a\nb","colour":"#336699"}})"));
  EXPECT_LT(text.find("\"outer\""), text.find("in\\\"ner")) << "a parent comes before its children";
}

TEST_F(ChromeTest, TimesCountFromTheStartOfTheQuarter) {
  TestRecorder recorder = make();
  recorder.begin(1, 5, 1);
  recorder.end(1, 6);
  recorder.close();
  EXPECT_THAT(
      convert(),
      HasSubstr("\"baseTimeNanoseconds\": " + std::to_string(1'700'000'000ull / 7'889'238 * 7'889'238) + "000000000,"));
}

TEST_F(ChromeTest, NamePlaceholdersAreFilledAndNonFiniteNumbersAreStrings) {
  TestRecorder recorder = make();
  recorder.begin(1, 1000, 3, {int64_t{7}, std::nan("")});
  recorder.end(1, 2000);
  recorder.close();
  EXPECT_THAT(convert(), HasSubstr(R"("cat":"train","name":"step 7",)"));
  EXPECT_THAT(convert(), HasSubstr(R"("args":{"loss":"NaN"})"));
}

TEST_F(ChromeTest, FieldsInTheNameAreNotArgumentsUnlessTheyHaveAName) {
  TestRecorder recorder = make();
  recorder.add_class(6, "{1:03} {{{loss:.2f}}}", "",
                     {{"", FieldType::Int}, {"", FieldType::Int}, {"loss", FieldType::Double}});
  recorder.begin(1, 1000, 6, {int64_t{7}, int64_t{8}, 0.5});
  recorder.end(1, 2000);
  recorder.close();
  EXPECT_THAT(convert(), HasSubstr(R"("name":"008 {0.50}",)"));
  EXPECT_THAT(convert(), HasSubstr(R"("value 1":7,"loss":0.5,)"));
}

TEST_F(ChromeTest, UnfinishedRangesLastToTheEndAndAreMarked) {
  TestRecorder recorder = make();
  recorder.begin(1, 1000, 1);
  recorder.cut(1);
  recorder.begin(2, 1000, 1);
  recorder.end(2, 9000);
  recorder.close();
  EXPECT_THAT(convert(),
              HasSubstr(R"("tid":101,"ts":)" + microseconds(1000) + R"(,"dur":8.000,"args":{"finished":false}})"));
}

TEST_F(ChromeTest, PointsAreInstantsAndCounters) {
  TestRecorder recorder = make();
  recorder.point(1, 1000, PointKind::Instant, 1);
  recorder.point(1, 2000, PointKind::Counter, 4, 0, {int64_t{4096}});
  recorder.point(1, 3000, PointKind::Allocation, 1, 0xbeef);
  recorder.close();
  const std::string text = convert();
  EXPECT_THAT(text, HasSubstr(R"({"ph":"i","cat":"","s":"t","name":"outer","pid":100,"tid":101,"ts":)" +
                              microseconds(1000) + R"(,"args":{}})"));
  EXPECT_THAT(text, HasSubstr(R"({"ph":"C","cat":"","name":"memory","pid":100,"tid":101,"ts":)" + microseconds(2000) +
                              R"(,"args":{"value":4096}})"));
  EXPECT_THAT(text, HasSubstr(R"("Addr":48879,)"));
}

TEST_F(ChromeTest, AsyncRangesAreAPairWithAnIdLocalToTheProcess) {
  TestRecorder recorder = make();
  recorder.point(1, 1000, PointKind::AsyncBegin, 5, 26);
  recorder.point(2, 3000, PointKind::AsyncEnd, 5, 26);
  recorder.close();
  const std::string text = convert();
  EXPECT_THAT(text, HasSubstr(R"({"ph":"b","cat":"net","name":"flow","pid":100,"tid":101,"ts":)" + microseconds(1000) +
                              R"(,"id2":{"local":"0x1a"},"args":{}})"));
  EXPECT_THAT(text, HasSubstr(R"({"ph":"e","cat":"net","name":"flow","pid":100,"tid":102,"ts":)" + microseconds(3000) +
                              R"(,"id2":{"local":"0x1a"}})"));
}

TEST_F(ChromeTest, OnlyCompleteFlowsAreWritten) {
  TestRecorder recorder = make();
  recorder.begin(1, 1000, 1);
  recorder.add_class(6, "handover", "net");
  recorder.point(1, 1000, PointKind::FlowBegin, 6, 7);
  recorder.point(1, 1500, PointKind::FlowBegin, 5, 8);  // has no end
  recorder.point(1, 1600, PointKind::FlowBegin, 5, 9);  // ends outside of any range
  recorder.end(1, 2000);
  recorder.begin(2, 3000, 1);
  recorder.point(2, 3500, PointKind::FlowStep, 5, 7);
  recorder.point(2, 4000, PointKind::FlowEnd, 5, 7);
  recorder.end(2, 4000);
  recorder.point(2, 5000, PointKind::FlowEnd, 5, 9);
  recorder.close();
  const std::string text = convert();
  EXPECT_EQ(count(text, R"("ph":"s")"), 1u);
  EXPECT_EQ(count(text, R"("ph":"t")"), 1u);
  EXPECT_EQ(count(text, R"("ph":"f")"), 1u);
  EXPECT_THAT(text, HasSubstr(R"({"ph":"s","id":1,"pid":100,"tid":101,"ts":)" + microseconds(1000) +
                              R"(,"cat":"handover","name":"handover","args":{}})"));
  EXPECT_THAT(text, HasSubstr(R"({"ph":"f","id":1,"pid":100,"tid":102,"ts":)" + microseconds(3999) +
                              R"(,"cat":"handover","name":"handover","bp":"e","args":{}})"))
      << "inside its slice, which does not hold its own end";
  EXPECT_THAT(text, HasSubstr(R"("incomplete_flows":3)"));
}

TEST_F(ChromeTest, ReusedFlowNumbersAreSeparateArrows) {
  TestRecorder recorder = make();
  constexpr uint64_t kHandovers = 1000, kAddress = 0xbeef;
  for (uint64_t i = 0; i < kHandovers; ++i) {
    const uint64_t at = 1000 + i * 100;
    recorder.begin(1, at, 1);
    recorder.point(1, at + 10, PointKind::FlowBegin, 5, kAddress);
    recorder.end(1, at + 20);
    recorder.begin(2, at + 30, 1);
    recorder.point(2, at + 40, PointKind::FlowEnd, 5, kAddress);
    recorder.end(2, at + 50);
  }
  recorder.close();
  const std::string text = convert();
  EXPECT_EQ(count(text, R"("ph":"s")"), kHandovers);
  EXPECT_EQ(count(text, R"("ph":"f")"), kHandovers);
  for (const uint64_t i : {uint64_t{0}, kHandovers - 1}) {
    EXPECT_THAT(text, HasSubstr(base::format(R"({{"ph":"s","id":{},"pid":100,"tid":101,"ts":{},)", i + 1,
                                             microseconds(1010 + i * 100))));
    EXPECT_THAT(text, HasSubstr(base::format(R"({{"ph":"f","id":{},"pid":100,"tid":102,"ts":{},)", i + 1,
                                             microseconds(1040 + i * 100))));
  }
  EXPECT_THAT(text, HasSubstr(R"("incomplete_flows":0)"));
}

TEST_F(ChromeTest, LaunchWithThreeSpansHasThreeArrows) {
  TestRecorder recorder = make();
  add_queue(recorder);
  recorder.complete(1, 1000, 2000, 1, 0, 0, 42);
  for (uint64_t i = 0; i < 3; ++i) recorder.complete(3, 5000 + i * 1000, 5500 + i * 1000, 5, 0, 0, 42);
  recorder.close();
  const std::string text = convert();
  for (int id = 1; id <= 3; ++id) {
    EXPECT_THAT(text, HasSubstr(base::format(R"({{"ph":"s","id":{},"pid":100,)", id)));
    EXPECT_THAT(text, HasSubstr(base::format(R"({{"ph":"f","id":{},"pid":0,"tid":7,"ts":{},)", id,
                                             microseconds(4000 + static_cast<uint64_t>(id) * 1000))));
  }
  EXPECT_EQ(count(text, R"("name":"ac2g")"), 6u);
}

// What HTA looks for: the calls by category and name, the work by category, both with correlation.
TEST_F(ChromeTest, DeviceWorkHasKinetosNamesAndBelongsToItsOperator) {
  TestRecorder recorder = make();
  add_queue(recorder);
  const std::vector<trace::Field> size = {{"threads_x", FieldType::UInt}, {"threads_y", FieldType::UInt},
                                          {"threads_z", FieldType::UInt}, {"group_x", FieldType::UInt},
                                          {"group_y", FieldType::UInt},   {"group_z", FieldType::UInt}};
  recorder.add_class(10, "aten::mm", "cpu_op");
  recorder.add_class(11, "launch {}", "device", {{"", FieldType::String}});
  recorder.add_class(12, "queue copy", "device", {{"bytes", FieldType::ByteCount}});
  recorder.add_class(13, "mm_kernel", "", size);
  recorder.add_class(14, "copy host to device", "copy",
                     {{"bytes", FieldType::ByteCount}, {"GB_per_s", FieldType::Double}});
  recorder.add_class(15, "fill", "fill");
  recorder.add_class(16, "sort", "physics");
  recorder.begin(1, 1000, 10);
  recorder.begin(1, 1100, 11, {"mm_kernel"}, 42);
  recorder.cut(1);  // the operator ends in a later chunk
  recorder.end(1, 1200);
  recorder.begin(1, 1300, 12, {int64_t{4096}}, 43);
  recorder.end(1, 1400);
  recorder.end(1, 2000);
  recorder.begin(3, 5000, 13, {int64_t{1000}, int64_t{2}, int64_t{1}, int64_t{256}, int64_t{1}, int64_t{1}}, 42);
  recorder.end(3, 6000);
  recorder.begin(3, 7000, 14, {int64_t{4096}, 2.5}, 43);
  recorder.end(3, 7100);
  recorder.complete(3, 8000, 8100, 15);
  recorder.complete(3, 9000, 9100, 16);
  recorder.close();
  const std::string text = convert();
  const auto args_of = [&](const std::string& head) {
    const std::string line = text.substr(text.find(head), text.find('\n', text.find(head)) - text.find(head));
    return line.substr(line.find("\"args\":"));
  };
  const std::string place = R"("device":0,"context":0,"stream":7)";
  EXPECT_THAT(args_of(R"("cat":"cpu_op","name":"aten::mm",)"), HasSubstr(R"({"External id":3})"));
  EXPECT_THAT(args_of(R"("cat":"cuda_runtime","name":"cudaLaunchKernel",)"),
              HasSubstr(R"({"kernel":"mm_kernel","correlation":42,"External id":3})"));
  EXPECT_THAT(args_of(R"("cat":"cuda_runtime","name":"cudaMemcpyAsync",)"),
              HasSubstr(R"({"bytes":4096,"correlation":43,"External id":3})"));
  EXPECT_THAT(args_of(R"("cat":"kernel","name":"mm_kernel",)"),
              HasSubstr(R"({"grid":[4,2,1],"block":[256,1,1],"threads":[1000,2,1],)" + place +
                        R"(,"correlation":42,"External id":3})"));
  EXPECT_THAT(
      args_of(R"J("cat":"gpu_memcpy","name":"Memcpy HtoD (Host -> Device)",)J"),
      HasSubstr(R"J({"bytes":4096,"memory bandwidth (GB/s)":2.5,)J" + place + R"(,"correlation":43,"External id":3})"));
  EXPECT_THAT(args_of(R"J("cat":"gpu_memset","name":"Memset (Device)",)J"), HasSubstr("{" + place + "}"));
  EXPECT_THAT(args_of(R"("cat":"kernel","name":"sort",)"), HasSubstr(place + R"(,"category":"physics"})"));
}

TEST_F(ChromeTest, OnlyWorkHasAStreamWhichIsBusyWithOneOperation) {
  TestRecorder recorder = make();
  add_queue(recorder);
  recorder.add_class(10, "command buffer", "device range");
  recorder.add_class(11, "scale", "kernel");
  recorder.add_class(12, "fill buffer", "fill");
  recorder.add_class(13, "marker", "sync");
  recorder.begin(3, 1000, 10, {}, 42);
  recorder.begin(3, 1000, 11, {}, 42);
  recorder.complete(3, 1050, 1150, 11, 0, 1, 42);  // overlaps it
  recorder.begin(3, 1050, 11, {}, 42);             // inside it
  recorder.end(3, 1060);
  recorder.end(3, 1100);
  recorder.end(3, 1300);
  recorder.complete(3, 2000, 2050, 12);
  recorder.complete(3, 2050, 2101, 12);
  recorder.complete(3, 3000, 3100, 13);
  recorder.point(3, 4000, PointKind::AsyncBegin, 10, 5);
  recorder.point(3, 4100, PointKind::AsyncEnd, 10, 5);
  recorder.close();
  const std::string text = convert();
  const auto count = [&](const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(R"("ph":"X","cat":"gpu_user_annotation","name":"command buffer")"), 2u);
  EXPECT_EQ(count(R"("ph":"X","cat":"cuda_sync","name":"marker")"), 1u);
  EXPECT_EQ(count(R"("correlation":42)"), 3u);
  EXPECT_EQ(count(R"("stream":)"), 5u);
  EXPECT_EQ(count(R"("stream":7)"), 3u) << "one kernel and both fills";
}

TEST_F(ChromeTest, InputsAreLists) {
  TestRecorder recorder = make();
  recorder.add_class(10, "aten::mm", "cpu_op",
                     {{"Input Dims", FieldType::String},
                      {"Input type", FieldType::String},
                      {"Concrete Inputs", FieldType::String},
                      {"note", FieldType::String}});
  recorder.begin(1, 1000, 10, {"[[64, 64], []]", R"(["float", "Scalar"])", R"(["", "1)", "[1]"});
  recorder.end(1, 2000);
  recorder.close();
  EXPECT_THAT(convert(), HasSubstr(R"("Input Dims":[[64, 64], []],"Input type":["float", "Scalar"],)"
                                   R"("Concrete Inputs":"[\"\", \"1","note":"[1]",)"))
      << "a text that is cut is still a text, and a text of the program always is one";
}

TEST_F(ChromeTest, ImportedKinetoTraceKeepsItsNamesAndNumbers) {
  TestRecorder recorder = make();
  add_queue(recorder);
  recorder.add_class(10, "aten::mm", "cpu_op", {{"External id", FieldType::Int}});
  recorder.add_class(11, "Memcpy HtoD (Pageable -> Device)", "gpu_memcpy",
                     {{"External id", FieldType::Int}, {"stream", FieldType::Int}});
  recorder.begin(1, 1000, 10, {int64_t{77}}, 42);
  recorder.end(1, 2000);
  recorder.begin(3, 5000, 11, {int64_t{77}, int64_t{20}}, 42);
  recorder.end(3, 6000);
  recorder.close();
  const std::string text = convert();
  EXPECT_EQ(count(text, R"("External id":77)"), 2u);
  EXPECT_EQ(count(text, R"("External id")"), 2u);
  EXPECT_THAT(text, HasSubstr(R"J("cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)")J"));
}

TEST_F(ChromeTest, LaunchPointsToItsWorkOnTheDevice) {
  TestRecorder recorder = make();
  add_queue(recorder);
  recorder.complete(1, 1000, 2000, 1, 0, 0, 42);
  recorder.complete(1, 3000, 4000, 1, 0, 0, 43);  // its work is not in the trace
  recorder.complete(3, 5000, 6000, 5, 0, 0, 42);
  recorder.close();
  const std::string text = convert();
  EXPECT_THAT(text, HasSubstr(R"({"ph":"s","id":1,"pid":100,"tid":101,"ts":)" + microseconds(1000) +
                              R"(,"cat":"ac2g","name":"ac2g"})"));
  EXPECT_THAT(text, HasSubstr(R"({"ph":"f","id":1,"pid":0,"tid":7,"ts":)" + microseconds(5000) +
                              R"(,"cat":"ac2g","name":"ac2g","bp":"e"})"));
  EXPECT_EQ(count(text, R"("name":"ac2g")"), 2u);
  EXPECT_THAT(text, HasSubstr(R"J({"id":0,"name":"GPU 0 (NPU 9)","uuid":"GPU-a"})J"));
  EXPECT_THAT(text, HasSubstr(R"("args":{"correlation":43,"External id":2})"));
  EXPECT_THAT(text, HasSubstr(R"("incomplete_flows":0)"));
}

TEST_F(ChromeTest, OverlappingRangesGetTheirOwnRow) {
  TestRecorder recorder = make();
  recorder.complete(1, 1000, 3000, 1);
  recorder.complete(1, 2000, 4000, 1, 0, 1);
  recorder.close();
  const std::string text = convert();
  EXPECT_THAT(text, HasSubstr(R"({"ph":"M","name":"thread_name","pid":100,"tid":10000000,"ts":)" + microseconds(1000) +
                              R"x(,"args":{"name":"main (lane 1)"}})x"));
  EXPECT_THAT(text, HasSubstr(R"("pid":100,"tid":10000000,"ts":)" + microseconds(2000)));
}

TEST_F(ChromeTest, RowsAreNamedAndTheTraceStatesItsOrigin) {
  TestRecorder recorder = make();
  const trace::Loss loss{trace::LossCause::RingFull, 1, 12, 5, 9, "burst"};
  recorder.file().losses(recorder.id(), {&loss, 1});
  const trace::Cost cost{1, 1000, 12'500, 77, 88};
  recorder.file().costs(recorder.id(), {&cost, 1});
  recorder.close();
  const std::string text = convert();
  EXPECT_THAT(text, HasSubstr(R"("name":"process_name","pid":100,"tid":0,"ts":0.000,"args":{"name":"train"})"));
  EXPECT_THAT(text,
              HasSubstr(R"("name":"thread_name","pid":100,"tid":102,"ts":0.000,"args":{"name":"worker \"two\""})"));
  EXPECT_THAT(text, HasSubstr(R"("distributedInfo": {"rank": 3, "world_size": 8})"));
  EXPECT_THAT(text, HasSubstr(R"({"cause":"ring_full","count":12,"thread":"main","tid":101,"detail":"burst"})"));
  EXPECT_THAT(text, HasSubstr(R"("cost":{"events":1000,"recording_ns":12500,"blocked_ns":77,"collector_cpu_ns":88})"));
}

TEST_F(ChromeTest, TraceWithoutEventsIsValid) {
  make().close();
  EXPECT_THAT(convert(), HasSubstr("\"traceEvents\": ["));
}

// Another parser reads a trace with everything in it, including names that try to break out of their strings.
TEST_F(ChromeTest, PythonReadsItAndSlicesNest) {
  if (std::system("python3 -c 'import json' 2>/dev/null") != 0) GTEST_SKIP() << "no python3 here";
  TestRecorder recorder = make();
  recorder.begin(1, 1000, trace::kInlineName, {std::string("\"},\x01\xff\\\n")});
  recorder.begin(1, 1000, 2, {int64_t{1}, "\xc3\x28"});
  recorder.cut(1);
  recorder.point(1, 1200, PointKind::Instant, 1);
  recorder.end(1, 2000);
  recorder.end(1, 2000);
  recorder.point(1, 2100, PointKind::AsyncBegin, 5, 26);
  recorder.point(1, 2200, PointKind::Counter, 3, 0, {int64_t{1}, HUGE_VAL});
  recorder.begin(1, 3000, 1);
  recorder.close();
  const std::string output = folder / "t.json", script = folder / "check.py";
  std::ofstream(output) << convert();
  std::ofstream(script) << R"(
import json, sys
events = json.load(open(sys.argv[1], encoding='utf-8'))['traceEvents']
slices = [e for e in events if e['ph'] == 'X']
assert len(slices) == 3, slices
for tid in {e['tid'] for e in slices}:
    stack = []
    for e in sorted((e for e in slices if e['tid'] == tid), key=lambda e: (e['ts'], -e['dur'])):
        while stack and stack[-1] <= e['ts']:
            stack.pop()
        assert not stack or e['ts'] + e['dur'] <= stack[-1] + 1e-3, e
        stack.append(e['ts'] + e['dur'])
assert slices[0]['name'] == '"},\x01�\\\n' or slices[1]['name'] == '"},\x01�\\\n', slices
)";
  EXPECT_EQ(std::system(("python3 " + script + " " + output).c_str()), 0);
}

}  // namespace
}  // namespace kymo::convert
