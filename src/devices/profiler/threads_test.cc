// The profiler under many threads, on every device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "device/test_device.h"
#include "kymo/profiler.h"
#include "profiler/test_signposts.h"

namespace kymo::profiler {
namespace {

using namespace kymo::device;
using device::tests::device_names;
using device::tests::kScale;
using device::tests::OnEveryDevice;
using device::tests::test_name;
using tests::CollectingSink;
using Which = tests::ReceivedSignpost::Which;

class ProfilerThreadsTest : public OnEveryDevice {
 protected:
  void TearDown() override {
    if (GetParam() != "none") tests::turn_everything_off();
    OnEveryDevice::TearDown();
  }
};
KYMO_ON_EVERY_DEVICE(ProfilerThreadsTest);

TEST_P(ProfilerThreadsTest, EveryBeginHasAnEndWhileTheProfilerIsSwitchedOnAndOff) {
  constexpr int kThreads = 8, kLaunches = 200;
  const Kernel scale = compile(kScale)["scale"];
  const CollectingSink sink(true);
  tests::turn_everything_off();
  profiler::set_log("operation-statistics");
  std::atomic<bool> done{false};
  std::jthread toggling([&] {
    for (int i = 0; !done; ++i) {
      profiler::start(i % 2 == 0 ? "interval" : "interval,event", i % 16 == 0);
      std::this_thread::yield();
      profiler::stop();
      if (i % 8 == 0) profiler::statistics();
    }
  });
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        const StreamGuard guard{t % 2 == 0 ? Stream() : default_stream()};
        const Tensor x = zeros({64});
        for (int i = 0; i < kLaunches; ++i) {
          const profiler::Operation operation(t % 2 == 0 ? "even" : "odd", {&x});
          const profiler::HostFallback fallback("fallback");
          scale(x, 1.0);
        }
      });
  }
  done = true;
  toggling.join();
  profiler::stop();

  uint64_t runs = 0;
  const profiler::Statistics all = profiler::statistics();
  for (const auto& one : all.operations)
    if (one.name.starts_with("scale")) runs += one.runs;
  EXPECT_EQ(runs + all.lost, uint64_t{kThreads * kLaunches});
  EXPECT_EQ(all.lost, 0u);

  std::set<uint64_t> open;
  for (const auto& received : sink.all()) {
    if (received.which == Which::Begin) {
      EXPECT_TRUE(open.insert(received.execution).second) << received.message;
    } else if (received.which == Which::End) {
      EXPECT_EQ(open.erase(received.execution), 1u) << received.message;
    }
  }
  EXPECT_TRUE(open.empty());
}

}  // namespace
}  // namespace kymo::profiler
