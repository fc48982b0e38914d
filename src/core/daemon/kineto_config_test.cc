#include "daemon/kineto_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/kineto_programs.h"
#include "daemon/log.h"
#include "wire/dyno/test_dyno.h"

namespace kymo::daemon {
namespace {

using ::testing::HasSubstr;

class KinetoConfigTest : public ::testing::Test {
 protected:
  wire::TraceRequest config_for(const wire::TraceOptions& options, wire::RequestKind kind = wire::RequestKind::Trace) {
    const auto order = kineto_order(program, {77, kind, options}, 1'000'000);
    EXPECT_TRUE(order) << order.reason();
    const auto reading = wire::read_config(order ? order->config : "=");
    EXPECT_TRUE(reading.request) << reading.reason();
    path = order->path;
    is_late = order->is_late;
    return *reading.request;
  }
  static ProcessFacts facts() {
    ProcessFacts facts;
    facts.pid = 500;
    facts.inner_pid = 42;
    facts.name = "python3";
    return facts;
  }
  Log log{true};
  Loop loop{log};
  KinetoProgram program{loop, facts(), 0};
  std::string path;
  bool is_late = false;
};

TEST_F(KinetoConfigTest, DurationAndFlagsAreInTheConfig) {
  const auto config = config_for(
      {.duration_ns = 1'500'000'001, .output = "/tmp/a.json", .flags = wire::kWithStack | wire::kWithShapes});
  EXPECT_EQ(config.duration_ms, 1501u);
  EXPECT_TRUE(config.stack && config.shapes);
  EXPECT_FALSE(config.flops || config.modules || config.memory_events);
  EXPECT_EQ(config.warmup_s, 0u);
  EXPECT_EQ(config.trace_id, "77");
}

TEST_F(KinetoConfigTest, PidInTheFileNameIsTheOneThatTheDaemonShows) {
  config_for({.duration_ns = 1, .output = "/tmp/a.json"});
  EXPECT_EQ(path, "/tmp/a_500_42.json");
  config_for({.duration_ns = 1, .output = "/tmp/{name}-{pid}-now.json.gz"});
  EXPECT_EQ(path, "/tmp/python3-500-now_42.json");
}

TEST_F(KinetoConfigTest, FileNameHasThePidOnceIfBothPidsAreTheSame) {
  ProcessFacts same = facts();
  same.inner_pid = same.pid;
  const KinetoProgram outside{loop, same, 0};
  for (const char* output : {"/tmp/a.json", "/tmp/a_{pid}.kymo", "/tmp/a_{pid}.perfetto-trace"}) {
    const auto order = kineto_order(outside, {77, wire::RequestKind::Trace, {.duration_ns = 1, .output = output}}, 0);
    ASSERT_TRUE(order) << order.reason();
    EXPECT_EQ(order->path, "/tmp/a_500.json");
  }
}

TEST_F(KinetoConfigTest, OrderSaysWhereElseTheFileMayBe) {
  const auto trace = kineto_order(program, {1, wire::RequestKind::Trace, {.duration_ns = 1, .output = "/data/a"}}, 0);
  EXPECT_EQ(trace->instead, "/tmp/libkineto_activities_42.json");
  const auto memory = kineto_order(program, {1, wire::RequestKind::Memory, {.duration_ns = 1, .output = "/data/a"}}, 0);
  EXPECT_EQ(memory->instead, "/tmp/memory_snapshot_42.pickle");
}

TEST_F(KinetoConfigTest, OrderSaysWhenTheRecordingStartsAndEnds) {
  const auto order_for = [&](const wire::TraceOptions& options) {
    return *kineto_order(program, {1, wire::RequestKind::Trace, options}, 1'000'000);
  };
  const auto now = order_for({.duration_ns = 500'000'000, .output = "/tmp/a.json"});
  EXPECT_EQ(now.starts_at_ns, 1'002'000'000'000u);
  EXPECT_EQ(now.ends_at_ns, 1'002'500'000'000u);
  const auto then = order_for({.start_at_ns = 1'060'000'000'000, .duration_ns = 500'000'000, .output = "/tmp/a.json"});
  EXPECT_EQ(then.starts_at_ns, 1'060'000'000'000u);
  EXPECT_EQ(order_for({.iterations = 3, .output = "/tmp/a.json"}).ends_at_ns, 0u);
}

TEST_F(KinetoConfigTest, IterationsAreInTheConfig) {
  const auto config = config_for({.iterations = 3, .iteration_roundup = 100, .output = "/tmp/a.json"});
  EXPECT_TRUE(config.by_iterations());
  EXPECT_EQ(config.iterations, 3u);
  EXPECT_EQ(config.iteration_roundup, 100u);
}

TEST_F(KinetoConfigTest, StartTimeThatIsTooCloseForAPollingProgramMeansNow) {
  EXPECT_EQ(config_for({.start_at_ns = 2'000'000'000'000, .duration_ns = 1, .output = "/tmp/a.json"}).start_ms,
            2'000'000u);
  EXPECT_FALSE(is_late);
  EXPECT_EQ(config_for({.start_at_ns = 1'000'500'000'000, .duration_ns = 1, .output = "/tmp/a.json"}).start_ms, 0u);
  EXPECT_TRUE(is_late);
}

TEST_F(KinetoConfigTest, MemorySnapshotIsNamedPickle) {
  const auto config =
      config_for({.duration_ns = 2'000'000'000, .output = "/tmp/{pid}.pickle"}, wire::RequestKind::Memory);
  EXPECT_TRUE(config.memory_snapshot);
  EXPECT_EQ(config.memory_duration_ms, 2000u);
  EXPECT_EQ(path, "/tmp/500.pickle");
  for (const char* output : {"/tmp/{pid}.html", "/tmp/{pid}.kymo", "/tmp/{pid}.raw.json", "/tmp/{pid}.json.gz"}) {
    config_for({.duration_ns = 1, .output = output}, wire::RequestKind::Memory);
    EXPECT_EQ(path, "/tmp/500.pickle");
  }
}

// libkineto has no start time for a memory profile.
TEST_F(KinetoConfigTest, MemoryProfileWithAStartTimeStartsAtTheFirstPollAfterIt) {
  constexpr uint64_t kHourNs = 3'600'000'000'000;
  program.report_to({.status = [](const wire::Status&) {}, .done = [](const wire::Done&) {}});
  ProgramRequest request{1, wire::RequestKind::Memory, {.duration_ns = 1'000'000, .output = "/tmp/{pid}.pickle"}};
  EXPECT_EQ(program.note_about(request), "");
  request.options.start_at_ns = base::realtime_ns() + kHourNs;
  EXPECT_EQ(program.note_about(request), "libkineto starts it at its first poll after the start time");
  program.start(request);
  EXPECT_EQ(program.asked({.pids = {42}}), "");
  program.give_up(1);

  request.options.start_at_ns = base::realtime_ns() - kHourNs;
  program.start(request);
  EXPECT_THAT(program.asked({.pids = {42}}), HasSubstr("PROFILE_MEMORY=true"));
  program.give_up(1);
  request.kind = wire::RequestKind::Trace;
  request.options.start_at_ns = base::realtime_ns() + kHourNs;
  program.start(request);
  EXPECT_THAT(program.asked({.pids = {42}}), HasSubstr("PROFILE_START_TIME=")) << "a trace has a start time";
}

TEST_F(KinetoConfigTest, PastEventsAndInexpressiblePathsAreRefused) {
  EXPECT_THAT(kineto_order(program, {1, wire::RequestKind::Trace, {.last_ns = 5, .output = "/tmp/a"}}, 0).reason(),
              HasSubstr("does not keep past events"));
  EXPECT_THAT(
      kineto_order(program, {1, wire::RequestKind::Trace, {.duration_ns = 5, .output = "/tmp/a#b.json"}}, 0).reason(),
      HasSubstr("no way to say"));
}

TEST_F(KinetoConfigTest, ConfigOfDynoIsForwardedUnchanged) {
  wire::GpuTraceOptions options;
  options.log_file = "/tmp/x.pt.trace.json";
  const std::string text = *wire::gputrace_config(options);
  const auto order = kineto_order(program, {77, wire::RequestKind::Trace, {}, text}, 0);
  ASSERT_TRUE(order) << order.reason();
  EXPECT_EQ(order->config, wire::handed_out_config(text, 77));
  EXPECT_EQ(order->path, "/tmp/x_42.pt.trace.json");
  const auto trigger = trigger_of_config(*wire::read_config(text).request);
  ASSERT_TRUE(trigger);
  EXPECT_EQ(trigger->options.output, "/tmp/x_{pid}.pt.trace.json");
  EXPECT_EQ(trigger->options.duration_ns, 500'000'000u);
}

}  // namespace
}  // namespace kymo::daemon
