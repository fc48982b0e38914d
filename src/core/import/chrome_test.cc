#include "import/chrome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/test_tree.h"
#include "base/text.h"
#include "import/exported.h"
#include "import/import.h"
#include "import/json_events.h"
#include "import/test_import.h"
#include "kymo/error.h"
#include "trace/test_recorder.h"

namespace kymo::import {
namespace {

using testing::Shown;

TEST(ChromeImportTest, ReadsRangesWithTheirValues) {
  const Shown shown(R"({"baseTimeNanoseconds": 5000, "traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python"}},
    {"ph": "M", "name": "thread_name", "pid": 7, "tid": 8, "args": {"name": "main "}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 8, "ts": 10.5, "dur": 2.125,
     "args": {"n": 3, "x": 1.5, "big": 18446744073709551615, "ok": true, "t": "a\"b", "dims": [[1, 2]], "none": null}}
  ]})");
  EXPECT_EQ(shown.base_ns, 5000);
  ASSERT_EQ(shown.lines.size(), 1u);
  EXPECT_EQ(shown.lines[0],
            "python/main range aten::add [cpu_op] 10500+2125 d0 {n=3 x=1.5 big=18446744073709551615 ok=true t=a\"b "
            "dims=[[1, 2]]}");
  EXPECT_EQ(shown.lost, 0u);
}

TEST(ChromeImportTest, AListOfEventsMayEndWithoutItsBracket) {
  const Shown shown(R"([{"name":"a","ph":"X","pid":1,"tid":1,"ts":1,"dur":1},
    {"name":"b","ph":"X","pid":1,"tid":1,"ts":3,"dur":1},)");
  EXPECT_EQ(shown.events, 2u);
  EXPECT_EQ(shown.lost, 0u);
}

TEST(ChromeImportTest, ATruncatedFileKeepsItsWholeEventsAndSaysSo) {
  const Shown shown(
      R"({"traceEvents": [{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},{"ph":"X","name":"b","ts":)");
  EXPECT_EQ(shown.events, 1u);
  ASSERT_EQ(shown.losses.size(), 1u);
  EXPECT_EQ(shown.losses[0], "1 the end of the file, which is truncated");
}

TEST(ChromeImportTest, BeginAndEndMakeNestedRanges) {
  const Shown shown(R"([
    {"ph":"B","name":"outer","pid":1,"tid":1,"ts":1}, {"ph":"B","name":"inner","pid":1,"tid":1,"ts":2},
    {"ph":"E","pid":1,"tid":1,"ts":3}, {"ph":"E","pid":1,"tid":1,"ts":4}, {"ph":"B","name":"hangs","pid":1,"tid":1,"ts":5}])");
  EXPECT_TRUE(shown.has("/ range outer [] 1000+3000 d0 {}"));
  EXPECT_TRUE(shown.has("/ range inner [] 2000+1000 d1 {}"));
  EXPECT_TRUE(shown.has("/ open hangs 5000"));
}

TEST(ChromeImportTest, OverlappingRangesGetLanes) {
  const Shown shown(
      R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10}, {"ph":"X","name":"b","pid":1,"tid":1,"ts":5,"dur":10},
    {"ph":"X","name":"c","pid":1,"tid":1,"ts":6,"dur":2}])");
  EXPECT_TRUE(shown.has("/ range a [] 0+10000 d0 {}"));
  EXPECT_TRUE(shown.has("/ range b [] 5000+10000 d0 lane1 {}"));
  EXPECT_TRUE(shown.has("/ range c [] 6000+2000 d1 {}"));
}

TEST(ChromeImportTest, ALaunchAndItsKernelHaveOneCorrelationAndOneProcess) {
  const Shown shown(R"([
    {"ph":"M","name":"process_name","pid":9,"tid":0,"args":{"name":"python"}},
    {"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":20,"dur":5,"args":{"device":0,"context":1,"stream":7,"correlation":42,"grid":[1,1,1]}},
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":10,"dur":5,"args":{"cbid":211,"correlation":42}},
    {"ph":"s","id":42,"pid":9,"tid":9,"ts":10,"cat":"ac2g","name":"ac2g"},
    {"ph":"f","id":42,"pid":0,"tid":7,"ts":20,"cat":"ac2g","name":"ac2g","bp":"e"}])");
  EXPECT_TRUE(shown.has("python/ range gemm [kernel] 20000+5000 d0 c42 {grid=[1,1,1]}"));
  EXPECT_TRUE(shown.has("python/ range cudaLaunchKernel [cuda_runtime] 10000+5000 d0 c42 {cbid=211}"));
  EXPECT_EQ(shown.lines.size(), 2u);
}

