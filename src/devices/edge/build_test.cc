#include "edge/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "edge/test_log.h"

namespace kymo::edge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kBuildStart = MadeLog::kOrigin;
constexpr int64_t kBuildStartUs = MadeLog::kOriginUs;

std::vector<std::string> built_names(const ResultData& result) {
  std::vector<std::string> names;
  for (const EdgeEvent& event : result.events) names.emplace_back(event.name);
  return names;
}

std::vector<uint32_t> built_parents(const ResultData& result) {
  std::vector<uint32_t> parents;
  for (const EdgeEvent& event : result.events) parents.push_back(event.parent);
  return parents;
}

constexpr uint32_t kBuildRoot = EdgeEvent::kNone;

TEST(BuildTest, EmptyLogGivesAnEmptyResult) {
  const auto result = MadeLog(100).build();
  EXPECT_THAT(result->events, IsEmpty());
  EXPECT_THAT(result->losses, IsEmpty());
  EXPECT_EQ(result->start_ns, kBuildStart);
  EXPECT_EQ(result->end_ns, kBuildStart + 100);
}

TEST(BuildTest, OperationsBecomeATreeWithTimes) {
  MadeLog log(1000);
  MadeThread& thread = log.thread(7);
  RawOperation& outer = thread.begin("aten::linear", 100);
  thread.extras(outer).sequence = 3;
  thread.extras(outer).forward_thread = 8;
  thread.extras(outer).engine_id = 99;
  outer.scope = Scope::Backward;
  thread.begin("aten::addmm", 150);
  thread.end(300);
  thread.end(500);
  thread.begin("step", 600).scope = Scope::User;
  thread.end(700);
  const auto result = log.build();
  EXPECT_THAT(built_names(*result), ElementsAre("aten::linear", "aten::addmm", "step"));
  EXPECT_THAT(built_parents(*result), ElementsAre(kBuildRoot, 0, kBuildRoot));
  const EdgeEvent& linear = result->events[0];
  EXPECT_EQ(linear.start_ns, kBuildStart + 100);
  EXPECT_EQ(linear.end_ns, kBuildStart + 500);
  EXPECT_EQ(linear.raw_end_ns, kBuildStart + 500);
  EXPECT_EQ(linear.self_ns, 250u);
  EXPECT_EQ(linear.thread, 7u);
  EXPECT_EQ(linear.sequence, 3);
  EXPECT_EQ(linear.forward_thread, 8u);
  EXPECT_EQ(linear.engine_id, 99u);
  EXPECT_EQ(linear.kind, EdgeKind::Backward);
  EXPECT_EQ(result->events[2].kind, EdgeKind::User);
  EXPECT_EQ(linear.first_child, 1u);
}

TEST(BuildTest, EventsAreGroupedByThread) {
  MadeLog log(1000);
  MadeThread &one = log.thread(7), &other = log.thread(9);
  other.begin("b", 10), other.end(20);
  one.begin("a", 50), one.begin("c", 60), one.end(70), one.end(80);
  const auto result = log.build();
  EXPECT_THAT(built_names(*result), ElementsAre("a", "c", "b"));
  ASSERT_EQ(result->threads.size(), 2u);
  EXPECT_EQ(result->threads[1].first_event, 2u);
  EXPECT_EQ(result->threads[1].event_count, 1u);
  EXPECT_EQ(result->first_device_event, 3u);
}

TEST(BuildTest, OperationOpenAtTheEndIsKeptAsUnfinished) {
  MadeLog log(1000);
  MadeThread& thread = log.thread(7);
  thread.begin("outer", 100);
  thread.begin("inner", 200);
  const auto result = log.build();
  for (const EdgeEvent& event : result->events) {
    EXPECT_FALSE(event.finished);
    EXPECT_EQ(event.end_ns, kBuildStart + 1000);
  }
  EXPECT_THAT(result->losses, IsEmpty());
}

TEST(BuildTest, OperationThatEndsBeforeItBeginsHasNoLengthAndIsReported) {
  MadeLog log(1000);
  MadeThread& thread = log.thread(7);
  thread.begin("odd", 100), thread.end(90);
  const auto result = log.build();
  EXPECT_EQ(result->events[0].duration_ns(), 0u);
  EXPECT_THAT(result->losses, ElementsAre("1 operation ended before it began"));
}

