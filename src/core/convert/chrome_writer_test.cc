#include "convert/chrome_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace kymo::convert {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kQuarterNs = 7'889'238'000'000'000;
constexpr uint64_t kBase = 228 * kQuarterNs;

// Writes one event of each kind, starting 5 ns after the base.
template <class Dialect>
std::string everything() {
  StringStream sink;
  ChromeWriter<Dialect> writer(sink, kBase + 5);
  writer.member("deviceProperties").append("[]");
  writer.begin_events();
  const std::string row = writer.row(7, 12);
  writer.name_process(7, "train \"a\"", "CPU", 3);
  writer.name_row(row, "main", 12);
  writer.complete(R"("cpu_op")", R"("aten::add")", row, kBase + 1'000, kBase + 3'500);
  auto args = writer.args();
  append_integer(args.key("Ev Idx"), 0);
  base::append_json_string(args.key("Backend"), "x");
  args.close();
  writer.end_event();
  writer.instant(R"("memory")", R"("[memory]")", row, kBase + 2'000);
  writer.end_event();
  writer.counter(R"("c")", R"("load")", row, kBase + 2'000);
  writer.end_event();
  writer.async_begin(R"("c")", R"("wait")", row, kBase + 2'000, 26);
  writer.end_event();
  writer.async_end(R"("c")", R"("wait")", row, kBase + 3'000, 26);
  writer.end_event();
  writer.flow_start(R"("ac2g")", 9, row, kBase + 2'000);
  writer.end_event();
  writer.flow_step(R"("ac2g")", 9, row, kBase + 2'500);
  writer.end_event();
  writer.flow_end(R"("ac2g")", 9, row, kBase + 3'000);
  writer.end_event();
  writer.global_instant(R"("Record Window End")", kBase + 4'000);
  writer.end_event();
  writer.end_events();
  base::append_json_string(writer.member("traceName"), "/tmp/a.json");
  writer.finish();
  return sink.text();
}

TEST(ChromeWriterTest, CompactDialectHasOneLinePerEvent) {
  EXPECT_EQ(everything<CompactDialect>(), R"({
"schemaVersion": 1,
"deviceProperties": [],
"displayTimeUnit": "ns",
"baseTimeNanoseconds": 1798746264000000000,
"traceEvents": [
{"ph":"M","name":"process_name","pid":7,"tid":0,"ts":0.005,"args":{"name":"train \"a\""}},
{"ph":"M","name":"process_labels","pid":7,"tid":0,"ts":0.005,"args":{"labels":"CPU"}},
{"ph":"M","name":"process_sort_index","pid":7,"tid":0,"ts":0.005,"args":{"sort_index":3}},
{"ph":"M","name":"thread_name","pid":7,"tid":12,"ts":0.005,"args":{"name":"main"}},
{"ph":"M","name":"thread_sort_index","pid":7,"tid":12,"ts":0.005,"args":{"sort_index":12}},
{"ph":"X","cat":"cpu_op","name":"aten::add","pid":7,"tid":12,"ts":1.000,"dur":2.500,"args":{"Ev Idx":0,"Backend":"x"}},
{"ph":"i","cat":"memory","s":"t","name":"[memory]","pid":7,"tid":12,"ts":2.000},
{"ph":"C","cat":"c","name":"load","pid":7,"tid":12,"ts":2.000},
{"ph":"b","cat":"c","name":"wait","pid":7,"tid":12,"ts":2.000,"id2":{"local":"0x1a"}},
{"ph":"e","cat":"c","name":"wait","pid":7,"tid":12,"ts":3.000,"id2":{"local":"0x1a"}},
{"ph":"s","id":9,"pid":7,"tid":12,"ts":2.000,"cat":"ac2g","name":"ac2g"},
{"ph":"t","id":9,"pid":7,"tid":12,"ts":2.500,"cat":"ac2g","name":"ac2g"},
{"ph":"f","id":9,"pid":7,"tid":12,"ts":3.000,"cat":"ac2g","name":"ac2g","bp":"e"},
{"ph":"i","s":"g","name":"Record Window End","pid":"","tid":"","ts":4.000}
],
"traceName": "/tmp/a.json"
}
)");
}

TEST(ChromeWriterTest, KinetoDialectHasOneLinePerArgument) {
  const std::string text = everything<KinetoDialect>();
  EXPECT_THAT(text, HasSubstr(R"({
  "schemaVersion": 1,
  "deviceProperties": [],
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1798746264000000000,
  "traceEvents": [
  {
    "ph": "M", "name": "process_name", "pid": 7, "tid": 0, "ts": 0.005,
    "args": {
      "name": "train \"a\""
    }
  },
)"));
  EXPECT_THAT(text, HasSubstr(R"(
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 12,
    "ts": 1.000, "dur": 2.500,
    "args": {
      "Ev Idx": 0,
      "Backend": "x"
    }
  },
  {
    "ph": "i", "cat": "memory", "s": "t", "name": "[memory]",
    "pid": 7, "tid": 12,
    "ts": 2.000
  },
)"));
  EXPECT_THAT(text, HasSubstr(R"(
  {
    "ph": "f", "id": 9, "pid": 7, "tid": 12, "ts": 3.000,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },
  {
    "ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 4.000
  }
  ],
  "traceName": "/tmp/a.json"
}
)"));
}

// Removes the blanks outside of strings, and the time unit, which differs between the dialects.
std::string squeezed(const std::string& json) {
  std::string text;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '"' && (i == 0 || json[i - 1] != '\\')) in_text = !in_text;
    if (in_text || (json[i] != ' ' && json[i] != '\n')) text += json[i];
  }
  text.replace(text.find("\"displayTimeUnit\":"), sizeof "\"displayTimeUnit\":\"ms\"" - 1, "");
  return text;
}

TEST(ChromeWriterTest, DialectsDifferOnlyInBlanksAndTheUnit) {
  EXPECT_EQ(squeezed(everything<CompactDialect>()), squeezed(everything<KinetoDialect>()));
}

TEST(ChromeWriterTest, TimesBeforeTheBaseAreZero) {
  StringStream sink;
  CompactChromeWriter writer(sink, kBase + 5);
  writer.begin_events();
  writer.complete("\"c\"", "\"around\"", writer.row(1, 2), 0, kBase + 1);
  writer.end_event();
  writer.complete("\"c\"", "\"before\"", writer.row(1, 2), 0, 1);
  writer.end_event();
  writer.complete("\"c\"", "\"backwards\"", writer.row(1, 2), kBase + 9, kBase + 8);
  writer.end_event();
  writer.end_events();
  writer.finish();
  EXPECT_THAT(sink.text(), HasSubstr(R"("name":"around","pid":1,"tid":2,"ts":0.000,"dur":0.001})"));
  EXPECT_THAT(sink.text(), HasSubstr(R"("name":"before","pid":1,"tid":2,"ts":0.000,"dur":0.000})"));
  EXPECT_THAT(sink.text(), HasSubstr(R"("name":"backwards","pid":1,"tid":2,"ts":0.009,"dur":0.000})"));
}

TEST(ChromeWriterTest, MicrosecondsHaveThreeDecimals) {
  const auto text = [](uint64_t ns) {
    base::TextBuffer out;
    append_microseconds(out, ns);
    return out.string();
  };
  EXPECT_EQ(text(0), "0.000");
  EXPECT_EQ(text(42), "0.042");
  EXPECT_EQ(text(1'002'030), "1002.030");
  EXPECT_EQ(text(std::numeric_limits<uint64_t>::max()), "18446744073709551.615");
}

TEST(ChromeWriterTest, EventsGoToTheSinkInPieces) {
  class CountingSink : public ExportStream {
   public:
    void write(std::string_view bytes) override {
      ++pieces;
      largest = std::max(largest, bytes.size());
    }
    size_t pieces = 0, largest = 0;
  } sink;
  CompactChromeWriter writer(sink, kBase);
  writer.begin_events();
  const std::string row = writer.row(1, 2);
  for (uint64_t i = 0; i < 10'000; ++i) {
    writer.instant("\"c\"", "\"a name of some length\"", row, kBase + i);
    writer.end_event();
  }
  writer.end_events();
  writer.finish();
  EXPECT_GT(sink.pieces, 3u);
  EXPECT_LT(sink.largest, kFlushAt + 200);
}

}  // namespace
}  // namespace kymo::convert