TEST(ChromeImportTest, ReadsPointsFlowsAndRangesAcrossThreads) {
  const Shown shown(R"([
    {"ph":"i","s":"t","name":"mark","pid":1,"tid":1,"ts":1,"args":{"n":1}},
    {"ph":"C","name":"memory","pid":1,"tid":1,"ts":2,"args":{"value":5}},
    {"ph":"C","name":"load","pid":1,"tid":1,"ts":3,"args":{"user":0.5,"system":0.25}},
    {"ph":"s","cat":"flow","name":"f","id":"0x1","pid":1,"tid":1,"ts":4}, {"ph":"f","cat":"flow","name":"f","id":"0x1","pid":1,"tid":2,"ts":5},
    {"ph":"b","cat":"net","name":"get","id":3,"pid":1,"tid":1,"ts":6}, {"ph":"e","cat":"net","name":"get","id":3,"pid":1,"tid":2,"ts":7},
    {"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":8,"args":{"Bytes":64,"Addr":4096,"Total Allocated":64}},
    {"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":9,"args":{"Bytes":-64,"Addr":4096,"Total Allocated":0}}])");
  EXPECT_TRUE(shown.has("/ point1 mark [] 1000 #0 {n=1}"));
  EXPECT_TRUE(shown.has("/ point2 memory [] 2000 #0 {value=5}"));
  EXPECT_TRUE(shown.has("/ point2 load: user [] 3000 #0 {value=0.5}"));
  EXPECT_TRUE(shown.has("/ point2 load: system [] 3000 #0 {value=0.25}"));
  EXPECT_TRUE(shown.has("/ point5 f [] 4000 #1 {}"));
  EXPECT_TRUE(shown.has("/ point7 f [] 5000 #1 {}"));
  EXPECT_TRUE(shown.has("/ point3 get [net] 6000 #1 {}"));
  EXPECT_TRUE(shown.has("/ point4 get [net] 7000 #1 {}"));
  EXPECT_TRUE(shown.has("/ point8 [memory] [] 8000 #4096 {Bytes=64 Total Allocated=64 B}"));
  EXPECT_TRUE(shown.has("/ point9 [memory] [] 9000 #4096 {Bytes=-64 Total Allocated=0 B}"));
}

TEST(ChromeImportTest, RangesAcrossThreadsMayBeInsideOfOthersWithTheirId) {
  // From 0 to 100, 20 to 40 and 50 to 90. Two have one name, and the events are in any order.
  const Shown shown(R"([
    {"ph":"e","name":"b","cat":"c","id":5,"pid":1,"tid":2,"ts":90}, {"ph":"b","name":"a","cat":"c","id":5,"pid":1,"tid":1,"ts":0},
    {"ph":"b","name":"a","cat":"c","id":5,"pid":1,"tid":1,"ts":20}, {"ph":"e","name":"a","cat":"c","id":5,"pid":1,"tid":1,"ts":40},
    {"ph":"b","name":"b","cat":"c","id":5,"pid":1,"tid":1,"ts":50}, {"ph":"e","name":"a","cat":"c","id":5,"pid":1,"tid":1,"ts":100},
    {"ph":"b","name":"a","cat":"c","id":5,"pid":2,"tid":1,"ts":30}, {"ph":"e","name":"a","cat":"c","id":5,"pid":2,"tid":1,"ts":35}])");
  for (const char* const line :
       {"point3 a [c] 0 #1", "point4 a [c] 100000 #1", "point3 a [c] 20000 #2", "point4 a [c] 40000 #2",
        "point3 b [c] 50000 #3", "point4 b [c] 90000 #3", "point3 a [c] 30000 #1", "point4 a [c] 35000 #1"})
    EXPECT_TRUE(shown.has(base::format("/ {} {{}}", line))) << line << "\n" << base::join(shown.lines, "\n");
}

