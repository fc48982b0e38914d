#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/test_log.h"

namespace kymo::edge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Inputs built_inputs(int64_t size) {
  Inputs inputs;
  const std::vector<int64_t> sizes = {size, size};
  inputs.tensor(Element::Float, sizes, sizes);
  inputs.tensor(Element::Float, sizes, sizes);
  return inputs;
}

TEST(BuildCostsTest, EqualInputsAreKeptOnce) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  const Inputs small = built_inputs(4), large = built_inputs(8);
  for (int i = 0; i < 100; ++i) thread.begin("add", 1, -1, i % 2 == 0 ? &small : &large), thread.end(2);
  const auto result = log.build();
  EXPECT_EQ(result->inputs.size(), small.bytes().size() * 2);
  const EdgeResult handle(result);
  EXPECT_THAT(handle.inputs(result->events[98]).at(1).sizes, ElementsAre(4, 4));
  EXPECT_THAT(handle.inputs(result->events[99]).at(1).sizes, ElementsAre(8, 8));
  EXPECT_EQ(result->events[99].inputs_at, result->events[1].inputs_at);
}

TEST(BuildCostsTest, ManyDifferentInputsAreAllFound) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  for (int64_t i = 0; i < 3000; ++i) {
    const Inputs inputs = built_inputs(i);
    thread.begin("add", 1, -1, &inputs), thread.end(2);
  }
  const EdgeResult result(log.build());
  for (int64_t i = 0; i < 3000; ++i)
    EXPECT_EQ(result.inputs(result.events()[static_cast<size_t>(i)]).at(0).sizes.at(0), i);
}

TEST(BuildCostsTest, FlopsAreCountedOnceAtTheOutermostKnownOperator) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  const Inputs inputs = built_inputs(4);
  thread.begin("step", 10, -1, &inputs);
  thread.begin("aten::matmul", 20, -1, &inputs);
  thread.begin("aten::view", 25, -1, &inputs), thread.end(26);
  thread.begin("aten::mm", 30, -1, &inputs);
  thread.begin("aten::add", 40, -1, &inputs), thread.end(41);
  thread.end(50);
  thread.end(60);
  thread.begin("aten::add", 70, -1, &inputs), thread.end(80);
  thread.end(90);
  const auto result = log.build({.flops = true});
  std::vector<uint64_t> flops;
  for (const EdgeEvent& event : result->events) flops.push_back(event.flops);
  EXPECT_THAT(flops, ElementsAre(0, 128, 0, 0, 0, 16));
  EXPECT_TRUE(result->flops_wanted);
}

TEST(BuildCostsTest, OperatorsWithoutAKnownNumberOfFlopsAreListed) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  const Inputs inputs = built_inputs(4);
  thread.begin("aten::layer", 10, -1, &inputs);  // it calls operators, which are counted or listed
  thread.begin("aten::sort", 20, -1, &inputs), thread.end(30);
  thread.begin("aten::view", 31, -1, &inputs), thread.end(32);
  thread.begin("aten::matmul", 40, -1, &inputs);
  thread.begin("quantized::mm", 41, -1, &inputs), thread.end(42);  // a part of matmul
  thread.end(50);
  thread.end(60);
  thread.begin("aten::sort", 70, -1, &inputs), thread.end(80);
  thread.begin("aten::mm", 90), thread.end(95);  // its inputs are not known
  const EdgeResult result(log.build({.flops = true}));
  ASSERT_EQ(result.without_flops().size(), 2u);
  EXPECT_EQ(result.without_flops()[0].name, "aten::sort");
  EXPECT_EQ(result.without_flops()[0].calls, 2u);
  EXPECT_EQ(result.without_flops()[1].name, "aten::mm");
  EXPECT_THAT(result.table(), HasSubstr("FLOPs not counted: aten::sort (2 calls), aten::mm (1 call)\n"));
}

TEST(BuildCostsTest, OperatorsAreNotListedIfFlopsWereNotRequested) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  thread.begin("aten::sort", 20), thread.end(30);
  EXPECT_EQ(EdgeResult(log.build()).without_flops().size(), 0u);
}

TEST(BuildCostsTest, InputsRecordedOnlyForFlopsAreNotShown) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  const Inputs inputs = built_inputs(4);
  thread.begin("aten::mm", 20, -1, &inputs), thread.end(30);
  const auto result = log.build({.flops = true, .inputs = false});
  EXPECT_EQ(result->events[0].flops, 128u);
  EXPECT_THAT(result->inputs, IsEmpty());
  EXPECT_FALSE(result->inputs_wanted);
  EXPECT_THAT(EdgeResult(result).inputs(result->events[0]), IsEmpty());
}

