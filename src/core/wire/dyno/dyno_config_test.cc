#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/config.h"
#include "wire/dyno/test_dyno.h"

namespace kymo::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DynoConfigTest, TraceByTimeHasTheLinesOfDyno) {
  GpuTraceOptions options;
  options.log_file = "/tmp/a.json";
  options.record_shapes = true;
  EXPECT_EQ(*gputrace_config(options),
            "ACTIVITIES_LOG_FILE=/tmp/a.json\nPROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=500\n"
            "PROFILE_REPORT_INPUT_SHAPES=true\nPROFILE_WITH_STACK=false\nPROFILE_WITH_FLOPS=false\n"
            "PROFILE_WITH_MODULES=false");
}

TEST(DynoConfigTest, TraceByIterationsStartsAtAMultiple) {
  GpuTraceOptions options;
  options.log_file = "/tmp/a.json";
  options.iterations = 3;
  options.iteration_roundup = 50;
  const auto config = gputrace_config(options);
  ASSERT_TRUE(config) << config.reason();
  EXPECT_THAT(*config, HasSubstr("json\nPROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP=50\n"
                                 "ACTIVITIES_ITERATIONS=3\nPROFILE_REPORT_INPUT_SHAPES=false\n"));
}

TEST(DynoConfigTest, MemorySnapshotUsesTheDuration) {
  GpuTraceOptions options;
  options.log_file = "/tmp/a.json";
  options.duration_ms = 1500;
  options.profile_memory = true;
  const auto config = gputrace_config(options);
  ASSERT_TRUE(config) << config.reason();
  EXPECT_THAT(*config, HasSubstr("SHAPES=false\nPROFILE_PROFILE_MEMORY=true\nPROFILE_MEMORY=true\n"
                                 "PROFILE_MEMORY_DURATION_MSECS=1500\nPROFILE_WITH_STACK"));
  EXPECT_EQ(output_path(*read_config(*config).request, 9), "/tmp/memory_snapshot_9.pickle");
}

TEST(DynoConfigTest, InvalidLogFileAndOptionsAreRefused) {
  for (const char* file : {"", "/tmp/a\nPROFILE_MEMORY=true", "/tmp/a#b", "/tmp/a=b", " /tmp/a"}) {
    GpuTraceOptions options;
    options.log_file = file;
    EXPECT_FALSE(gputrace_config(options)) << file;
  }
  GpuTraceOptions options;
  options.log_file = "/tmp/\"a\".json";  // valid in a config, and escaped in JSON
  EXPECT_TRUE(gputrace_request(options));
  options.iterations = 0;
  EXPECT_FALSE(gputrace_request(options));
  options.iterations = 1;
  options.profile_memory = true;
  EXPECT_THAT(gputrace_request(options).reason(), HasSubstr("leave one of them out"));
}

TEST(DynoConfigTest, RequestPassesThroughTheCallAndTheDaemonUnchanged) {
  GpuTraceOptions options;
  options.log_file = "/tmp/\"a\".json";
  options.job = 5'000'000'000;
  const auto request = gputrace_request(options);
  ASSERT_TRUE(request) << request.reason();
  const auto received = read_rpc_request(rpc_request(*request));
  ASSERT_TRUE(received.request) << received.reason;
  const auto& trigger = std::get<RpcTrigger>(*received.request);
  EXPECT_THAT(trigger.pids, ElementsAre(0));
  EXPECT_EQ(trigger.process_limit, 3);
  const auto reading = read_config(handed_out_config(trigger.config, 18446744073709551615u));
  ASSERT_TRUE(reading.request) << reading.reason();
  EXPECT_EQ(reading.request->output, "/tmp/\"a\".json");
  EXPECT_EQ(reading.request->trace_id, "18446744073709551615");
}

TEST(DynoConfigTest, ConfigForAProcessIsIndented) {
  EXPECT_EQ(handed_out_config("A=1\nB=2", 7), "\n    A=1\nB=2\n    REQUEST_TRACE_ID=7\n");
}

}  // namespace
}  // namespace kymo::wire
