#include "inject/cuda/deliveries.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

namespace kymo::inject::cuda {
namespace {

std::atomic<uint64_t> asked{0}, complete{0};
Deliveries* device = nullptr;

// As CUPTI: delivers what is complete.
void ask() {
  device->delivered(complete.exchange(0));
  asked.fetch_add(1);
}

bool waited_for(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

// Never destroyed: its thread lives as long as the process.
Deliveries& fresh() {
  device = new Deliveries(ask);
  asked = 0;
  complete = 0;
  return *device;
}

TEST(CudaDeliveriesTest, AsksUntilEverythingIsDelivered) {
  Deliveries& deliveries = fresh();
  EXPECT_FALSE(deliveries.has_pending());
  deliveries.started();
  deliveries.started();
  ASSERT_TRUE(waited_for([] { return asked >= 2; })) << "a kernel that runs for long is asked for again";
  EXPECT_TRUE(deliveries.has_pending());
  complete = 2;
  ASSERT_TRUE(waited_for([&] { return !deliveries.has_pending(); }));
}

TEST(CudaDeliveriesTest, WakesAgainForNewWork) {
  Deliveries& deliveries = fresh();
  for (int round = 0; round < 3; ++round) {
    const uint64_t before = asked;
    complete = 1;
    deliveries.started();
    ASSERT_TRUE(waited_for([&] { return !deliveries.has_pending() && asked > before; })) << round;
  }
}

TEST(CudaDeliveriesTest, NothingIsPendingAfterTheEnd) {
  Deliveries& deliveries = fresh();
  for (int i = 0; i < 100; ++i) deliveries.started();
  bool delivered = false;
  deliveries.finish([&] { delivered = true; });
  EXPECT_TRUE(delivered);
  EXPECT_FALSE(deliveries.has_pending());
}

}  // namespace
}  // namespace kymo::inject::cuda
