// libtorch as a client of kymo::ondemand, with traces that are requested in code.
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <map>
#include <set>
#include <thread>

#include "kymo/annotate.h"
#include "test_recorded.h"

namespace kymo::libtorch::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::PointKind;

void training_step(torch::nn::Linear& module) {
  RECORD_USER_SCOPE("training step");
  torch::relu(module->forward(torch::rand({2, 8}))).sum().backward();
}

TEST(TorchOnDemandTest, NothingIsInstalledWhileNoTraceRuns) {
  const c10::Allocator* const allocator = c10::GetCPUAllocator();
  EXPECT_FALSE(at::hasCallbacks());
  {
    Recorded trace({.memory = true});
    EXPECT_TRUE(at::hasGlobalCallbacks());
    EXPECT_NE(c10::GetCPUAllocator(), allocator);
  }
  EXPECT_FALSE(at::hasCallbacks());
  EXPECT_EQ(c10::GetCPUAllocator(), allocator);
}

TEST(TorchOnDemandTest, OperatorsScopesAndBackwardFunctionsOfAllThreadsAreRecordedOnce) {
  torch::nn::Linear one(8, 4), two(8, 4), three(8, 4);
  std::latch started(1), go(1);
  std::thread before([&] {  // starts before the trace
    training_step(one);
    started.count_down();
    go.wait();
    training_step(one);
  });
  started.wait();
  Recorded trace;
  go.count_down();
  std::thread during([&] { training_step(two); });
  before.join();
  during.join();
  {
    const Range own("the program's own");
    training_step(three);
  }
  for (const char* const name :
       {"training step", "aten::rand", "aten::addmm", "aten::relu", "AddmmBackward0", "ReluBackward0"}) {
    std::set<uint64_t> threads;
    for (const e2e::Event* event : trace.read().ranges_named(name)) threads.insert(event->track);
    EXPECT_EQ(threads.size(), 3u) << name;
    EXPECT_EQ(trace.read().count(name), 3u) << name;
  }
  EXPECT_EQ(trace.read().detail_of(*trace.read().ranges_named("training step")[0]).category, "user_annotation");
  EXPECT_EQ(trace.read().detail_of(*trace.read().ranges_named("aten::relu")[0]).category, "cpu_op");
  const e2e::Event& own = trace.only("the program's own");
  for (const e2e::Event* step : trace.read().ranges_named("training step"))
    EXPECT_EQ(step->depth, step->track == own.track ? own.depth + 1 : 0);
}

TEST(TorchOnDemandTest, DataThatIsNotRequestedIsNotRecorded) {
  Recorded trace;
  torch::mm(torch::rand({2, 3}), torch::rand({3, 4}));
  const e2e::Event& product = trace.only("aten::mm");
  for (const char* const field : {"Input Dims", "Input type", "Flops", "Module Hierarchy", "Call stack", "C++ stack"})
    EXPECT_FALSE(trace.text(product, field)) << field;
  EXPECT_THAT(trace.points(PointKind::Allocation), IsEmpty());
}

TEST(TorchOnDemandTest, InputsHaveTheirShapes) {
  Recorded trace({.shapes = true});
  for (int i = 0; i < 3; ++i) torch::mm(torch::rand({2, 3}), torch::rand({3, 4}));
  torch::cat({torch::rand({1, 2}), torch::rand({5, 2})});
  ASSERT_EQ(trace.read().count("aten::mm"), 3u);
  for (const e2e::Event* product : trace.read().ranges_named("aten::mm")) {
    EXPECT_EQ(trace.text(*product, "Input Dims"), "[[2, 3], [3, 4]]");
    EXPECT_EQ(trace.text(*product, "Input type"), "[\"float\", \"float\"]");
    EXPECT_FALSE(trace.number(*product, "Flops"));
  }
  EXPECT_EQ(trace.text(trace.only("aten::cat"), "Input Dims"), "[[[1, 2], [5, 2]], []]");
}

TEST(TorchOnDemandTest, FlopsAreCountedOnceAtTheOutermostOperator) {
  const torch::NoGradGuard no_gradients;
  const torch::Tensor x = torch::rand({2, 8}), weight = torch::rand({4, 8}), bias = torch::rand({4});
  Recorded trace({.flops = true});
  torch::linear(x, weight, bias);
  torch::mm(x, weight.t());
  torch::relu(x);
  EXPECT_EQ(trace.number(trace.only("aten::linear"), "Flops"), 2u * 2 * 4 * 8);
  EXPECT_FALSE(trace.number(trace.only("aten::addmm"), "Flops"));
  EXPECT_EQ(trace.number(trace.only("aten::mm"), "Flops"), 2u * 2 * 4 * 8);
  EXPECT_EQ(trace.number(trace.only("aten::relu"), "Flops"), 2u * 8);
  EXPECT_FALSE(trace.text(trace.only("aten::relu"), "Input Dims"));
}