TEST(ChromeImportTest, OnlyAnExportOfKymoMarksUnfinishedRanges) {
  const std::string event = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2,"args":{"finished":false}},)"
                            R"({"ph":"X","name":"z","pid":1,"tid":1,"ts":9,"dur":1})";
  EXPECT_TRUE(Shown("{\"traceEvents\":[" + event + "]}").has("/ range a [] 1000+2000 d0 {}"));
  EXPECT_TRUE(Shown("{\"traceEvents\":[" + event + "],\"kymo\":{}}").has("/ open a 1000"));
}

TEST(ChromeImportTest, AnEventThatIsNotValidJsonCostsOnlyItself) {
  std::string text = "[";
  for (int i = 0; i < 100; ++i) {
    text += base::format(R"({{"ph":"X","name":"n{}","pid":1,"tid":1,"ts":{},"dur":1}},)", i, i * 10);
    if (i == 50) text += R"({"ph":"X","name":bad,"pid":1,"tid":1,"ts":5,"dur":1},)";
  }
  text += "]";
  const Shown shown(text);
  EXPECT_EQ(shown.events, 100u);
  ASSERT_EQ(shown.losses.size(), 1u);
  EXPECT_EQ(shown.losses[0], "1 events that are not valid JSON");
}

TEST(ChromeImportTest, NanInvalidUtf8AndControlCharactersAreRepaired) {
  const Shown shown(
      "[{\"ph\":\"X\",\"name\":\"a\xFF\tb\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"args\":{\"x\":NaN,\"y\":-Infinity,"
      "\"z\":1,}}]");
  ASSERT_EQ(shown.lines.size(), 1u);
  EXPECT_EQ(shown.lines[0], "/ range a\xEF\xBF\xBD\tb [] 1000+1000 d0 {z=1}");
  EXPECT_EQ(shown.lost, 0u);
}

TEST(ChromeImportTest, OddTypesAreAccepted) {
  const Shown shown(R"([{"ph":"X","name":12,"pid":"p","tid":"t","ts":"1.5","dur":"2"},
    {"ph":"X","name":"no time","pid":1,"tid":1}, {"name":"no phase"}, 5, null, {"ph":"O","name":"object","pid":1,"ts":1}])");
  EXPECT_TRUE(shown.has("p/t range 12 [] 1500+2000 d0 {}"));
  EXPECT_EQ(shown.lost, 5u);
}

TEST(ChromeImportTest, EventsInArgumentsDoNotSplitAnEvent) {
  std::string text = "{\"traceEvents\":[";
  const std::string event =
      R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"list":[{"ph":"X"},{"ph":"X"}]}})";
  const int count = 60'000;  // several pieces
  for (int i = 0; i < count; ++i) text += (i > 0 ? "," : "") + event;
  text += "],\"other\":[{\"ph\":\"X\"},{\"ph\":\"X\"}]}";
  const Shown shown(text);
  EXPECT_EQ(shown.events, static_cast<uint64_t>(count));
  EXPECT_EQ(shown.lost, 0u);
}

TEST(ChromeImportTest, BracesInNamesAreText) {
  const Shown shown(R"([{"ph":"X","name":"a {n} {{x}} {} {0}","pid":1,"tid":1,"ts":1,"dur":1,"args":{"n":5}},
    {"ph":"X","name":"f<{lambda(int)#1}>","pid":1,"tid":1,"ts":3,"dur":1,"args":{"n":5}},
    {"ph":"i","name":"{{y}}","pid":1,"tid":1,"ts":5}])");
  EXPECT_TRUE(shown.has("/ range a {n} {{x}} {} {0} [] 1000+1000 d0 {n=5}"));
  EXPECT_TRUE(shown.has("/ range f<{lambda(int)#1}> [] 3000+1000 d0 {n=5}"));
  EXPECT_TRUE(shown.has("/ point1 {{y}} [] 5000 #0 {}"));
}

