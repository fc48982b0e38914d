#include <c10/core/Allocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_modules.h"

namespace kymo::edge::testing {
namespace {

using ::testing::IsEmpty;

TEST(TorchMemoryTest, AllocationsHaveBytesOperatorAndFree) {
  torch::nn::Linear module(1, 1);
  EdgeProfiler profiler(module, {.profile_memory = true});
  {
    const torch::Tensor x = torch::empty({256, 4});   // 4 KiB
    const torch::Tensor y = torch::empty({1024, 4});  // 16 KiB
  }
  const torch::Tensor kept = torch::empty({512, 4});  // 8 KiB
  const EdgeResult result = profiler.disable_profiler();

  std::vector<int64_t> bytes;
  for (const EdgeAllocation& allocation : result.allocations()) bytes.push_back(allocation.bytes);
  EXPECT_THAT(bytes, ::testing::ElementsAre(4096, 16384, -16384, -4096, 8192));
  EXPECT_EQ(result.events()[result.allocations()[0].event].name, "aten::empty");
  EXPECT_EQ(result.allocations()[2].event, EdgeEvent::kNone);

  ASSERT_EQ(result.memory().size(), 1u);
  const EdgeMemory memory = result.memory()[0];
  EXPECT_EQ(memory.device, DeviceId{});
  EXPECT_EQ(memory.peak_bytes, 4096u + 16384u);
  ASSERT_EQ(memory.alive_at_peak.size(), 2u);
  EXPECT_EQ(result.allocations()[memory.alive_at_peak[0]].bytes, 16384);
  ASSERT_EQ(memory.never_freed.size(), 1u);
  EXPECT_EQ(result.allocations()[memory.never_freed[0]].address, reinterpret_cast<uintptr_t>(kept.storage().data()));
}

TEST(TorchMemoryTest, OperatorHasInclusiveAndSelfMemory) {
  torch::nn::Linear module(64, 32);
  const torch::NoGradGuard no_gradients;
  const torch::Tensor x = torch::rand({16, 64});
  EdgeProfiler profiler(module, {.profile_memory = true});
  const torch::Tensor y = torch::linear(x, module->weight, module->bias);
  const EdgeResult result = profiler.disable_profiler();
  const EdgeEvent linear = named(result, "aten::linear").at(0);
  EXPECT_EQ(linear.memory_bytes, 16 * 32 * 4);
  EXPECT_EQ(linear.self_memory_bytes, 0);
}

TEST(TorchMemoryTest, MemoryIsNotKeptIfNotRequested) {
  torch::nn::Linear module(1, 1);
  EdgeProfiler profiler(module, {});
  torch::rand({16, 64});
  EXPECT_THAT(profiler.disable_profiler().allocations(), IsEmpty());
}

TEST(TorchMemoryTest, OperatorOfAMobileModuleHasItsMemory) {
  torch::jit::mobile::Module module = to_mobile(nested_module());
  const std::vector<c10::IValue> inputs = two_squares();
  EdgeProfiler profiler(module, {.profile_memory = true});
  const c10::IValue sum = module.forward(inputs);
  const EdgeResult result = profiler.disable_profiler();
  EXPECT_EQ(named(result, "aten::sub").at(0).memory_bytes, 64 * 64 * 4);
}

TEST(TorchMemoryTest, OutOfMemoryIsReported) {
  torch::nn::Linear module(1, 1);
  EdgeProfiler profiler(module, {.profile_memory = true});
  c10::reportOutOfMemoryToProfiler(1 << 20, 100, 200, c10::Device(c10::kCUDA, 1));
  const EdgeResult result = profiler.disable_profiler();
  ASSERT_EQ(result.allocations().size(), 1u);
  const EdgeAllocation wanted = result.allocations()[0];
  EXPECT_TRUE(wanted.out_of_memory);
  EXPECT_EQ(wanted.bytes, 1 << 20);
  EXPECT_EQ(wanted.total_reserved, 200u);
  EXPECT_EQ(wanted.device, (DeviceId{.type = 1, .index = 1}));
}

TEST(TorchMemoryTest, FreeOfEarlierMemoryDoesNotChangeThePeak) {
  torch::nn::Linear module(1, 1);
  torch::Tensor before = torch::rand({16, 64});
  EdgeProfiler profiler(module, {.profile_memory = true});
  before.reset();
  const EdgeResult result = profiler.disable_profiler();
  for (const EdgeMemory& memory : result.memory()) EXPECT_EQ(memory.peak_bytes, 0u);
}

}  // namespace
}  // namespace kymo::edge::testing