TEST(TorchOnDemandTest, BackwardFunctionsAreLinkedToTheirOperators) {
  torch::nn::Linear module(8, 4);
  Recorded trace;
  training_step(module);
  std::thread([&] { training_step(module); }).join();
  const std::map<std::string, std::string> made = {{"aten::t", "TBackward0"},
                                                   {"aten::addmm", "AddmmBackward0"},
                                                   {"aten::relu", "ReluBackward0"},
                                                   {"aten::sum", "SumBackward0"}};
  std::map<uint64_t, const e2e::Event*> begins;
  for (const e2e::Event* begin : trace.points(PointKind::FlowBegin)) begins[begin->id] = begin;
  EXPECT_EQ(begins.size(), 8u);
  EXPECT_EQ(trace.points(PointKind::FlowEnd).size(), 8u);
  for (const e2e::Event* end : trace.points(PointKind::FlowEnd)) {
    ASSERT_TRUE(begins.contains(end->id)) << trace.name_around(*end);
    EXPECT_EQ(begins[end->id]->track, end->track);
    EXPECT_EQ(made.at(trace.name_around(*begins[end->id])), trace.name_around(*end));
  }
  for (const e2e::Event* backward : trace.read().ranges_named("ReluBackward0")) {
    EXPECT_TRUE(trace.number(*backward, "Sequence number"));
    EXPECT_EQ(trace.number(*backward, "Fwd thread id"), trace.thread_of(*backward));
  }
}

TEST(TorchOnDemandTest, BackwardOnAnotherThreadNamesTheThreadOfItsOperator) {
  torch::nn::Linear module(8, 4);
  Recorded trace;
  const torch::Tensor sum = torch::relu(module->forward(torch::rand({2, 8}))).sum();
  std::thread([&] { sum.backward(); }).join();
  const e2e::Event &forward = trace.only("aten::relu"), &backward = trace.only("ReluBackward0");
  EXPECT_NE(forward.track, backward.track);
  EXPECT_EQ(trace.number(backward, "Fwd thread id"), trace.thread_of(forward));
}

TEST(TorchOnDemandTest, MemoryOfAllThreadsAddsUp) {
  torch::Tensor from_before = torch::empty({64});
  Recorded trace({.memory = true});
  torch::Tensor moved = torch::empty({256, 4});                                       // 4 KiB
  std::thread([&] { moved.reset(), torch::empty({1024, 4}); }).join();                // 16 KiB
  const torch::Tensor kept = torch::empty({512, 4}), nothing = torch::empty({0, 4});  // 8 KiB
  from_before.reset();
  std::map<uint64_t, uint64_t> alive;
  uint64_t taken = 0;
  ASSERT_EQ(trace.points(PointKind::Allocation).size(), 3u);
  for (const e2e::Event* allocation : trace.points(PointKind::Allocation)) {
    alive[allocation->id] += *trace.number(*allocation, "bytes");
    taken += *trace.number(*allocation, "bytes");
    EXPECT_EQ(trace.text(*allocation, "device"), "cpu");
    EXPECT_EQ(trace.name_around(*allocation), "aten::empty");
  }
  EXPECT_EQ(taken, 4096u + 16384u + 8192u);
  EXPECT_EQ(trace.points(PointKind::Free).size(), 2u);
  EXPECT_TRUE(alive.contains(reinterpret_cast<uintptr_t>(kept.storage().data())));
}

TEST(TorchOnDemandTest, KindOfMemoryFollowsFromItsOperation) {
  torch::nn::Linear module(8, 4);
  Recorded trace({.memory = true});
  torch::relu(module->forward(torch::rand({2, 8}))).sum().backward();
  std::map<std::string, std::set<std::string>> kinds;
  for (const e2e::Event* allocation : trace.points(PointKind::Allocation))
    kinds[trace.text(*allocation, "category").value_or("")].insert(trace.name_around(*allocation));
  EXPECT_TRUE(kinds["activation"].contains("aten::addmm"));
  EXPECT_TRUE(kinds["autograd_detail"].contains("aten::threshold_backward") ||
              kinds["autograd_detail"].contains("aten::mm"));
}

TEST(TorchOnDemandTest, MemoryThatOutlivesTheTraceIsFreed) {
  torch::Tensor tensor;
  {
    Recorded trace({.memory = true});
    tensor = torch::ones({16});
  }
  tensor.resize_({1 << 16}).fill_(2);  // uses the allocator of the original memory
  EXPECT_EQ(tensor.sum().item<float>(), 2.0f * (1 << 16));
  Recorded trace({.memory = true});
  tensor.reset();
  EXPECT_THAT(trace.points(PointKind::Allocation), IsEmpty());
}

TEST(TorchOnDemandTest, ModulesAndStacksOfTorchScriptAreNamed) {
  torch::jit::Module module = edge::testing::nested_module();
  const std::vector<c10::IValue> inputs = edge::testing::two_squares();
  Recorded trace({.stack = true, .modules = true});
  module.forward(inputs);
  const e2e::Event& difference = trace.only("aten::sub");
  EXPECT_THAT(trace.text(difference, "Module Hierarchy").value_or(""), HasSubstr("A0(A)::forward.aten::sub"));
  EXPECT_THAT(trace.text(difference, "Call stack").value_or(""), HasSubstr("forward"));
}

[[gnu::noinline]] torch::Tensor named_function_of_the_test(const torch::Tensor& x) { return torch::relu(x) + 1; }

TEST(TorchOnDemandTest, CppStackIsNamed) {
  Recorded trace({.stack = true});
  named_function_of_the_test(torch::rand({2}));
  const std::string stack = trace.text(trace.only("aten::relu"), "C++ stack").value_or("");
  EXPECT_THAT(stack, HasSubstr("at::_ops::relu::call"));
  EXPECT_THAT(stack, HasSubstr("named_function_of_the_test"));
  EXPECT_EQ(stack.find("kymo::libtorch::call_begins"), stack.npos);
}

}  // namespace
}  // namespace kymo::libtorch::testing