TEST(ChromeImportTest, EndsAndTimesThatCannotBeAreInTheLedger) {
  const Shown shown(R"([{"ph":"E","pid":1,"tid":1,"ts":1}, {"ph":"B","name":"b","pid":1,"tid":1,"ts":2},
    {"ph":"E","pid":1,"tid":1,"ts":3}, {"ph":"E","pid":1,"tid":1,"ts":4},
    {"ph":"X","name":"reversed","pid":1,"tid":1,"ts":10,"dur":-1},
    {"ph":"X","name":"huge","pid":1,"tid":1,"ts":20,"dur":9000000000000000},
    {"ph":"X","name":"larger","pid":1,"tid":1,"ts":30,"dur":1e30},
    {"ph":"X","name":"text","pid":1,"tid":1,"ts":40,"dur":"long"}])");
  EXPECT_EQ(shown.losses,
            (std::vector<std::string>{"2 durations that are not numbers or are too large; the ranges are empty",
                                      "1 ends of ranges that are before their starts; the ranges are empty",
                                      "2 ends of ranges that did not begin",
                                      "1 times that are more than 73 years away; the nearest possible time is used"}));
  EXPECT_TRUE(shown.has("/ range reversed [] 10000+0 d0 {}"));
  EXPECT_TRUE(shown.has("/ range text [] 40000+0 d1 {}"));
}

TEST(ChromeImportTest, TheLatestPossibleTimeIsExactAsADouble) {
  const Shown shown(R"([{"ph":"X","name":"far","pid":1,"tid":1,"ts":4e15,"dur":10}])");
  constexpr int64_t kLatest = 2'300'000'000'000'000'000;
  EXPECT_EQ(static_cast<int64_t>(static_cast<double>(kLatest)), kLatest);
  EXPECT_TRUE(shown.has("/ range far [] 2300000000000000000+0 d0 {}"));
}

// Numbers of the tracks of a trace, as "pid tid name".
std::vector<std::string> tracks_of(const std::string& text) {
  ByteSource source = ByteSource::of_memory(text);
  TraceBuilder builder;
  read_chrome(source, builder);
  std::vector<std::string> tracks;
  for (uint32_t i = 0; i < builder.track_count(); ++i) {
    const ImportedProcess& process = builder.process(builder.track(i).process);
    tracks.push_back(
        base::format("{} {} {}/{}", process.pid, builder.track(i).tid, process.name, builder.track(i).name));
  }
  std::sort(tracks.begin(), tracks.end());
  return tracks;
}

TEST(ChromeImportTest, ThreadsAndProcessesWithOtherIdsStayApart) {
  std::string text = R"([{"ph":"M","name":"thread_name","pid":7,"tid":"named","args":{"name":"worker"}},)";
  for (const char* const tid : {"0", "1", "-1", "-2", "\"io\"", "\"named\"", "9223372036854775808", "10000000"})
    text += base::format(R"({{"ph":"i","name":"a","pid":7,"tid":{},"ts":1}},)", tid);
  for (const char* const pid : {"-1", "\"browser\"", "\"renderer\"", "18446744073709551615", "99999999999999999999"})
    text += base::format(R"({{"ph":"i","name":"a","pid":{},"tid":1,"ts":1}},)", pid);
  EXPECT_EQ(tracks_of(text + "]"),
            (std::vector<std::string>{"10000000 1 99999999999999999999/", "10000001 1 browser/", "10000002 1 renderer/",
                                      "10000003 1 -1/", "18446744073709551615 1 18446744073709551615/", "7 0 /",
                                      "7 1 /", "7 10000000 /", "7 10000001 /io", "7 10000002 /worker", "7 10000003 /-1",
                                      "7 10000004 /-2", "7 9223372036854775808 /9223372036854775808"}));
}

constexpr const char* kRange = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1})";

// Of the process 1.
trace::Origin origin_of(const std::string& members, const std::string& events = kRange) {
  const trace::testing::TemporaryFolder folder;
  const std::string text = base::format(R"({{{},"traceEvents":[{}]}})", members, events);
  ByteSource source = ByteSource::of_memory(text);
  TraceBuilder builder;
  const int64_t base_ns = read_chrome(source, builder);
  trace::Writer writer(folder / "trace.kymo", trace::Writer::Mode::Create);
  builder.write(writer, base_ns, "test");
  writer.close();
  const trace::Reader reader(folder / "trace.kymo");
  for (const auto& [id, one] : reader.writers())
    if (one.origin.pid == 1) return one.origin;
  return {};
}

TEST(ChromeImportTest, TheHostIsTheOneThatTheFileNames) {
  EXPECT_EQ(origin_of(R"("host_name":"node17","schemaVersion":1)").host, "node17");
  for (const char* members : {R"("schemaVersion":1)", R"("host_name":null)", R"("host_name":["node17"])"})
    EXPECT_EQ(origin_of(members).host, "") << members;
}

