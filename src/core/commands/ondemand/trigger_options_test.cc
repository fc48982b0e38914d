#include "commands/ondemand/trigger_options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "kymo/error.h"

namespace kymo::cli {
namespace {

constexpr uint64_t kTriggerNow = 1'700'000'000'000'000'000;

TriggerOptions triggered(const Arguments& arguments) { return *read_trigger_options(arguments, kTriggerNow); }

std::string trigger_problem(const Arguments& arguments) {
  try {
    read_trigger_options(arguments, kTriggerNow);
  } catch (const options::UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(TriggerOptionsTest, DefaultDurationIsOneSecond) {
  const auto options = triggered({"--all"});
  EXPECT_EQ(options.trigger.options.duration_ns, 1'000'000'000u);
  EXPECT_EQ(options.trigger.selection, wire::Selection{});
  EXPECT_EQ(options.trigger.options.flags, 0u);
  EXPECT_TRUE(options.wait);
  EXPECT_TRUE(options.trigger.follow);
}

TEST(TriggerOptionsTest, ProcessesAreSelectedByPidNameAndJob) {
  const auto selection =
      triggered({"--pid", "7", "--pid", "8", "--name", "train", "--job", "j1", "--limit", "3"}).trigger;
  EXPECT_EQ(selection.selection, (wire::Selection{{7, 8}, {"train"}, "j1"}));
  EXPECT_EQ(selection.process_limit, 3u);
  EXPECT_EQ(triggered({"--job", ""}).trigger.selection.job, "");
}

TEST(TriggerOptionsTest, StatusAndCancelTakeNoSelection) {
  EXPECT_EQ(triggered({"--status=7"}).status, 7u);
  EXPECT_NE(trigger_problem({"--status", "--pid", "7"}).find("take the number of a trigger"), std::string::npos);
  EXPECT_NE(trigger_problem({"--cancel", "all", "--all"}).find("take the number of a trigger"), std::string::npos);
  EXPECT_NE(trigger_problem({"--cancel", "3", "-o", "x.kymo"}).find("take the number of a trigger"), std::string::npos);
}

TEST(TriggerOptionsTest, WindowIsADurationOrIterationsOrThePast) {
  EXPECT_EQ(triggered({"--all", "--duration", "250ms"}).trigger.options.duration_ns, 250'000'000u);
  const auto steps = triggered({"--all", "--iterations", "10", "--roundup", "100"}).trigger.options;
  EXPECT_EQ(steps.iterations, 10u);
  EXPECT_EQ(steps.iteration_roundup, 100u);
  EXPECT_EQ(steps.duration_ns, 0u);
  EXPECT_EQ(triggered({"--all", "--last", "30s"}).trigger.options.last_ns, 30'000'000'000u);
  EXPECT_EQ(triggered({"--all", "--start-at", "+2s"}).trigger.options.start_at_ns, kTriggerNow + 2'000'000'000);
}

TEST(TriggerOptionsTest, FlagsAreCombined) {
  EXPECT_EQ(triggered({"--all", "--shapes", "--stack"}).trigger.options.flags, wire::kWithShapes | wire::kWithStack);
  EXPECT_EQ(triggered({"--all", "--memory", "--flops", "--modules"}).trigger.options.flags,
            wire::kWithMemory | wire::kWithFlops | wire::kWithModules);
  EXPECT_EQ(triggered({"--all", "--memory"}).trigger.kind, wire::RequestKind::Trace);
  EXPECT_EQ(triggered({"--all", "--memory-profile"}).trigger.kind, wire::RequestKind::Memory);
}

TEST(TriggerOptionsTest, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(trigger_problem({}), "no processes given; use --pid, --name, --job or --all");
  EXPECT_EQ(trigger_problem({"--all", "--pid", "7"}), "--all cannot be used with --pid, --name or --job");
  EXPECT_EQ(trigger_problem({"--pid", "0"}), "--pid: '0' is not a process id; give a number, such as 4711");
  EXPECT_EQ(trigger_problem({"--all", "--duration", "1s", "--last", "1s"}),
            "give only one of --duration, --iterations and --last");
  EXPECT_EQ(trigger_problem({"--all", "--roundup", "5"}),
            "--roundup needs --iterations; give the number of iterations");
  EXPECT_EQ(trigger_problem({"--all", "--last", "1s", "--start-at", "+1s"}),
            "--last cannot be used with --start-at; it records the past");
  EXPECT_EQ(trigger_problem({"--all", "--memory-profile", "--iterations", "5"}),
            "--memory-profile works only with --duration, not with --iterations or --last");
  EXPECT_EQ(trigger_problem({"--all", "--duration", "169h"}), "the max duration is seven days (168h)");
  EXPECT_EQ(trigger_problem({"--all", "--duration", "0s"}),
            "--duration: '0s' is not a duration; give one that is not 0, such as 500ms");
  EXPECT_EQ(trigger_problem({"--all", "--last", "0s"}),
            "--last: '0s' is not a duration; give one that is not 0, such as 500ms");
  EXPECT_EQ(trigger_problem({"--name", ""}), "--name: '' is not a program name; 'kymo ps' lists the names");
  EXPECT_EQ(trigger_problem({"--all", "-o", ""}), "--output: the value is empty; use --output PATTERN");
  EXPECT_EQ(trigger_problem({"4711"}), "unexpected argument '4711'; did you mean --pid 4711?");
  EXPECT_EQ(trigger_problem({"train"}), "unexpected argument 'train'; did you mean --name train?");
  EXPECT_NE(trigger_problem({"--all", "-o", "{who}.kymo"}), "");
  EXPECT_EQ(trigger_problem({"--all", "-o", "a.txt"}),
            "-o: 'a.txt' does not have the file extension of a trace; use one of .kymo, .json, .json.gz, .pftrace, "
            ".pftrace.gz, "
            ".perfetto-trace, .perfetto-trace.gz, .csv, .csv.gz");
}

TEST(TriggerOptionsTest, FileExtensionIsThatOfATraceOrOfAProfile) {
  for (const char* name : {"a.kymo", "a.json.gz", "a.perfetto-trace"})
    EXPECT_NO_THROW(check_ending(name, wire::RequestKind::Trace)) << name;
  EXPECT_NO_THROW(check_ending("a.pickle", wire::RequestKind::Memory));
  EXPECT_NO_THROW(check_ending("a.raw.json.gz", wire::RequestKind::Memory));
  EXPECT_THROW(check_ending("a.pickle", wire::RequestKind::Trace), InvalidArgument);
}

TEST(TriggerOptionsTest, RelativeOutputStartsAtTheCurrentFolder) {
  TriggerOptions options;
  EXPECT_EQ(output_pattern(options, "/home/a", {}), "/home/a/{name}-{host}-{pid}-{time}.kymo");
  EXPECT_EQ(output_pattern(options, "/odd{x}", {}), "/odd{{x}}/{name}-{host}-{pid}-{time}.kymo");
  options.output = "runs/{pid}.json";
  EXPECT_EQ(output_pattern(options, "/home/a", {}), "/home/a/runs/{pid}.json");
  options.output = "../{pid}.json";
  EXPECT_EQ(output_pattern(options, "/home/a", {}), "/home/{pid}.json");
  options.output = "/data/{pid}.json";
  EXPECT_EQ(output_pattern(options, "/home/a", {}), "/data/{pid}.json");
}

TEST(TriggerOptionsTest, DefaultOutputIsInAnAllowedFolder) {
  const TriggerOptions options;
  EXPECT_EQ(output_pattern(options, "/home/a", {"/data", "/home"}), "/home/a/{name}-{host}-{pid}-{time}.kymo");
  EXPECT_EQ(output_pattern(options, "/homes", {"/data", "/home"}), "/data/{name}-{host}-{pid}-{time}.kymo");
}

constexpr uint64_t kStartSecond = 1'000'000'000;
constexpr uint64_t kStartNow = 1'769'868'000 * kStartSecond;  // 2026-01-31 14:00:00 UTC

class StartTimeTest : public ::testing::Test {
 protected:
  StartTimeTest() { set_zone("UTC"); }
  ~StartTimeTest() override { unsetenv("TZ"), tzset(); }
  static void set_zone(const char* zone) {
    setenv("TZ", zone, 1);
    tzset();
  }
};

TEST_F(StartTimeTest, PlusIsRelativeToNow) {
  EXPECT_EQ(parse_start_time("+10s", kStartNow), kStartNow + 10 * kStartSecond);
  EXPECT_EQ(parse_start_time("+250ms", kStartNow), kStartNow + kStartSecond / 4);
}

TEST_F(StartTimeTest, TimeWithoutADateIsTodayInLocalTime) {
  EXPECT_EQ(parse_start_time("14:30", kStartNow), kStartNow + 1800 * kStartSecond);
  EXPECT_EQ(parse_start_time("14:00:05.25", kStartNow), kStartNow + 5 * kStartSecond + kStartSecond / 4);
  set_zone("XYZ-2");  // two hours before: it is 16:00
  EXPECT_EQ(parse_start_time("16:30", kStartNow), kStartNow + 1800 * kStartSecond);
  EXPECT_EQ(parse_start_time("14:30Z", kStartNow), kStartNow + 1800 * kStartSecond);
}

TEST_F(StartTimeTest, DateCanPrecedeTheTime) {
  EXPECT_EQ(parse_start_time("2026-02-01 14:00", kStartNow), kStartNow + 86'400 * kStartSecond);
  EXPECT_EQ(parse_start_time("2026-02-01T14:00:00Z", kStartNow), kStartNow + 86'400 * kStartSecond);
}

TEST_F(StartTimeTest, UnixTimeStartsWithAnAtSign) {
  EXPECT_EQ(parse_start_time("@1769868001.5", kStartNow), kStartNow + kStartSecond * 3 / 2);
}

TEST_F(StartTimeTest, PastIsRefused) {
  EXPECT_THROW(parse_start_time("13:59", kStartNow), InvalidArgument);
  EXPECT_THROW(parse_start_time("2025-12-31 14:30", kStartNow), InvalidArgument);
  EXPECT_THROW(parse_start_time("@0", kStartNow), InvalidArgument);
}

TEST_F(StartTimeTest, OtherFormsAreRefused) {
  for (const char* text : {"",
                           "soon",
                           "14",
                           "14:",
                           "14:3",
                           "24:00",
                           "14:60",
                           "14:30:60",
                           "14:30:05.",
                           "14:30 pm",
                           "-1:30",
                           "2026-13-01 14:30",
                           "2026-02-30 14:30",
                           "2026-01-31",
                           "2026-01-31 ",
                           "+",
                           "+10",
                           "@",
                           "@-1",
                           "@1e9",
                           "@99999999999999999999",
                           "14:30:05.1234567890"})
    EXPECT_THROW(parse_start_time(text, kStartNow), InvalidArgument) << text;
}

}  // namespace
}  // namespace kymo::cli
