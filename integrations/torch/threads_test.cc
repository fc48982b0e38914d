// Work that libtorch moves to other threads, profilers of several threads, and the end of a profiler while work
// continues.
#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <map>
#include <thread>

#include "edge/test_chrome_reader.h"
#include "kymo/error.h"
#include "test_modules.h"

namespace kymo::edge::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// On a thread of libtorch's pool.
void launch_and_wait(const std::function<void()>& work) {
  std::promise<void> done;
  at::launch([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

TEST(TorchThreadsTest, WorkOfThePoolBelongsToTheProfilerThatSentIt) {
  torch::nn::Linear module(4, 2);
  EdgeProfiler profiler(module, {.report_input_shapes = true, .profile_memory = true});
  EdgeProfiler* inside = nullptr;
  launch_and_wait([&] {
    EXPECT_EQ(get_current_edge_profiler(), nullptr);  // no operation is open
    RECORD_FUNCTION("outer", std::vector<c10::IValue>());
    inside = get_current_edge_profiler();
    torch::mm(torch::rand({2, 3}), torch::rand({3, 2}));
  });
  torch::relu(torch::ones({2}));
  const EdgeResult result = profiler.disable_profiler();
  EXPECT_EQ(inside, &profiler);
  ASSERT_EQ(named(result, "aten::mm").size(), 1u);
  ASSERT_EQ(named(result, "aten::relu").size(), 1u);
  EXPECT_NE(named(result, "aten::mm")[0].thread, named(result, "aten::relu")[0].thread);
  EXPECT_EQ(result.events()[named(result, "aten::mm")[0].parent].name, "outer");
  EXPECT_EQ(result.inputs(named(result, "aten::mm")[0]).size(), 2u);
  size_t allocations = 0;
  for (const EdgeAllocation& allocation : result.allocations())
    allocations += allocation.thread == named(result, "aten::mm")[0].thread;
  EXPECT_EQ(allocations, 6u);  // three tensors, allocated and freed
  EXPECT_EQ(get_current_edge_profiler(), nullptr);
  launch_and_wait([] { EXPECT_EQ(get_current_edge_profiler(), nullptr); });
}

TEST(TorchThreadsTest, ForkedFunctionsOfTheModuleAreRecorded) {
  torch::jit::Module module = module_of(R"(
def work(self, x):
    return torch.mm(x, x)
def forward(self, x):
    return self.work(x)
)");
  EdgeProfiler profiler(module, {.with_modules = true});
  const c10::IValue x = torch::rand({8, 8});
  const auto future = module.get_method("forward").run_async({x});
  future->wait();
  const EdgeResult result = profiler.disable_profiler();
  ASSERT_EQ(named(result, "aten::mm").size(), 1u);
  EXPECT_THAT(std::string(named(result, "aten::mm")[0].module_hierarchy), HasSubstr("work.aten::mm"));
}

TEST(TorchThreadsTest, BackwardFunctionsNameTheirForwardOperators) {
  torch::nn::Linear module(4, 2);
  const TemporaryFile file("backward.json");
  EdgeProfiler profiler(module, {.trace_file = file.path()});
  torch::relu(module->forward(torch::rand({3, 4}))).sum().backward();
  const EdgeResult result = profiler.disable_profiler();
  std::map<int64_t, EdgeEvent> forward;
  for (const EdgeEvent& event : result.events())
    if (event.kind == EdgeKind::Operator && event.sequence >= 0) forward[event.sequence] = event;
  const uint64_t forward_thread = named(result, "aten::relu").at(0).thread;
  int64_t relu_sequence = -1;
  for (const EdgeEvent& event : result.events()) {
    if (event.kind != EdgeKind::Backward || event.sequence < 0) continue;
    EXPECT_TRUE(forward.contains(event.sequence)) << event.name;
    EXPECT_EQ(event.forward_thread, forward_thread) << event.name;
    if (event.name == "ReluBackward0") relu_sequence = event.sequence;
  }
  EXPECT_EQ(named(result, "aten::relu").at(0).sequence, relu_sequence);
  profiler.close();
  EXPECT_THAT(file_text(file.path()), HasSubstr("fwdbwd"));
  EXPECT_EQ(chrome_faults(file.path()), "");
}

TEST(TorchThreadsTest, BackwardOnAnotherThreadNamesTheThreadOfTheForwardPass) {
  torch::nn::Linear module(4, 2);
  const torch::Tensor sum = [&] {
    EdgeProfiler profiler(module, {});
    return module->forward(torch::rand({3, 4})).sum();
  }();
  const auto forward_thread = static_cast<uint64_t>(gettid());
  std::thread([&] {
    EdgeProfiler profiler(module, {});
    sum.backward();
    const EdgeResult result = profiler.disable_profiler();
    const std::vector<EdgeEvent> sums = named(result, "SumBackward0");
    ASSERT_EQ(sums.size(), 1u);
    EXPECT_EQ(sums[0].forward_thread, forward_thread);
    EXPECT_NE(sums[0].thread, forward_thread);
  }).join();
}

TEST(TorchThreadsTest, EachThreadHasItsOwnProfiler) {
  std::latch both(2);
  const auto run = [&](int64_t size, int times) {
    torch::nn::Linear module(4, 2);
    EdgeProfiler profiler(module, {.report_input_shapes = true});
    both.arrive_and_wait();
    const torch::Tensor x = torch::rand({size, size});
    for (int i = 0; i < times; ++i) torch::mm(x, x);
    const EdgeResult result = profiler.disable_profiler();
    const std::vector<EdgeEvent> products = named(result, "aten::mm");
    EXPECT_EQ(products.size(), static_cast<size_t>(times));
    for (const EdgeEvent& event : products) {
      EXPECT_EQ(event.thread, static_cast<uint64_t>(gettid()));
      EXPECT_THAT(result.inputs(event).at(0).sizes, Each(size));
    }
  };
  std::thread other([&] { run(3, 300); });
  run(5, 200);
  other.join();
}

// When the profiler ends, the pool's thread is running an operation, and begins others later.
TEST(TorchThreadsTest, WorkThatOutlivesTheProfilerIsHarmless) {
  for (int round = 0; round < 50; ++round) {
    std::latch began(1), ended(1);
    std::promise<void> done;
    {
      torch::nn::Linear module(4, 2);
      EdgeProfiler profiler(module, {.report_input_shapes = true, .profile_memory = true, .with_modules = true});
      at::launch([&] {
        {
          RECORD_FUNCTION("long", std::vector<c10::IValue>());
          began.count_down();
          while (!ended.try_wait()) torch::mm(torch::rand({2, 2}), torch::rand({2, 2}));
          torch::mm(torch::rand({2, 2}), torch::rand({2, 2}));
        }
        torch::mm(torch::rand({2, 2}), torch::rand({2, 2}));
        EXPECT_EQ(get_current_edge_profiler(), nullptr);
        done.set_value();
      });
      began.wait();
      const EdgeResult result = profiler.disable_profiler();
      ASSERT_EQ(named(result, "long").size(), 1u);
      EXPECT_FALSE(named(result, "long")[0].finished);
    }
    ended.count_down();
    done.get_future().wait();
  }
}

TEST(TorchThreadsTest, ProfilerOnAThreadThatWorksForAnotherIsRefused) {
  torch::nn::Linear module(4, 2);
  EdgeProfiler profiler(module, {});
  launch_and_wait([&] {
    try {
      EdgeProfiler second(module, {});
      ADD_FAILURE() << "taken";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("another thread"));
    }
  });
  torch::relu(torch::ones({2}));
  EXPECT_EQ(named(profiler.disable_profiler(), "aten::relu").size(), 1u);
}

TEST(TorchThreadsTest, ThreadWithTheStateOfAnEndedProfilerMayHaveItsOwn) {
  torch::nn::Linear module(4, 2);
  std::unique_ptr<at::ThreadLocalState> state;
  {
    EdgeProfiler profiler(module, {});
    state = std::make_unique<at::ThreadLocalState>();
  }
  const at::ThreadLocalStateGuard guard(*state);
  EdgeProfiler profiler(module, {});
  torch::relu(torch::ones({2}));
  EXPECT_EQ(named(profiler.disable_profiler(), "aten::relu").size(), 1u);
}

}  // namespace
}  // namespace kymo::edge::testing
