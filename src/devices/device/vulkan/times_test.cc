// The reported times: of each operation, or of a submission that several operations share.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "device/watcher.h"
#include "kymo/device.h"

namespace kymo::device::vulkan {
namespace {

class TimesNoted final : public Watcher {
 public:
  uint64_t queued(const StreamState&, const Operation&) noexcept override { return 1; }
  void completed(const StreamState&, const Operation&, uint64_t, const OperationTimes& times) noexcept override {
    all.push_back(times);
  }
  void lost(const StreamState&, const Operation&, uint64_t) noexcept override { ++lost_count; }

  bool wants_own_times() const noexcept override { return own_times; }

  std::vector<OperationTimes> all;
  int lost_count = 0;
  bool own_times = false;
};

class VulkanTimesTest : public ::testing::Test {
 protected:
  void TearDown() override {
    set_watcher(WatcherRole::Profiler, nullptr);
    unsetenv("KYMO_VULKAN_TIMES");
  }

  // The times of five launches on a new stream. Each runs for milliseconds: launches are gathered only while the first
  // one runs, also if this thread is slow.
  std::vector<OperationTimes> times_of_five(const char* setting, bool own_times = false) {
    setenv("KYMO_VULKAN_TIMES", setting, 1);
    const Device device("vulkan:0");
    const ShaderLibrary library = compile_shader(R"(kernel void f(device float* x, uint i [[thread_position_in_grid]]) {
                            float sum = x[i];
                            for (uint k = 0; k < 2000; ++k) sum = sum * 0.5f + float(k);
                            x[i] = sum;
                          })",
                                                 {}, device);
    const Tensor x = empty({16384}, DType::F32, device);
    const Stream side(device);
    static TimesNoted noted;
    noted.all.clear();
    noted.own_times = own_times;
    set_watcher(WatcherRole::Profiler, &noted);
    for (int i = 0; i < 5; ++i) library["f"].on(side)(x);
    side.synchronize();
    set_watcher(WatcherRole::Profiler, nullptr);
    EXPECT_EQ(noted.lost_count, 0);
    return noted.all;
  }

  static bool has_vulkan() {
    try {
      Device("vulkan:0");
      return true;
    } catch (const NotAvailable&) {
      return false;
    }
  }
};

TEST_F(VulkanTimesTest, OperationsOfOneSubmissionHaveEqualPartsOfItsTime) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device here";
  const std::vector<OperationTimes> times = times_of_five("submission");
  ASSERT_EQ(times.size(), 5u);
  uint64_t operations = 0;
  for (size_t i = 0; i < times.size(); i += times[i].operations) {
    operations += times[i].operations;
    for (size_t k = i + 1; k < i + times[i].operations; ++k) {
      EXPECT_NEAR(static_cast<double>(times[k].start_ns), static_cast<double>(times[k - 1].end_ns), 2) << k;
      EXPECT_NEAR(static_cast<double>(times[k].gpu_ns), static_cast<double>(times[i].gpu_ns), 2) << k;
    }
  }
  EXPECT_EQ(operations, 5u);
  EXPECT_GT(times.back().operations, 1u) << "launches that wait for the first are gathered";
}

TEST_F(VulkanTimesTest, EachOperationHasItsOwnTimeIfRequested) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device here";
  const std::vector<OperationTimes> times = times_of_five("dispatch");
  ASSERT_EQ(times.size(), 5u);
  for (size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(times[i].operations, 1u);
    EXPECT_GE(times[i].start_ns + 1, i == 0 ? 0 : times[i - 1].end_ns);
  }
}

TEST_F(VulkanTimesTest, WatcherGetsOwnTimesUnlessTheSettingOverridesIt) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device here";
  for (const OperationTimes& times : times_of_five("", true)) EXPECT_EQ(times.operations, 1u);
  EXPECT_GT(times_of_five("submission", true).back().operations, 1u);
  EXPECT_FALSE(own_times_wanted()) << "nobody watches any more";
}

TEST_F(VulkanTimesTest, UnknownSettingIsRefusedWithItsValue) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device here";
  try {
    times_of_five("kernels");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "KYMO_VULKAN_TIMES is \"kernels\": use dispatch or submission");
  }
}

}  // namespace
}  // namespace kymo::device::vulkan
