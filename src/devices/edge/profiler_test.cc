// The lifetime of a profiler as kymo/edge.h specifies it: who may create one, what it records, when it stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "edge/test_file.h"
#include "edge/test_module.h"
#include "kymo/edge.h"
#include "kymo/edge_engine.h"

namespace kymo {
namespace {

using edge::Operation;
using edge::testing::refusal;
using edge::testing::TestFolder;
using edge::testing::TestModule;
using ::testing::HasSubstr;

std::vector<std::string> event_names_in(const EdgeResult& result) {
  std::vector<std::string> names;
  for (const EdgeEvent& event : result.events()) names.emplace_back(event.name);
  return names;
}

TEST(EdgeProfilerTest, RecordsOperationsOfThisThreadUntilItStops) {
  const TestModule module;
  EdgeProfiler profiler(module, {});
  { const Operation operation("first"); }
  const EdgeResult result = profiler.disable_profiler();
  { const Operation operation("second"); }
  EXPECT_THAT(event_names_in(result), ::testing::ElementsAre("first"));
  EXPECT_EQ(event_names_in(profiler.get_profiler_result()), event_names_in(result));
  EXPECT_TRUE(result.events()[0].finished);
  EXPECT_LE(result.start_ns(), result.events()[0].start_ns);
  EXPECT_GE(result.end_ns(), result.events()[0].end_ns);
  EXPECT_TRUE(result.losses().empty());
}

TEST(EdgeProfilerTest, PositionalOptionsHaveTheOriginalOrder) {
  TestModule module;
  {
    EdgeProfiler profiler(module, {"", true, true});
    EXPECT_TRUE(module.last_wanted.inputs);
    EXPECT_TRUE(module.last_wanted.memory);
  }
  {
    EdgeProfiler profiler(module, {.with_flops = true});
    EXPECT_TRUE(module.last_wanted.inputs);
    EXPECT_FALSE(module.last_wanted.memory);
  }
}

TEST(EdgeProfilerTest, SecondProfilerOnAThreadIsRefusedAndTheFirstContinues) {
  TestModule module, second_module;
  EdgeProfiler first(module, {});
  { const Operation operation("before"); }
  EXPECT_THAT(refusal([&] { const EdgeProfiler second(second_module, {}); }), HasSubstr("disable_profiler()"));
  EXPECT_EQ(second_module.started, 0);
  EXPECT_EQ(get_current_edge_profiler(), &first);
  { const Operation operation("after"); }
  EXPECT_THAT(event_names_in(first.disable_profiler()), ::testing::ElementsAre("before", "after"));
}

TEST(EdgeProfilerTest, SecondProfilerMayBeginAfterTheFirstIsDisabled) {
  const TestModule module;
  EdgeProfiler first(module, {});
  first.disable_profiler();
  EXPECT_EQ(get_current_edge_profiler(), nullptr);
  {
    EdgeProfiler second(module, {});
    EXPECT_EQ(get_current_edge_profiler(), &second);
    { const Operation operation("operation"); }
    EXPECT_EQ(second.disable_profiler().events().size(), 1u);
  }
  EdgeProfiler third(module, {});
  EXPECT_EQ(get_current_edge_profiler(), &third);
  EXPECT_EQ(first.get_profiler_result().events().size(), 0u);
}

TEST(EdgeProfilerTest, CanBeDisabledOnceAndHasNoResultBefore) {
  const TestModule module;
  EdgeProfiler profiler(module, {});
  EXPECT_THAT(refusal([&] { profiler.get_profiler_result(); }), HasSubstr("disable_profiler() first"));
  profiler.disable_profiler();
  EXPECT_THAT(refusal([&] { profiler.disable_profiler(); }), HasSubstr("was stopped before"));
  EXPECT_NO_THROW(profiler.get_profiler_result());
}

TEST(EdgeProfilerTest, StopsAtTheEndOfTheScopeWithoutAFile) {
  TestModule module;
  { const EdgeProfiler profiler(module, {}); }
  EXPECT_EQ(module.started, 1);
  EXPECT_EQ(module.ended, 1);
  EXPECT_EQ(get_current_edge_profiler(), nullptr);
  EXPECT_EQ(edge::current_log(), nullptr);
  const EdgeProfiler again(module, {});
}

TEST(EdgeProfilerTest, NoStateRemainsIfTheModuleRefuses) {
  const TestFolder folder;
  TestModule module;
  module.refuses = true;
  EXPECT_THROW(EdgeProfiler(module, {.trace_file = folder.path("run.json")}), std::runtime_error);
  EXPECT_EQ(get_current_edge_profiler(), nullptr);
  EXPECT_EQ(edge::current_log(), nullptr);
  EXPECT_EQ(module.ended, 0);
  EXPECT_TRUE(folder.empty());
  module.refuses = false;
  const EdgeProfiler profiler(module, {});
}

TEST(EdgeProfilerTest, EventsThatCannotBeCountedAreRefused) {
  TestModule module;
  EXPECT_THROW(EdgeProfiler(module, {.events = {"no such event"}}), InvalidArgument);
  EXPECT_THROW(EdgeProfiler(module, {.events = {"task-clock", "task-clock"}}), InvalidArgument);
  EXPECT_EQ(module.started, 0);
  EXPECT_EQ(get_current_edge_profiler(), nullptr);
}

TEST(EdgeProfilerTest, EventsAreCountedForEachOperation) {
  const TestModule module;
  if (edge::event_names().empty()) GTEST_SKIP() << "this machine counts no events";
  const std::string name = edge::event_names().front();
  EdgeProfiler profiler(module, {.events = {name}});
  { const Operation operation("operation"); }
  const EdgeResult result = profiler.disable_profiler();
  ASSERT_EQ(result.event_names().size(), 1u);
  EXPECT_EQ(result.event_names()[0], name);
  EXPECT_EQ(result.counts(result.events()[0]).size(), 1u);
}

TEST(EdgeProfilerTest, StackAndModuleCanBothBeRecorded) {
  const TestModule module;
  EdgeProfiler profiler(module, {.with_stack = true, .with_modules = true});
  { const Operation operation("aten::add", 3); }
  const EdgeResult result = profiler.disable_profiler();
  const EdgeEvent& event = result.events()[0];
  EXPECT_EQ(event.module_hierarchy, "top(Test)::<unknown>.part3.aten::add");
  EXPECT_EQ(event.call_stack, "test.py(3): forward");
  EXPECT_FALSE(result.stack(event).empty());
}

TEST(EdgeProfilerTest, InputsRecordedOnlyForFlopsAreNotReported) {
  const TestModule module;
  const auto put = [](edge::Inputs& inputs) {
    const std::array<int64_t, 2> shape{4, 4}, strides{4, 1};
    inputs.tensor(edge::Element::Float, shape, strides);
    inputs.tensor(edge::Element::Float, shape, strides);
  };
  {
    EdgeProfiler profiler(module, {.with_flops = true});
    { const Operation operation("aten::mm", -1, put); }
    const EdgeResult result = profiler.disable_profiler();
    EXPECT_EQ(result.events()[0].flops, 2u * 4 * 4 * 4);
    EXPECT_TRUE(result.inputs(result.events()[0]).empty());
  }
  EdgeProfiler profiler(module, {.report_input_shapes = true});
  { const Operation operation("aten::mm", -1, put); }
  const EdgeResult result = profiler.disable_profiler();
  EXPECT_EQ(result.events()[0].flops, 0u);
  EXPECT_EQ(result.inputs(result.events()[0]).size(), 2u);
}

TEST(EdgeProfilerTest, OperationAroundCloseIsUnfinished) {
  const TestModule module;
  std::optional<Operation> open;
  EdgeResult result;
  {
    EdgeProfiler profiler(module, {});
    open.emplace("open");
    { const Operation inner("inner"); }
    result = profiler.disable_profiler();
  }
  open.reset();  // its log still exists: AddressSanitizer checks this
  ASSERT_EQ(result.events().size(), 2u);
  EXPECT_FALSE(result.events()[0].finished);
  EXPECT_EQ(result.events()[0].end_ns, result.end_ns());
  EXPECT_TRUE(result.events()[1].finished);
}

TEST(EdgeProfilerTest, BackendsReportToTheCurrentProfiler) {
  const TestModule module;
  int memory = 0;
  KYMO_RECORD_BACKEND_EVENT(1, 2, 3, "not recorded", "backend");
  EdgeProfiler profiler(module, {.profile_memory = true, .with_modules = true});
  KYMO_RECORD_BACKEND_EVENT(1'000'000, 1'000'005, 3, "backend op", "test_backend");
  KYMO_RECORD_BACKEND_MEMORY_EVENT(&memory, 64, 100, 200);
  KYMO_RECORD_BACKEND_MEMORY_EVENT(&memory, -64, 36, 200, {1, 0});
  const EdgeResult result = profiler.disable_profiler();
  profiler.record_backend_event(1, 2, 3, "too late", "backend");
  ASSERT_EQ(result.events().size(), 1u);
  const EdgeEvent& event = result.events()[0];
  EXPECT_EQ(event.kind, EdgeKind::Backend);
  EXPECT_EQ(event.name, "backend op");
  EXPECT_EQ(event.backend, "test_backend");
  EXPECT_EQ(event.start_ns, 1'000'000'000u);
  EXPECT_EQ(event.duration_ns(), 5'000u);
  EXPECT_EQ(event.module_hierarchy, "top(Test)::<unknown>.part3.backend op");
  ASSERT_EQ(result.allocations().size(), 2u);
  EXPECT_EQ(result.allocations()[0].bytes, 64);
  EXPECT_EQ(result.allocations()[0].total_reserved, 200u);
  EXPECT_EQ(result.allocations()[1].device.type, 1);
}

TEST(EdgeProfilerTest, BelongsOnlyToItsThread) {
  const TestModule module;
  EdgeProfiler profiler(module, {});
  std::thread([&] {
    EXPECT_EQ(get_current_edge_profiler(), nullptr);
    EXPECT_THAT(refusal([&] { profiler.disable_profiler(); }), HasSubstr("another thread"));
    EXPECT_THAT(refusal([&] { profiler.close(); }), HasSubstr("another thread"));
    const EdgeProfiler own(module, {});
    EXPECT_EQ(get_current_edge_profiler(), &own);
  }).join();
  EXPECT_EQ(get_current_edge_profiler(), &profiler);
}

TEST(EdgeProfilerTest, ThreadWithAnAdoptedLogSeesTheProfilerAndCannotCreateAnother) {
  const TestModule module;
  EdgeProfiler profiler(module, {});
  edge::Log* const log = edge::current_log();
  std::thread([&] {
    const edge::AdoptedLog adopted(log);
    EXPECT_EQ(get_current_edge_profiler(), &profiler);
    EXPECT_THAT(refusal([&] { const EdgeProfiler own(module, {}); }), HasSubstr("of another thread"));
    KYMO_RECORD_BACKEND_EVENT(1'000'000, 1'000'005, 3, "backend op", "test_backend");
    const Operation operation("there");
  }).join();
  const EdgeResult result = profiler.disable_profiler();
  EXPECT_THAT(event_names_in(result), ::testing::UnorderedElementsAre("there", "backend op"));
}

TEST(EdgeProfilerTest, ThreadIsFreeAfterStopInsideAnAdoptedScope) {
  const TestModule module;
  EdgeProfiler profiler(module, {});
  {
    const edge::AdoptedLog none(nullptr);
    EXPECT_EQ(get_current_edge_profiler(), nullptr);
    EXPECT_THAT(refusal([&] { const EdgeProfiler second(module, {}); }), HasSubstr("records"));
    profiler.disable_profiler();
  }
  EXPECT_EQ(edge::current_log(), nullptr);
  const EdgeProfiler second(module, {});
  EXPECT_EQ(get_current_edge_profiler(), &second);
}

}  // namespace
}  // namespace kymo
