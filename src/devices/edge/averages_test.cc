#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/result.h"
#include "edge/test_log.h"
#include "kymo/edge_result.h"

namespace kymo::edge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Inputs square_input(int64_t size) {
  Inputs inputs;
  const std::vector<int64_t> sizes = {size, size};
  inputs.tensor(Element::Float, sizes, {});
  inputs.integer(1);
  return inputs;
}

class NamedPlaces : public Module {
  std::string module_hierarchy(int64_t handle, const std::string& name) const override {
    return "top(C)::forward.layer" + std::to_string(handle) + "." + name;
  }
};

// add twice on 4×4 in layer 1, once on 8×8 in layer 1, once on 8×8 in layer 2; mul once.
EdgeResult four_additions() {
  MadeLog log(10'000);
  MadeThread& thread = log.thread(7);
  const Inputs small = square_input(4), large = square_input(8);
  thread.begin("add", 100, 1, &small), thread.end(110);
  thread.begin("add", 200, 1, &small), thread.end(220);
  thread.begin("add", 300, 1, &large), thread.end(340);
  thread.begin("add", 400, 2, &large), thread.end(480);
  thread.begin("mul", 500, 1, &large), thread.end(700);
  return EdgeResult(log.build({.modules = true}, NamedPlaces{}));
}

TEST(AveragesTest, EmptyResultHasNoAverages) {
  EXPECT_THAT(EdgeResult().key_averages(), IsEmpty());
  EXPECT_THAT(EdgeResult(MadeLog(10).build()).key_averages(), IsEmpty());
}

TEST(AveragesTest, ByName) {
  const EdgeResult result = four_additions();
  const std::vector<EdgeAverage> averages = result.key_averages();
  ASSERT_THAT(averages, SizeIs(2));
  EXPECT_EQ(averages[0].name, "mul");
  EXPECT_EQ(averages[1].name, "add");
  EXPECT_EQ(averages[1].calls, 4u);
  EXPECT_EQ(averages[1].total_ns, 150u);
  EXPECT_EQ(averages[1].self_ns, 150u);
  EXPECT_EQ(averages[1].shapes, "");
  EXPECT_EQ(averages[1].module_hierarchy, "");
}

TEST(AveragesTest, ByShape) {
  const EdgeResult result = four_additions();
  const std::vector<EdgeAverage> averages = result.key_averages(EdgeGroup::Shape);
  ASSERT_THAT(averages, SizeIs(3));
  EXPECT_EQ(averages[1].shapes, "[[8, 8], []]");
  EXPECT_EQ(averages[1].self_ns, 120u);
  EXPECT_EQ(averages[2].shapes, "[[4, 4], []]");
  EXPECT_EQ(averages[2].calls, 2u);
}

TEST(AveragesTest, ByModule) {
  const EdgeResult result = four_additions();
  const std::vector<EdgeAverage> averages = result.key_averages(EdgeGroup::Module);
  ASSERT_THAT(averages, SizeIs(3));
  EXPECT_EQ(averages[1].module_hierarchy, "top(C)::forward.layer2.add");
  EXPECT_EQ(averages[2].module_hierarchy, "top(C)::forward.layer1.add");
  EXPECT_EQ(averages[2].calls, 3u);
}

TEST(AveragesTest, ByShapeAndModule) {
  const std::vector<EdgeAverage> averages = four_additions().key_averages(EdgeGroup::ShapeAndModule);
  std::vector<uint64_t> times;
  for (const EdgeAverage& average : averages) times.push_back(average.self_ns);
  EXPECT_THAT(times, ElementsAre(200, 80, 40, 30));
}

TEST(AveragesTest, RecursionCountsOnceInTotals) {
  MadeLog log(10'000);
  log.options.events = {{.name = "cycles"}};
  MadeThread& thread = log.thread(7);
  thread.begin("call", 0), thread.count({0}, {1000}), thread.memory(5, 1, 10);
  thread.begin("other", 100), thread.count({0}, {700});
  thread.begin("call", 200), thread.count({0}, {400}), thread.memory(250, 2, 20);
  thread.begin("call", 300), thread.count({0}, {100}), thread.end(350);
  thread.end(500);
  thread.end(600);
  thread.end(1000);
  const EdgeResult result(log.build());
  const std::vector<EdgeAverage> averages = result.key_averages();
  ASSERT_THAT(averages, SizeIs(2));
  const EdgeAverage& call = averages[0];
  EXPECT_EQ(call.calls, 3u);
  EXPECT_EQ(call.total_ns, 1000u);
  EXPECT_EQ(call.self_ns, 500u + 250 + 50);
  EXPECT_EQ(call.memory_bytes, 30);
  EXPECT_EQ(call.self_memory_bytes, 30);
  EXPECT_EQ(call.counts.at(0).inclusive, 1000);
  EXPECT_EQ(call.counts.at(0).exclusive, 300 + 300 + 100);
  EXPECT_EQ(averages[1].memory_bytes, 20);
}

TEST(AveragesTest, KindsAndBackendsAreNotCombined) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  thread.begin("add", 0), thread.end(100);
  thread.begin("add", 200).scope = Scope::User, thread.end(300);
  thread.backend_event("add", MadeLog::kOriginUs + 10, MadeLog::kOriginUs + 11);
  thread.backend_event("add", MadeLog::kOriginUs + 20, MadeLog::kOriginUs + 21, 0, "npu");
  thread.device_operation("add", 5000, 6000, {4, 0});
  EXPECT_THAT(EdgeResult(log.build()).key_averages(), SizeIs(5));
}

TEST(AveragesTest, DeepNestingIsSupported) {
  MadeLog log(1'000'000);
  MadeThread& thread = log.thread(7);
  constexpr uint64_t kLevels = 50'000;
  for (uint64_t level = 0; level < kLevels; ++level) thread.begin("call", level);
  for (uint64_t level = 0; level < kLevels; ++level) thread.end(kLevels + level);
  const std::vector<EdgeAverage> averages = EdgeResult(log.build()).key_averages();
  ASSERT_THAT(averages, SizeIs(1));
  EXPECT_EQ(averages[0].calls, kLevels);
  EXPECT_EQ(averages[0].total_ns, 2 * kLevels - 1);
}

TEST(ResultTest, MemoryByDevice) {
  MadeLog log(10'000);
  MadeThread& thread = log.thread(7);
  thread.memory(10, 0xa, 100);
  thread.memory(20, 0xb, 50, 0, {1, 0});
  thread.begin("op", 25);
  thread.memory(30, 0xc, 300);
  thread.memory(40, 0xa, -100);
  thread.end(45);
  thread.memory(50, 0xd, -8);
  RawMemory& refused = *thread.log().memory.append();
  refused.ticks = 60, refused.bytes = 1 << 30, refused.out_of_memory = true;
  const EdgeResult result(log.build());
  ASSERT_THAT(result.allocations(), SizeIs(6));
  EXPECT_TRUE(result.allocations()[5].out_of_memory);
  const std::vector<EdgeMemory> memory = result.memory();
  ASSERT_THAT(memory, SizeIs(2));
  EXPECT_EQ(memory[0].device, (DeviceId{0, -1}));
  EXPECT_EQ(memory[0].peak_bytes, 400u);
  EXPECT_EQ(memory[0].peak_time_ns, MadeLog::kOrigin + 30);
  EXPECT_THAT(memory[0].alive_at_peak, ElementsAre(2, 0));
  EXPECT_THAT(memory[0].never_freed, ElementsAre(2));
  EXPECT_EQ(memory[0].unknown_frees, 1u);
  ASSERT_THAT(memory[0].timeline, SizeIs(4));
  EXPECT_EQ(memory[0].timeline[2].bytes, 300u);
  EXPECT_EQ(memory[1].device, (DeviceId{1, 0}));
  EXPECT_EQ(memory[1].peak_bytes, 50u);
}

TEST(ResultTest, AllQueriesOnEmptyResultAreEmpty) {
  const EdgeResult result;
  const EdgeEvent event;
  EXPECT_THAT(result.events(), IsEmpty());
  EXPECT_THAT(result.inputs(event), IsEmpty());
  EXPECT_THAT(result.stack(event), IsEmpty());
  EXPECT_THAT(result.counts(event), IsEmpty());
  EXPECT_THAT(result.event_names(), IsEmpty());
  EXPECT_THAT(result.allocations(), IsEmpty());
  EXPECT_THAT(result.memory(), IsEmpty());
  EXPECT_THAT(result.losses(), IsEmpty());
  EXPECT_EQ(result.start_ns(), 0u);
  EXPECT_EQ(result.data(), nullptr);
}

}  // namespace
}  // namespace kymo::edge
