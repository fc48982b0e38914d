#include "wire/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kymo::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TraceRequest request_of(std::string_view text) {
  const ConfigReading reading = read_config(text);
  EXPECT_TRUE(reading.request) << reading.reason();
  return reading.request.value_or(TraceRequest{});
}

TEST(ConfigTest, EmptyTextGivesTheDefaults) {
  EXPECT_EQ(request_of(""), TraceRequest{});
  EXPECT_EQ(request_of("\n  \n# nothing\n\t# = =\r\n"), TraceRequest{});
  EXPECT_EQ(TraceRequest{}.duration_ms, 500u);
  EXPECT_EQ(*config_text(TraceRequest{}), "");
}

TEST(ConfigTest, ReadsTheConfigOfADaemon) {
  const TraceRequest request = request_of(
      "\n    ACTIVITIES_LOG_FILE=/tmp/a.json\nPROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=1200\n"
      "PROFILE_REPORT_INPUT_SHAPES=true\nPROFILE_WITH_STACK=false\nPROFILE_WITH_FLOPS=true\nPROFILE_WITH_MODULES=true"
      "\n    REQUEST_TRACE_ID=18446744073709551615\n");
  EXPECT_EQ(request.output, "/tmp/a.json");
  EXPECT_EQ(request.duration_ms, 1200u);
  EXPECT_TRUE(request.shapes && request.flops && request.modules);
  EXPECT_FALSE(request.stack);
  EXPECT_EQ(request.trace_id, "18446744073709551615");
  EXPECT_FALSE(request.by_iterations());
}

TEST(ConfigTest, EveryKeyIsRead) {
  for (const ConfigKey& key : config_keys()) {
    const bool is_text = std::holds_alternative<RequestMember<std::string>>(key.member);
    // One of the two values differs from the default.
    const std::string line = std::string(key.name) + " = ";
    const auto one = read_config(line + (is_text ? "kernel" : "1") + "\nACTIVITIES_ITERATIONS=1\n");
    const auto other = read_config(line + (is_text ? "kernel" : "0") + "\nACTIVITIES_ITERATIONS=1\n");
    ASSERT_TRUE(one.request && other.request) << key.name << ": " << one.reason() << other.reason();
    TraceRequest plain;
    plain.iterations = 1;
    EXPECT_TRUE(key.name == "ACTIVITIES_ITERATIONS" || *one.request != plain || *other.request != plain) << key.name;
  }
  EXPECT_THAT(config_keys(), SizeIs(21));
}

TEST(ConfigTest, KeysThatKymoNeedsNotAreAcceptedWithoutAWarning) {
  const ConfigReading reading = read_config("ACTIVITY_TYPES=cpu_op,kernel\nCUSTOM_CONFIG=x\n");
  EXPECT_EQ(reading.request, TraceRequest{});
  EXPECT_THAT(reading.warnings, IsEmpty());
}

TEST(ConfigTest, AliasesAndSecondsSetTheSameMember) {
  EXPECT_TRUE(request_of("CLIENT_INTERFACE_ENABLE_OP_INPUTS_COLLECTION=Y").shapes);
  EXPECT_TRUE(request_of("PYTHON_STACK_TRACE=yes").stack);
  EXPECT_EQ(request_of("ACTIVITIES_DURATION_SECS=3").duration_ms, 3000u);
}

TEST(ConfigTest, BooleansHaveSeveralSpellings) {
  for (const char* yes : {"y", "YES", "t", "True", "1"}) {
    EXPECT_TRUE(request_of(std::string("PROFILE_WITH_FLOPS=") + yes).flops) << yes;
  }
  for (const char* no : {"n", "No", "F", "false", "0"}) {
    EXPECT_FALSE(request_of(std::string("ACTIVITIES_ENABLED=") + no).enabled) << no;
  }
  for (const char* bad : {"", "2", "on", "truee", "-1"}) {
    EXPECT_FALSE(read_config(std::string("PROFILE_WITH_FLOPS=") + bad).request) << bad;
  }
}

TEST(ConfigTest, StartIterationNeedsACountAndRoundupStartsAtZero) {
  EXPECT_THAT(read_config("PROFILE_START_ITERATION=5").reason(), HasSubstr("ACTIVITIES_ITERATIONS"));
  const TraceRequest rounded = request_of("PROFILE_START_ITERATION_ROUNDUP=50\nACTIVITIES_ITERATIONS=3");
  EXPECT_EQ(rounded.start_iteration, 0u);
  EXPECT_EQ(rounded.iteration_roundup, 50u);
  EXPECT_TRUE(rounded.by_iterations());
  const TraceRequest zero = request_of("PROFILE_START_ITERATION_ROUNDUP=0\nACTIVITIES_ITERATIONS=3");
  EXPECT_FALSE(zero.iteration_roundup || zero.start_iteration);
}

TEST(ConfigTest, OneInvalidLineRejectsTheWholeConfig) {
  const ConfigReading reading = read_config(
      "ACTIVITIES_LOG_FILE=/tmp/a.json\nACTIVITIES_DURATION_MSECS=12x\nhello\nA=b=c\n=1\nPROFILE_START_TIME=-1\n"
      "ACTIVITIES_LOG_FILE=\n");
  EXPECT_FALSE(reading.request);
  std::vector<size_t> lines;
  for (const ConfigNote& note : reading.errors) lines.push_back(note.line);
  EXPECT_THAT(lines, ElementsAre(2, 3, 4, 5, 6, 7));
  EXPECT_THAT(reading.reason(), HasSubstr("line 2: ACTIVITIES_DURATION_MSECS is \"12x\"; it is a number from 0 to "));
}