TEST(ChromeImportTest, AListOrObjectIsNotTheValueOfAnEnvironmentVariable) {
  using Pair = std::pair<std::string, std::string>;
  EXPECT_THAT(
      origin_of(
          R"("SLURM_JOB_NAME":["a"],"KYMO_JOB":{"a":1},"RANK":"3","SLURM_JOB_ID":17,"distributedInfo":{"rank":3})")
          .metadata,
      ::testing::ElementsAre(Pair{"imported from", "test"}, Pair{"RANK", "3"}, Pair{"SLURM_JOB_ID", "17"},
                             Pair{"distributedInfo", R"({"rank":3})"}));
}

TEST(ChromeImportTest, TheRankIsOfTheProgramIfTheFirstEventIsOfADevice) {
  for (const char* first : {R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1,"dur":1})",
                            R"({"ph":"X","cat":"Trace","name":"span","pid":"Spans","tid":"0","ts":1,"dur":1})"})
    EXPECT_THAT(origin_of(R"("distributedInfo":{"rank":3})", base::format("{},{}", first, kRange)).metadata,
                ::testing::Contains(std::pair<std::string, std::string>{"distributedInfo", R"({"rank":3})"}));
}

TEST(ChromeImportTest, TextThatIsNotATraceIsRefused) {
  for (const char* const text : {"{}", "{\"a\": 1}", "hello", "", "{\"traceEvents\": 5}"}) {
    ByteSource source = ByteSource::of_memory(text);
    TraceBuilder builder;
    EXPECT_THROW(read_chrome(source, builder), Error) << text;
  }
}

