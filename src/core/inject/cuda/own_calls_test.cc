#include "inject/cuda/own_calls.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

extern "C" int* kymo_inject_cuda_calls();

namespace kymo::inject::cuda {
namespace {

TEST(CudaOwnCallsTest, AreCountedForEachThread) {
  EXPECT_FALSE(is_own_call());
  ++*kymo_inject_cuda_calls();
  EXPECT_TRUE(is_own_call());
  std::thread([] { EXPECT_FALSE(is_own_call()); }).join();
  --*kymo_inject_cuda_calls();
  EXPECT_FALSE(is_own_call());
}

TEST(CudaOwnCallsTest, NumbersAreRememberedUntilTheyRepeat) {
  const auto work = std::make_unique<OwnWork>();
  for (const uint32_t number : {1u, 64u, 1'000'000u, 0xffffffffu}) {
    EXPECT_FALSE(work->contains(number));
    work->remember(number);
    EXPECT_TRUE(work->contains(number));
    EXPECT_FALSE(work->contains(number + 1));
  }
  work->forget(64 + (1 << 20));
  EXPECT_FALSE(work->contains(64)) << "a call of the program has the number now";
  EXPECT_TRUE(work->contains(1));
}

}  // namespace
}  // namespace kymo::inject::cuda
