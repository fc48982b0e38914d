// libtorch as a client of kymo::ondemand, together with other profilers, threads that start and end, and forks.
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <torch/csrc/autograd/profiler_legacy.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <thread>

#include "kymo/sink_calls.h"
#include "test_recorded.h"

namespace kymo::libtorch::testing {
namespace {

namespace legacy = torch::autograd::profiler;

void products(int times) {
  const torch::Tensor x = torch::rand({3, 3});
  for (int i = 0; i < times; ++i) torch::mm(x, x);
}

TEST(TorchBesideTest, EdgeProfilerAndTraceBothRecordEachOperatorOnce) {
  torch::nn::Linear module(4, 2);
  Recorded trace({.shapes = true, .memory = true});
  EdgeProfiler profiler(module, {.report_input_shapes = true, .profile_memory = true});
  products(5);
  const EdgeResult result = profiler.disable_profiler();
  products(2);
  EXPECT_EQ(edge::testing::named(result, "aten::mm").size(), 5u);
  EXPECT_FALSE(result.allocations().empty());
  EXPECT_EQ(trace.read().count("aten::mm"), 7u);
}

TEST(TorchBesideTest, ProfilerOfLibtorchAndTraceBothRecord) {
  legacy::enableProfilerLegacy(legacy::ProfilerConfig(legacy::ProfilerState::CPU, true, true));
  Recorded trace({.shapes = true, .memory = true});
  products(3);
  size_t calls = 0;
  for (const std::vector<legacy::LegacyEvent>& thread : legacy::disableProfilerLegacy())
    for (const legacy::LegacyEvent& event : thread)
      calls += event.kindStr() == "push" && std::string(event.name()) == "aten::mm" ? 1 : 0;
  EXPECT_EQ(calls, 3u);
  EXPECT_EQ(trace.read().count("aten::mm"), 3u);
}

TEST(TorchBesideTest, WorkOfThePoolIsRecordedOnItsThread) {
  Recorded trace;
  std::promise<void> done;
  at::launch([&] {
    products(2);
    done.set_value();
  });
  done.get_future().wait();
  at::parallel_for(0, 4, 1, [](int64_t begin, int64_t end) { products(static_cast<int>(end - begin)); });
  EXPECT_EQ(trace.read().count("aten::mm"), 6u);
}

TEST(TorchBesideTest, ForkedFunctionsOfTorchScriptAreRecorded) {
  torch::jit::Module module = edge::testing::module_of(R"(
def work(self, x):
    return torch.mm(x, x)
def forward(self, x):
    return self.work(x)
)");
  Recorded trace({.shapes = true, .modules = true});
  module.get_method("forward").run_async({torch::rand({8, 8})})->wait();
  EXPECT_THAT(trace.text(trace.only("aten::mm"), "Module Hierarchy").value_or(""),
              ::testing::HasSubstr("work.aten::mm"));
}

TEST(TorchBesideTest, ScopeThatEndsOnAnotherThreadEndsInTheTrace) {
  Recorded trace;
  auto scope = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
  scope->before("from here to there");
  products(1);
  std::thread([&] { scope.reset(); }).join();
  products(2);
  EXPECT_EQ(trace.read().count("from here to there"), 1u);
  EXPECT_EQ(trace.read().count("aten::mm"), 3u);
  const uint64_t end = trace.only("from here to there").end;
  size_t inside = 0;
  for (const e2e::Event* product : trace.read().ranges_named("aten::mm")) inside += product->end <= end ? 1 : 0;
  EXPECT_EQ(inside, 1u);
}

TEST(TorchBesideTest, ScopesThatEndInAnyOrderAreAllRecorded) {
  Recorded trace;
  auto outer = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
  outer->before("outer");
  auto inner = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
  inner->before("inner");
  outer.reset();
  products(1);
  inner.reset();
  EXPECT_EQ(trace.read().count("outer"), 1u);
  EXPECT_EQ(trace.read().count("inner"), 1u);
  EXPECT_EQ(trace.read().count("aten::mm"), 1u);
}

struct WorksAtTheEnd {
  ~WorksAtTheEnd() { torch::relu(torch::ones({4})); }
};

TEST(TorchBesideTest, WorkAtTheEndOfAThreadIsHarmless) {
  Recorded trace({.shapes = true, .memory = true, .stack = true});
  std::thread([] {
    static thread_local WorksAtTheEnd at_the_end;  // created before all objects of Kymo, destroyed after them
    static_cast<void>(&at_the_end);
    products(2);
  }).join();
  EXPECT_EQ(trace.read().count("aten::mm"), 2u);
}

// Threads start and end, and run operations, while traces begin and end.
TEST(TorchBesideTest, TracesBeginAndEndWhileThreadsWork) {
  std::atomic<bool> over{false};
  std::vector<std::thread> workers;
  for (int i = 0; i < 2; ++i)
    workers.emplace_back([&] {
      while (!over) {
        RECORD_USER_SCOPE("round");
        std::thread([] { products(3); }).join();
        products(3);
      }
    });
  for (int round = 0; round < 10; ++round) {
    Recorded trace({.shapes = true, .memory = true, .flops = true, .modules = true});
    torch::nn::Linear module(8, 4);
    torch::relu(module->forward(torch::rand({2, 8}))).sum().backward();
    EXPECT_GE(trace.read().count("aten::relu"), 1u);
    EXPECT_TRUE(e2e::sound(trace.read())) << trace.read().summary();
  }
  over = true;
  for (std::thread& worker : workers) worker.join();
  EXPECT_FALSE(at::hasCallbacks());
}

TEST(TorchBesideTest, ForkedChildRecordsNothingAndTheTraceContinues) {
  const c10::Allocator* const allocator = c10::GetCPUAllocator();
  torch::set_num_threads(1);
  Recorded trace({.memory = true});
  products(1);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    products(2);
    _exit(at::hasCallbacks() || c10::GetCPUAllocator() != allocator ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  products(2);
  EXPECT_EQ(trace.read().count("aten::mm"), 3u);
}

std::atomic<int> steps_received{0};
void hear_step(const char*, const kymo_label* label) {
  if (std::string_view(label->name, label->name_length) == "step") ++steps_received;
}
const kymo_sink kStepSink = [] {
  kymo_sink sink{};
  sink.name = "torch test";
  sink.range_push = hear_step;
  return sink;
}();

// A trace of iterations waits for one to begin before it records.
TEST(TorchBesideTest, PreparedTraceReceivesScopesButNoOperators) {
  ASSERT_NE(kymo_add_sink(&kStepSink), 0);
  ondemand::prepare(false, false, false, false, false);
  for (int i = 0; i < 3; ++i) {
    RECORD_USER_SCOPE("step");
    EXPECT_FALSE(at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION));
  }
  EXPECT_EQ(steps_received, 3);
  kymo_remove_sink(&kStepSink);
  { RECORD_USER_SCOPE("step"); }
  EXPECT_EQ(steps_received, 3);
  // The trace never starts and there is no listener: the callback is removed from libtorch.
  std::this_thread::sleep_for(std::chrono::milliseconds(1'100));
  { RECORD_USER_SCOPE("step"); }
  EXPECT_FALSE(at::hasCallbacks());
}

TEST(TorchBesideTest, MemoryProfileHasStacksAndKinds) {
  const edge::testing::TemporaryFile file("memory.kymo");
  torch::nn::Linear module(8, 4);
  ondemand::start_memory_profile();
  const torch::Tensor kept = torch::relu(module->forward(torch::rand({2, 8})));
  ondemand::stop_memory_profile();
  ondemand::export_memory_profile(file.path());
  const e2e::Readback trace = e2e::read_back(file.path(), e2e::Detail::Arguments);
  EXPECT_TRUE(e2e::sound_and_complete(trace)) << trace.summary();
  EXPECT_GT(trace.points_count("stack node"), 10u);
  EXPECT_GT(trace.points_count("module"), 1u);
  ASSERT_GT(trace.points_count("allocate"), 1u);
  for (const e2e::Event* allocation : trace.points_named("allocate")) {
    bool has_stack = false;
    for (const e2e::Argument& argument : trace.detail_of(*allocation).arguments)
      has_stack = has_stack || (argument.name == "node" && argument.bits > 16);
    EXPECT_TRUE(has_stack);
  }
  EXPECT_FALSE(at::hasCallbacks());
}

}  // namespace
}  // namespace kymo::libtorch::testing