TEST(ChromeImportTest, HostileShapesAreBounded) {
  std::string deep = "[" + std::string(100'000, '[') + std::string(100'000, ']') +
                     ",{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"pid\":1,\"tid\":1}]";
  EXPECT_EQ(Shown(deep).events, 1u);
  std::string empty = "[";
  for (int i = 0; i < 100'000; ++i) empty += "[],";
  empty += "]";
  EXPECT_EQ(Shown(empty).events, 0u);
  EXPECT_EQ(Shown("[" + std::string(1'000'000, ',') + "]").events, 0u);
}

TEST(ChromeImportTest, EventsInAnyOrderGiveTheSameTrace) {
  std::mt19937_64 random(7);
  std::vector<std::string> events;
  for (int i = 0; i < 300; ++i) {
    const auto start = random() % 1000, length = random() % 50;
    events.push_back(
        base::format(R"({{"ph":"X","name":"n{}","pid":1,"tid":{},"ts":{},"dur":{}}})", i, random() % 3, start, length));
  }
  const auto text = [&] {
    std::string all = "[";
    for (const std::string& event : events) all += event + ",";
    return all + "]";
  };
  const auto ranges = [](const Shown& shown) {
    std::vector<std::string> lines;
    for (std::string line : shown.lines) {
      if (const size_t depth = line.find(" d"); depth != std::string::npos) line.resize(depth);
      lines.push_back(line);
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  const auto first = ranges(Shown(text()));
  EXPECT_EQ(first.size(), events.size());
  std::shuffle(events.begin(), events.end(), random);
  EXPECT_EQ(ranges(Shown(text())), first);
}

TEST(NanosecondsTest, AreExact) {
  EXPECT_EQ(nanoseconds("1"), 1000);
  EXPECT_EQ(nanoseconds("1.001"), 1001);
  EXPECT_EQ(nanoseconds("-1.5"), -1500);
  EXPECT_EQ(nanoseconds("1780000000000000.123"), 1780000000000000123);
  EXPECT_EQ(nanoseconds("0.0005"), 1);
  EXPECT_EQ(nanoseconds("1e3"), 1'000'000);
  EXPECT_EQ(nanoseconds(""), std::nullopt);
  EXPECT_EQ(nanoseconds("abc"), std::nullopt);
  EXPECT_EQ(nanoseconds("99999999999999999999"), std::nullopt);
}

TEST(NanosecondsTest, ATimeOutOfRangeIsTheNearestPossibleOne) {
  EXPECT_EQ(time_nanoseconds("1780000000000000.123"), 1780000000000000123);
  for (const char* far : {"99999999999999999999", "10490000000000000", "10490000000000000.5", "1e300"})
    EXPECT_EQ(time_nanoseconds(far), 9'200'000'000'000'000'000) << far;
  EXPECT_EQ(time_nanoseconds("-10490000000000000"), -9'200'000'000'000'000'000);
  for (const char* bad : {"", "abc", "1x", "99999999999999999999x"}) EXPECT_EQ(time_nanoseconds(bad), std::nullopt);
}

// A Chrome trace is read by several threads, in pieces. The result is the same for any number of threads and any size
// of pieces.

using testing::Shown;

Shown read_with(std::string_view bytes, unsigned threads, size_t piece_bytes) {
  return Shown([&](TraceBuilder& builder) {
    ByteSource source = ByteSource::of_memory(bytes);
    return read_chrome_with(source, builder, {.threads = threads, .piece_bytes = piece_bytes});
  });
}

void expect_equal(const Shown& shown, const Shown& expected, const std::string& what) {
  EXPECT_EQ(shown.events, expected.events) << what;
  EXPECT_EQ(shown.base_ns, expected.base_ns) << what;
  EXPECT_EQ(shown.losses, expected.losses) << what;
  ASSERT_EQ(shown.lines.size(), expected.lines.size()) << what;
  for (size_t i = 0; i < shown.lines.size(); ++i) ASSERT_EQ(shown.lines[i], expected.lines[i]) << what << " line " << i;
}

void expect_same_for_all_threads(const std::string& text, const std::string& name) {
  const Shown expected = read_with(text, 1, 0);
  for (const size_t piece_bytes : {size_t{0}, size_t{2} << 10, size_t{40} << 10})
    for (const unsigned threads : {1u, 2u, 3u, 8u})
      expect_equal(read_with(text, threads, piece_bytes), expected,
                   base::format("{}: {} threads, pieces of {}", name, threads, piece_bytes));
}

TEST(ChromeThreadsTest, RealTracesAreTheSame) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(base::in_tree("tests/data/kineto"))) {
    if (entry.path().extension() == ".md" || format_of(entry.path()) != Format::Chrome) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    expect_same_for_all_threads(bytes, entry.path().filename());
    ++count;
  }
  EXPECT_GT(count, 0u);
}

// Events of all kinds in any order, some of them not valid, with arguments that look like events.
class RandomFile {
 public:
  explicit RandomFile(uint64_t seed) : random_(seed) {}

  std::string text(size_t events, bool first_key_varies) {
    std::string all = R"({"schemaVersion": 1, "baseTimeNanoseconds": 5, "traceEvents": [)";
    for (size_t i = 0; i < events; ++i) {
      if (i > 0) all += pick({",", ",\n  ", " , "});
      all += event(first_key_varies);
    }
    return all + R"(], "traceName": "x"})";
  }

 private:
  uint64_t number(uint64_t below) { return random_() % below; }
  std::string pick(const std::vector<std::string>& choices) { return choices[number(choices.size())]; }

  std::string event(bool first_key_varies) {
    if (number(200) == 0)
      return pick({"5", "null", "[]", "{}", R"({"ph": nonsense})", R"({"ph":"X","name":NaN,"ts":1})"});
    const std::string phase = pick({"X", "X", "X", "B", "E", "i", "C", "s", "t", "f", "b", "e", "M", "?"});
    std::string text = base::format(
        R"("name": "{}{}", "cat": "{}", "pid": {}, "tid": {}, "ts": {}.{}, "dur": {}, "id": {}, "args": {})",
        pick({"op", "aten::mm", "a\\\"b", "\\u00e9", "[memory]", "ac2g"}), number(20),
        pick({"cpu_op", "kernel", "cuda_runtime", "", "fwdbwd"}), pick({"0", "7", "\"p\"", "-3"}),
        pick({"0", "7", "8", "\"t\""}), number(10'000), number(1000), pick({"1.5", "20", "-1", "\"2\""}), number(10),
        arguments());
    if (phase == "M")
      text = base::format(R"("name": "{}", "pid": 7, "tid": 8, "args": {{"name": "{}", "sort_index": {}}})",
                          pick({"process_name", "thread_name", "thread_sort_index"}), number(5), number(3));
    const std::string ph = base::format(R"("ph": "{}")", phase);
    return first_key_varies && number(2) == 0 ? "{" + text + ", " + ph + "}" : "{" + ph + ", " + text + "}";
  }

  std::string arguments() {
    return pick({"{}", R"({"correlation": 5, "device": 0, "stream": 7})", R"({"device": 0, "stream": 7, "context": 1})",
                 R"({"stream": 9, "x": 1.25, "y": "text"})", R"({"list": [{"ph": "X"}, {"ph": "Y", "name": 1}]})",
                 R"({"Bytes": -64, "Addr": 4096})", R"({"finished": false})", R"({"value": 3, "other": true})",
                 R"({"kymo": "sample", "stack": "inner < outer"})",
                 R"({"kymo": "allocation 0x1000", "stack": "a < b"})", R"({"kymo": "flow begin 17", "flow": "f"})"});
  }

  std::mt19937_64 random_;
};

TEST(ChromeThreadsTest, RandomFilesAreTheSame) {
  for (uint64_t seed = 1; seed <= 6; ++seed)
    expect_same_for_all_threads(RandomFile(seed).text(1200, seed % 3 == 0), base::format("seed {}", seed));
}

TEST(ChromeThreadsTest, DamagedFilesAreTheSameForAllThreads) {
  std::mt19937_64 random(5);
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    std::string text = RandomFile(seed).text(800, false);
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = "\"{}[],\\x"[random() % 8];
    if (seed % 2 == 0) text.resize(text.size() - random() % (text.size() / 2));
    // What a bad event takes with it depends on the size of the pieces, but not on the threads.
    const Shown expected = read_with(text, 1, 4096);
    for (const unsigned threads : {2u, 5u})
      expect_equal(read_with(text, threads, 4096), expected, base::format("seed {}: {} threads", seed, threads));
  }
}

// The piece that says what a row is may not be parsed yet when the next one is.
TEST(ChromeThreadsTest, TheFirstEventOfAStreamSaysItsNumberForAll) {
  std::string text = "[";
  for (int i = 0; i < 3000; ++i)
    text += base::format(
        R"({{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{},"dur":1,"args":{{"device":0,"stream":{}}}}},)",
        i * 2, i == 0 ? 3 : i % 5);
  text += "]";
  expect_same_for_all_threads(text, "streams");
  EXPECT_EQ(read_with(text, 4, 1024).lines[1], "/ range k [kernel] 2000+1000 d0 {stream=1}");
}

TEST(ChromeThreadsTest, WithoutValuesRangesHaveTheSameNamesAndTimes) {
  const std::string text = RandomFile(3).text(2000, false);
  const auto ranges = [&](bool range_values) {
    const Shown shown([&](TraceBuilder& builder) {
      ByteSource source = ByteSource::of_memory(text);
      return read_chrome_with(source, builder, {.threads = 2, .piece_bytes = 4096, .range_values = range_values});
    });
    std::vector<std::string> lines;
    for (const std::string& line : shown.lines)
      if (line.find(" range ") != line.npos) lines.push_back(line.substr(0, line.find(" {")));
    EXPECT_GT(lines.size(), 100u);
    return lines;
  };
  EXPECT_EQ(ranges(false), ranges(true));
}

TEST(ExportedProcessesTest, ReadsHostAndEnvironment) {
  const auto processes = exported_processes(
      R"({"processes": [{"pid": 7, "pid_of_events": 10000000, "host": "node17",
          "metadata": {"KYMO_JOB": "train", "torch": "2.11", "distributedInfo": "{\"rank\": 3}"}}]})");
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].pid, 10'000'000u);
  EXPECT_EQ(processes[0].host, "node17");
  EXPECT_EQ(processes[0].environment, (std::vector<std::pair<std::string, std::string>>{
                                          {"KYMO_JOB", "train"}, {"distributedInfo", R"({"rank": 3})"}}));
}

TEST(ExportedProcessesTest, WhatAnotherToolWroteIsIgnored) {
  for (const char* text : {"", "{", "1", "{}", R"({"processes": 1})", R"({"processes": [1]})",
                           R"({"processes": [{"pid": -1, "host": "a", "metadata": {}}]})",
                           R"({"processes": [{"pid": 1, "host": "a", "metadata": {"KYMO_JOB": ["a"]}}]})"})
    EXPECT_TRUE(exported_processes(text).empty()) << text;
}

}  // namespace
}  // namespace kymo::import