TEST(BuildCostsTest, MemoryBelongsToTheInnermostOperationAndItsAncestors) {
  MadeLog log(100'000);
  MadeThread& thread = log.thread(7);
  thread.memory(5, 0x1, 1000);
  thread.begin("outer", 10);
  thread.memory(20, 0x2, 100);
  thread.begin("inner", 30);
  thread.memory(40, 0x3, 30);
  thread.memory(50, 0x2, -100);
  thread.log().memory.append()->out_of_memory = true;
  thread.end(60);
  thread.end(70);
  const auto result = log.build();
  EXPECT_EQ(result->events[0].self_memory_bytes, 100);
  EXPECT_EQ(result->events[0].memory_bytes, 30);
  EXPECT_EQ(result->events[1].self_memory_bytes, -70);
  EXPECT_EQ(result->events[1].memory_bytes, -70);
}

TEST(BuildCostsTest, TotalsComeFromTheAllocatorOrAreCounted) {
  MadeLog log(100'000);
  MadeThread &one = log.thread(7), &other = log.thread(8);
  one.memory(10, 0x1, 100, 5100);
  one.memory(30, 0x1, -100, 5000);
  other.memory(20, 0x2, 40, 0, {1, 0});
  other.memory(40, 0x3, 50, 0, {1, 0});
  other.memory(25, 0x9, -7, 0, {1, 0});
  const auto result = log.build();
  std::vector<uint64_t> totals;
  for (const EdgeAllocation& allocation : result->allocations) totals.push_back(allocation.total_allocated);
  EXPECT_THAT(totals, ElementsAre(5100, 40, 40, 5000, 90));
  EXPECT_EQ(result->allocations[1].thread, 8u);
}

TEST(BuildCostsTest, CountsAreInclusiveAndExclusive) {
  MadeLog log(100'000);
  log.options.events = {{.name = "cycles"}, {.name = "instructions"}};
  MadeThread& thread = log.thread(7);
  thread.begin("outer", 10), thread.count({100, 1000}, {500, 3000});
  thread.begin("inner", 20), thread.count({200, 1500}, {300, 2000}), thread.end(30);
  thread.begin("uncounted", 35), thread.end(40);
  thread.end(50);
  thread.begin("unfinished", 60), thread.count({1, 1}, {2, 2});
  const auto result = log.build();
  EXPECT_THAT(result->event_names, ElementsAre("cycles", "instructions"));
  const auto outer = result->counts_of(result->events[0]), inner = result->counts_of(result->events[1]);
  ASSERT_EQ(outer.size(), 2u);
  EXPECT_EQ(outer[0].inclusive, 400);
  EXPECT_EQ(outer[0].exclusive, 300);
  EXPECT_EQ(outer[1].exclusive, 1500);
  EXPECT_EQ(inner[1].inclusive, 500);
  EXPECT_TRUE(outer[0].known);
  EXPECT_FALSE(outer[0].scaled);
  EXPECT_THAT(result->counts_of(result->events[2]), IsEmpty());
  EXPECT_THAT(result->counts_of(result->events[3]), IsEmpty());
}

TEST(BuildCostsTest, OverheadOfTheProfilerIsSubtractedFromTheCounts) {
  MadeLog log(1000);
  log.options.events = {{.name = "instructions"}};
  log.options.overhead.own[0] = 10;
  log.options.overhead.around[0] = 5;
  MadeThread& thread = log.thread(7);
  thread.begin("outer", 10), thread.count({0}, {1000});
  thread.begin("middle", 20), thread.count({100}, {400});
  thread.begin("inner", 30), thread.count({150}, {200}), thread.end(40);
  thread.end(50);
  thread.begin("empty", 60), thread.count({500}, {508}), thread.end(70);
  thread.end(80);
  const auto data = log.build();
  const auto count = [&](size_t event) { return data->counts[data->events[event].counts]; };
  EXPECT_EQ(count(0).inclusive, 1000 - 10 - 3 * 15);
  EXPECT_EQ(count(0).exclusive, 1000 - 300 - 8 - 10 - 2 * 5);
  EXPECT_EQ(count(1).inclusive, 300 - 10 - 15);
  EXPECT_EQ(count(1).exclusive, 300 - 50 - 10 - 5);
  EXPECT_EQ(count(2).inclusive, 50 - 10);
  EXPECT_EQ(count(3).inclusive, 0) << "never below 0";
  EXPECT_EQ(count(3).exclusive, 0);
}

TEST(BuildCostsTest, CountsAroundPartlyCountedChildrenAreEstimates) {
  MadeLog log(100'000);
  log.options.events = {{.name = "cycles"}};
  MadeThread& thread = log.thread(7);
  thread.begin("outer", 10), thread.count({0}, {500});
  thread.begin("half", 20), thread.count({0}, {100}, 50), thread.end(30);
  thread.begin("not at all", 35), thread.count({0}, {0}, 0), thread.end(40);
  thread.end(50);
  const auto result = log.build();
  EXPECT_TRUE(result->counts_of(result->events[0])[0].scaled);
  EXPECT_EQ(result->counts_of(result->events[0])[0].exclusive, 300);
  EXPECT_TRUE(result->counts_of(result->events[1])[0].scaled);
  EXPECT_FALSE(result->counts_of(result->events[2])[0].known);
}

}  // namespace
}  // namespace kymo::edge