// ---- Backend events ------------------------------------------------------------------------------------------------

TEST(BuildTest, BackendEventsAreChildrenOfTheInnermostOperationAroundThem) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  thread.begin("forward", 1000);
  thread.begin("execute", 5000);
  thread.backend_event("conv", kBuildStartUs + 6, kBuildStartUs + 10, 30'000, "dsp", 12);
  thread.backend_event("relu", kBuildStartUs + 10, kBuildStartUs + 12, 30'000);
  thread.end(30'000);
  thread.begin("add", 40'000), thread.end(50'000);
  thread.end(60'000);
  const auto result = log.build();
  EXPECT_THAT(built_names(*result), ElementsAre("forward", "execute", "conv", "relu", "add"));
  EXPECT_THAT(built_parents(*result), ElementsAre(kBuildRoot, 0, 1, 1, 0));
  const EdgeEvent& conv = result->events[2];
  EXPECT_EQ(conv.kind, EdgeKind::Backend);
  EXPECT_EQ(conv.backend, "dsp");
  EXPECT_EQ(conv.start_ns, kBuildStart + 6000);
  EXPECT_EQ(conv.end_ns, kBuildStart + 10'000);
  EXPECT_EQ(conv.debug_handle, 12);
  EXPECT_EQ(result->events[1].self_ns, 25'000u - 6000);
}

TEST(BuildTest, BackendEventWithinAnotherOfTheSameBackendIsItsChild) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  thread.begin("execute", 1000);
  thread.backend_event("layer", kBuildStartUs + 10, kBuildStartUs + 20, 90'000);
  thread.backend_event("graph", kBuildStartUs + 10, kBuildStartUs + 40, 90'000);
  thread.backend_event("other", kBuildStartUs + 15, kBuildStartUs + 18, 90'000, "npu");
  thread.backend_event("overlapping", kBuildStartUs + 30, kBuildStartUs + 50, 90'000);
  thread.end(95'000);
  const auto result = log.build();
  EXPECT_THAT(built_names(*result), ElementsAre("execute", "graph", "layer", "other", "overlapping"));
  EXPECT_THAT(built_parents(*result), ElementsAre(kBuildRoot, 0, 1, 0, 0));
  EXPECT_EQ(result->events[0].self_ns, 94'000u - 40'000);  // time that several children cover counts once
}

TEST(BuildTest, BackendEventThatBeginsBeforeItsOperationComesDirectlyAfterIt) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  thread.begin("first", 1000), thread.end(9000);
  thread.begin("execute", 20'000);
  thread.backend_event("early", kBuildStartUs + 15, kBuildStartUs + 25, 30'000);
  thread.begin("inner", 22'000), thread.end(23'000);
  thread.end(40'000);
  const auto result = log.build();
  EXPECT_THAT(built_names(*result), ElementsAre("first", "execute", "early", "inner"));
  EXPECT_THAT(built_parents(*result), ElementsAre(kBuildRoot, kBuildRoot, 1, 1));
  EXPECT_EQ(result->events[2].start_ns, kBuildStart + 15'000);
}

TEST(BuildTest, BackendEventOutsideAllOperationsHasNoParent) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  thread.backend_event("before", kBuildStartUs + 1, kBuildStartUs + 2, 50'000);
  thread.begin("operation", 40'000), thread.end(60'000);
  thread.backend_event("after", kBuildStartUs + 90, kBuildStartUs + 95, 99'000);
  const auto result = log.build();
  EXPECT_THAT(built_names(*result), ElementsAre("before", "operation", "after"));
  EXPECT_THAT(built_parents(*result), ElementsAre(kBuildRoot, kBuildRoot, kBuildRoot));
}

TEST(BuildTest, ImpossibleTimesOfBackendsAreKeptWithoutLengthAndReported) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  thread.backend_event("reversed", kBuildStartUs + 5, kBuildStartUs + 2);
  thread.backend_event("negative", -5, kBuildStartUs);
  thread.backend_event("both", -5, -7);
  thread.backend_event("far", INT64_MAX, INT64_MAX);
  const auto result = log.build();
  ASSERT_EQ(result->events.size(), 4u);
  for (const EdgeEvent& event : result->events) EXPECT_GE(event.end_ns, event.start_ns);
  EXPECT_THAT(result->losses,
              ElementsAre("2 backend events began before 1970", "2 backend events ended before they began"));
}

// ---- Devices -------------------------------------------------------------------------------------------------------

TEST(BuildTest, DeviceOperationsComeAfterThreadsInTheOrderTheyRan) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  thread.begin("a", 1000);
  thread.device_operation("late", 50'000, 60'000, {4, 0});
  thread.begin("b", 2000);
  thread.device_operation("early", 30'000, 20'000, {4, 0});
  thread.end(3000);
  thread.end(4000);
  const auto result = log.build();
  EXPECT_THAT(built_names(*result), ElementsAre("a", "b", "early", "late"));
  EXPECT_EQ(result->first_device_event, 2u);
  EXPECT_EQ(result->events[2].caused_by, 1u);
  EXPECT_EQ(result->events[3].caused_by, 0u);
  EXPECT_EQ(result->events[3].kind, EdgeKind::Device);
  EXPECT_EQ(result->events[3].end_ns, kBuildStart + 60'000);
  EXPECT_EQ(result->events[3].queued_ns, kBuildStart + 50'000);
  EXPECT_EQ(result->events[2].duration_ns(), 0u);
  EXPECT_THAT(result->losses, ElementsAre("1 device operation ended before it began"));
}

TEST(BuildTest, DeviceOperationsThatAreReportedLaterBelongToWhatWasOpenWhenTheyWereQueued) {
  MadeLog log(1'000'000);
  MadeThread& thread = log.thread(7);
  thread.begin("forward", 10'000);
  thread.begin("conv", 20'000), thread.end(30'000);
  thread.begin("relu", 40'000), thread.end(50'000);
  thread.begin("wait", 60'000);
  thread.reported_operation("k_conv", 25'000, 26'000, 70'000, {4, 0});
  thread.reported_operation("k_relu", 45'000, 71'000, 72'000, {4, 0});
  thread.reported_operation("between", 35'000, 73'000, 74'000, {4, 0});
  thread.reported_operation("own", 59'700, 75'000, 76'000, {4, 0});  // the clocks differ a little
  thread.end(80'000);
  thread.end(90'000);
  thread.reported_operation("before", 5'000, 77'000, 78'000, {4, 0});
  thread.reported_operation("after", 95'000, 96'000, 97'000, {4, 0});
  const auto data = log.build();
  std::map<std::string_view, std::string_view> causes;
  for (const EdgeEvent& event : data->events)
    if (event.kind == EdgeKind::Device)
      causes[event.name] = event.caused_by == EdgeEvent::kNone ? "none" : data->events[event.caused_by].name;
  EXPECT_EQ(causes, (std::map<std::string_view, std::string_view>{{"k_conv", "conv"},
                                                                  {"k_relu", "relu"},
                                                                  {"between", "forward"},
                                                                  {"own", "wait"},
                                                                  {"before", "none"},
                                                                  {"after", "none"}}));
}

TEST(BuildTest, VulkanOperationsMoveIntoTheirCauseIfRequested) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  thread.begin("a", 1000);
  thread.memory(1500, 0x10, 64);
  thread.device_operation("kernel", 50'000, 60'000, {10, 0});
  thread.end(2000);
  thread.begin("b", 3000), thread.memory(3500, 0x20, 64), thread.end(4000);
  const auto result = log.build({.adjust_vulkan = true});
  EXPECT_THAT(built_names(*result), ElementsAre("a", "kernel", "b"));
  EXPECT_THAT(built_parents(*result), ElementsAre(kBuildRoot, 0, kBuildRoot));
  EXPECT_EQ(result->events[1].caused_by, 0u);
  EXPECT_EQ(result->allocations[1].event, 2u);
  EXPECT_TRUE(result->adjusted);
}

// ---- Information from the module ------------------------------------------------------------------------------------

class AskedModule : public Module {
 public:
  std::string module_hierarchy(int64_t handle, const std::string& name) const override {
    ++asked[{handle, name}];
    if (handle == 13) throw std::runtime_error("no such place");
    if (handle == 14) throw 5;
    return "top." + std::to_string(handle) + "." + name;
  }
  std::string call_stack(int64_t handle) const override {
    ++asked[{handle, "stack"}];
    return "file.py:" + std::to_string(handle);
  }
  mutable std::map<std::pair<int64_t, std::string>, int> asked;
};

TEST(BuildTest, ModuleIsAskedOnceForEachHandleAndName) {
  MadeLog log(100'000);
  for (const uint64_t number : {7, 8}) {
    MadeThread& thread = log.thread(number);
    for (int i = 0; i < 3; ++i) {
      thread.begin("add", 100, 1), thread.end(200);
      thread.begin("sub", 100, 1), thread.end(200);
      thread.begin("none", 100), thread.end(200);
    }
    thread.backend_event("conv", kBuildStartUs, kBuildStartUs + 1, 0, "dsp", 2);
  }
  const AskedModule module;
  const auto result = log.build({.stack = true, .modules = true}, module);
  EXPECT_EQ(module.asked.size(), 5u);
  for (const auto& [question, times] : module.asked) EXPECT_EQ(times, 1) << question.second;
  for (const EdgeEvent& event : result->events) {
    const bool known = event.debug_handle != -1;
    const std::string handle = std::to_string(event.debug_handle);
    EXPECT_EQ(event.module_hierarchy, known ? "top." + handle + "." + std::string(event.name) : "");
    EXPECT_EQ(event.call_stack, known ? "file.py:" + handle : "");
  }
}

TEST(BuildTest, ExceptionOfTheModuleIsALoss) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  thread.begin("add", 100, 13), thread.end(200);
  thread.begin("sub", 100, 13), thread.end(200);
  thread.begin("mul", 100, 14), thread.end(200);
  thread.begin("div", 100, 15), thread.end(200);
  const AskedModule module;
  const auto result = log.build({.modules = true}, module);
  EXPECT_EQ(result->events[0].module_hierarchy, "");
  EXPECT_EQ(result->events[3].module_hierarchy, "top.15.div");
  EXPECT_THAT(result->losses,
              ElementsAre("the module was asked 3 times for the place of an operation and threw: no such place"));
}

TEST(BuildTest, ModuleIsNotAskedIfNothingIsWanted) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  thread.begin("add", 100, 1), thread.end(200);
  const AskedModule module;
  log.build({}, module);
  EXPECT_THAT(module.asked, IsEmpty());
}

// ---- Invalid data ---------------------------------------------------------------------------------------------------

TEST(BuildTest, LossesAreReported) {
  MadeLog log(100'000);
  log.thread(7).log().not_kept = 3;
  log.thread(8).log().no_counters = "too many open files";
  log.contents.end.realtime_ns += 3'000'000'000;
  const auto result = log.build({.losses = {"from elsewhere"}});
  EXPECT_THAT(result->losses,
              ElementsAre("from elsewhere", HasSubstr("on thread 8: too many open files"),
                          HasSubstr("3 records were dropped"), HasSubstr("clock was set by +3.000000 s")));
}

TEST(BuildTest, InvalidIndicesAreHarmless) {
  MadeLog log(100'000);
  log.options.events = {{.name = "cycles"}};
  MadeThread& thread = log.thread(7);
  RawOperation& odd = thread.begin("odd", 10);
  odd.name = 1000;
  odd.parent = 500;
  thread.extras(odd).inputs_at = 5000, thread.extras(odd).inputs_size = 70;
  thread.extras(odd).stack = 3;
  thread.extras(odd).counts = 9;
  thread.log().memory.append()->operation = 800;
  thread.log().device_operations.append()->operation = 800;
  const auto result = log.build({.stack = true, .flops = true, .modules = true, .adjust_vulkan = true});
  EXPECT_EQ(result->events[0].name, "");
  EXPECT_EQ(result->events[0].parent, kBuildRoot);
  EXPECT_EQ(result->allocations[0].event, kBuildRoot);
}

}  // namespace
}  // namespace kymo::edge