TEST(ConfigTest, NumbersOutOfRangeAreRefused) {
  for (const char* line : {"ACTIVITIES_ITERATIONS=2147483648", "ACTIVITIES_DURATION_SECS=2147483648",
                           "PROFILE_START_TIME=9223372036854775808", "PROFILE_START_TIME=99999999999999999999999",
                           "ACTIVITIES_ITERATIONS=", "ACTIVITIES_ITERATIONS=+1", "ACTIVITIES_ITERATIONS=0x1",
                           "ACTIVITIES_ITERATIONS=1 2"}) {
    EXPECT_FALSE(read_config(line).request) << line;
  }
  EXPECT_EQ(request_of("PROFILE_START_TIME=9223372036854775807").start_ms, uint64_t{INT64_MAX});
}

TEST(ConfigTest, UnknownObsoleteAndRepeatedKeysGiveWarnings) {
  const ConfigReading reading =
      read_config("FANCY=1\nEVENTS_LOG_FILE=/tmp/x\nPROFILE_WITH_FLOPS=1\nPROFILE_WITH_FLOPS=0");
  ASSERT_TRUE(reading.request);
  EXPECT_FALSE(reading.request->flops);
  EXPECT_THAT(reading.warnings, ElementsAre(ConfigNote{1, "\"FANCY\" is no key that is known"},
                                            ConfigNote{2, "\"EVENTS_LOG_FILE\" has no meaning any more"},
                                            ConfigNote{4, "PROFILE_WITH_FLOPS is said twice; the last one counts"}));
}

TEST(ConfigTest, NotesAreLimitedShortAndPrintable) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "nonsense\n";
  const ConfigReading many = read_config(text);
  EXPECT_THAT(many.errors, SizeIs(kConfigMaxNotes));
  EXPECT_EQ(many.errors.back().text, "and more");
  EXPECT_LT(read_config(std::string(60'000, 'x')).reason().size(), 200u);
  EXPECT_EQ(read_config(std::string("A\0\x1b[2J", 6)).errors[0].text.find('\x1b'), std::string::npos);
  EXPECT_FALSE(read_config(std::string("CUSTOM_CONFIG=a\0b", 17)).request);
  EXPECT_FALSE(read_config(std::string(kConfigLargest + 1, '\n')).request);
}

TEST(ConfigTest, WrittenConfigReadsBackTheSame) {
  TraceRequest request;
  request.output = "/data/run 7/x.json";
  request.start_ms = 1'800'000'000'000;
  request.duration_ms = uint64_t{INT32_MAX} * 1000;
  request.start_iteration = 0;
  request.iteration_roundup = 10;
  request.iterations = 2;
  request.shapes = request.memory_events = true;
  request.trace_id = "77";
  const auto text = config_text(request);
  ASSERT_TRUE(text) << text.reason();
  EXPECT_EQ(request_of(*text), request);
  request.memory_snapshot = true;  // with its own path, which must come after it
  EXPECT_EQ(request_of(*config_text(request)), request);
}

TEST(ConfigTest, InexpressibleRequestIsNotWritten) {
  for (const char* path : {"/tmp/a#b.json", "/tmp/a=b.json", " /tmp/a", "/tmp/a\nPROFILE_MEMORY=true", "/tmp/a\t"}) {
    TraceRequest request;
    request.output = path;
    EXPECT_FALSE(config_text(request)) << path;
  }
  TraceRequest request;
  request.start_iteration = 4;  // without a number of iterations
  EXPECT_FALSE(config_text(request));
}

TEST(ConfigTest, StartTimeCanBeSlightlyInThePast) {
  TraceRequest request;
  EXPECT_TRUE(check_start(request, 1'000'000));
  request.start_ms = 990'000;
  EXPECT_TRUE(check_start(request, 1'000'000));
  request.start_ms = 989'999;
  EXPECT_THAT(check_start(request, 1'000'000).reason(), HasSubstr("10001 ms ago"));
  request.start_iteration = 0;
  EXPECT_TRUE(check_start(request, 1'000'000));
}

TEST(ConfigTest, TracePathContainsThePid) {
  EXPECT_EQ(output_path(request_of(""), 7), "/tmp/libkineto_activities_7.json");
  EXPECT_EQ(path_with_pid("/tmp/a.json", 7), "/tmp/a_7.json");
  EXPECT_EQ(path_with_pid("/tmp/a.json.gz", 7), "/tmp/a_7.json.gz");
  EXPECT_EQ(path_with_pid("/tmp/w.pt.trace.json", 7), "/tmp/w_7.pt.trace.json");
  EXPECT_EQ(path_with_pid("/tmp/x.json/w.pt.trace.json", 7), "/tmp/x.json/w_7.pt.trace.json");
  EXPECT_EQ(path_with_pid("/tmp/x.json/y.json", 7), "/tmp/x_7.json/y.json");
  EXPECT_EQ(path_with_pid("/tmp/a.trace", 7), "/tmp/a.trace");
}

TEST(ConfigTest, SnapshotUsesOnlyAPathThatFollowsItsKey) {
  EXPECT_EQ(output_path(request_of("ACTIVITIES_LOG_FILE=/tmp/a.json\nPROFILE_MEMORY=true"), 7),
            "/tmp/memory_snapshot_7.pickle");
  EXPECT_EQ(output_path(request_of("PROFILE_MEMORY=true\nACTIVITIES_LOG_FILE=/tmp/a.json"), 7), "/tmp/a.json");
}

}  // namespace
}  // namespace kymo::wire
