// Operations are also ranges for listeners of annotations: a session that records, and sinks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "edge/test_file.h"
#include "edge/test_module.h"
#include "kymo/annotate.h"
#include "kymo/edge.h"
#include "kymo/edge_engine.h"
#include "kymo/session.h"
#include "kymo/sink_calls.h"
#include "trace/reader.h"

namespace kymo {
namespace {

using edge::Operation;
using edge::testing::TestModule;
using ::testing::ElementsAre;

thread_local std::vector<std::string> sink_received;

constexpr kymo_sink kEdgeTestSink = {
    .name = "the edge profiler's test",
    .range_push = [](const char* text, const kymo_label*) { sink_received.push_back(text); },
    .range_pop = [] { sink_received.push_back("pop"); },
    .range_start = nullptr,
    .range_end = nullptr,
    .mark = nullptr,
    .counter = nullptr,
    .interval_begin = nullptr,
    .interval_end = nullptr,
    .event = nullptr,
    .wants_messages = 0,
    .listens = nullptr,
};

class EdgeListenersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sink_received.clear();
    ASSERT_NE(kymo_add_sink(&kEdgeTestSink), 0);
  }
  void TearDown() override { kymo_remove_sink(&kEdgeTestSink); }

  const TestModule module_{};
};

TEST_F(EdgeListenersTest, SinksReceiveOperationsInOrder) {
  const EdgeProfiler profiler(module_, {});
  {
    const Operation outer("outer");
    const Operation inner("inner");
  }
  EXPECT_THAT(sink_received, ElementsAre("outer", "inner", "pop", "pop"));
}

TEST_F(EdgeListenersTest, SinksReceiveNothingWithoutAProfiler) {
  { const Operation operation("operation"); }
  EXPECT_THAT(sink_received, ElementsAre());
}

TEST_F(EdgeListenersTest, SinkThatMissedTheBeginDoesNotReceiveTheEnd) {
  const EdgeProfiler profiler(module_, {});
  kymo_remove_sink(&kEdgeTestSink);
  {
    const Operation outer("outer");
    kymo_add_sink(&kEdgeTestSink);
    const Operation inner("inner");
  }
  EXPECT_THAT(sink_received, ElementsAre("inner", "pop"));
}

TEST_F(EdgeListenersTest, EndOutOfOrderIsReportedAfterTheInnerOperationsEnd) {
  EdgeProfiler profiler(module_, {});
  edge::Log& log = *edge::current_log();
  edge::OpenOperation* const first = edge::begin(log, {.name = "first"}, nullptr);
  edge::OpenOperation* const second = edge::begin(log, {.name = "second"}, nullptr);
  edge::end(log, first);
  EXPECT_THAT(sink_received, ElementsAre("first", "second"));
  edge::end(log, second);
  EXPECT_THAT(sink_received, ElementsAre("first", "second", "pop", "pop"));
}

TEST_F(EdgeListenersTest, EndOnAnotherThreadIsReportedOnTheOriginalThread) {
  EdgeProfiler profiler(module_, {});
  edge::Log& log = *edge::current_log();
  edge::OpenOperation* const open = edge::begin(log, {.name = "asynchronous"}, nullptr);
  std::thread([&] {
    edge::end(log, open);
    EXPECT_THAT(sink_received, ElementsAre());
  }).join();
  { const Operation next("next"); }
  EXPECT_THAT(sink_received, ElementsAre("asynchronous", "pop", "next", "pop"));
}

TEST_F(EdgeListenersTest, OperationOpenAtTheEndOfTheProfilerStillEndsForSinks) {
  std::optional<Operation> outer, inner;
  {
    const EdgeProfiler profiler(module_, {});
    outer.emplace("outer");
    inner.emplace("inner");
  }
  EXPECT_THAT(sink_received, ElementsAre("outer", "inner"));
  inner.reset();
  outer.reset();
  EXPECT_THAT(sink_received, ElementsAre("outer", "inner", "pop", "pop"));
}

TEST(EdgeSessionTest, SessionRecordsOperationsAmongItsRanges) {
  const edge::testing::TestFolder folder;
  const TestModule module;
  {
    Session session(folder.path("run.kymo"));
    const EdgeProfiler profiler(module, {});
    KYMO_RANGE("program");
    const Operation operation("aten::add");
  }
  const trace::Reader reader(folder.path("run.kymo"));
  ASSERT_EQ(reader.writers().size(), 1u);
  const trace::WriterInfo& writer = reader.writers().begin()->second;
  std::map<std::string, std::string> categories;
  std::map<std::string, uint32_t> depths;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    trace::EventBatch batch;
    reader.read(chunk, batch);
    for (size_t i = 0; i < batch.ranges.end.size(); ++i) {
      const trace::EventClass& kind = writer.classes.at(batch.ranges.class_id[i]);
      categories[kind.name] = kind.category;
      depths[kind.name] = batch.ranges.depth[i];
    }
  }
  EXPECT_EQ(categories.at("aten::add"), "edge");
  EXPECT_EQ(depths.at("program"), 0u);
  EXPECT_EQ(depths.at("aten::add"), 1u);
}

}  // namespace
}  // namespace kymo
