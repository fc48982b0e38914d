#include "edge/device_watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <thread>

#include "device/test_device.h"
#include "device/watcher.h"
#include "edge/adjust.h"
#include "kymo/device.h"

namespace kymo::edge {
namespace device_watcher_tests {  // a separate namespace, because other files are compiled together with this one
namespace {

using namespace kymo::device;
using device::tests::device_names;
using device::tests::OnEveryDevice;
using device::tests::test_name;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A log with a watch. Both have the same lifetime as in a profiler.
class WatchedLog {
 public:
  explicit WatchedLog(DeviceWatch::Devices devices = DeviceWatch::Devices::All)
      : log_(Log::make({}, nullptr)), watch_(*log_, devices) {}
  ~WatchedLog() { log_->release(); }

  Log* log() const { return log_; }
  std::vector<std::string> stop() {
    log_->stop();
    watch_.finish();
    return watch_.deliver();
  }
  // The device operations that a thread requested, as "name in operation". Threads are in the order in which they first
  // recorded.
  std::vector<std::string> asked(size_t thread = 0) const {
    std::vector<std::string> texts;
    const ThreadLog& one = *log_->contents().threads.at(thread);
    for (uint32_t i = 0; i < one.device_operations.size(); ++i) {
      const RawDeviceOperation& operation = one.device_operations[i];
      const uint32_t by = operation.operation;
      texts.push_back(one.names[operation.name] + " in " +
                      (by == kNothing ? "nothing" : one.names[one.operations[by].name]));
    }
    return texts;
  }
  const Blocks<RawDeviceOperation>& operations(size_t thread = 0) const {
    return log_->contents().threads.at(thread)->device_operations;
  }

 private:
  Log* const log_;
  DeviceWatch watch_;
};

const char* const kTwiceKernel =
    "kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }";

class EdgeDeviceTest : public OnEveryDevice {};
KYMO_ON_EVERY_DEVICE(EdgeDeviceTest);

TEST_P(EdgeDeviceTest, DeviceOperationBelongsToTheOperationThatRequestedIt) {
  const Kernel twice = compile_shader(kTwiceKernel)["twice"];
  const Tensor x = zeros({64});
  synchronize();
  WatchedLog watched;
  {
    const AdoptedLog adopted(watched.log());
    const Operation forward("forward");
    {
      const Operation layer("layer");
      twice(x);
      twice(x);
    }
    twice(x);
    (void)x.to_host<float>();
  }
  {
    const AdoptedLog adopted(watched.log());
    twice(x);
  }
  twice(x);  // belongs to no operation
  EXPECT_THAT(watched.stop(), IsEmpty());
  EXPECT_THAT(watched.asked(), ElementsAre("twice in layer", "twice in layer", "twice in forward",
                                           "copy device to host in forward", "twice in nothing"));
  const std::string name = GetParam();
  const int32_t type = is("cuda") ? 1 : is("opencl") ? 4 : kVulkan;
  const auto& operations = watched.operations();
  for (uint32_t i = 0; i < operations.size(); ++i) {
    EXPECT_EQ(operations[i].device.type, type);
    EXPECT_EQ(std::to_string(operations[i].device.index), name.substr(name.find(':') + 1));
    EXPECT_EQ(operations[i].queue, 0u);
    EXPECT_NE(operations[i].queued_ns, 0u);
    EXPECT_LE(operations[i].start_ns, operations[i].end_ns);
    EXPECT_GE(operations[i].start_ns + 1, i == 0 ? 0 : operations[i - 1].end_ns) << "one queue, one after the other";
  }
}

TEST_P(EdgeDeviceTest, ThreadsAndProfilersGetOnlyTheirOwnOperations) {
  const Kernel twice = compile_shader(kTwiceKernel)["twice"];
  constexpr int kThreads = 3;
  std::vector<std::unique_ptr<WatchedLog>> all;
  for (int i = 0; i < kThreads; ++i) all.push_back(std::make_unique<WatchedLog>());
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      const Tensor x = zeros({64});
      const AdoptedLog adopted(all[static_cast<size_t>(i)]->log());
      const Operation operation("operation");
      for (int k = 0; k <= 10 * i; ++k) twice(x);
    });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_THAT(all[static_cast<size_t>(i)]->stop(), IsEmpty());
    EXPECT_EQ(all[static_cast<size_t>(i)]->operations().size(), static_cast<uint32_t>(10 * i + 1));
  }
}

TEST_P(EdgeDeviceTest, VulkanOnlyIgnoresOtherDevices) {
  const Kernel twice = compile_shader(kTwiceKernel)["twice"];
  const Tensor x = zeros({64});
  WatchedLog watched(DeviceWatch::Devices::Vulkan);
  {
    const AdoptedLog adopted(watched.log());
    const Operation operation("operation");
    twice(x);
  }
  EXPECT_THAT(watched.stop(), IsEmpty());
  EXPECT_EQ(watched.operations().size(), is("vulkan") ? 1u : 0u);
}

TEST_P(EdgeDeviceTest, OperationWithoutTimesIsReported) {
  StreamState& stream = default_stream().state();
  WatchedLog watched;
  {
    const AdoptedLog adopted(watched.log());
    const Operation operation("operation");
    Watcher* const watcher = device::watcher(WatcherRole::Edge);
    ASSERT_NE(watcher, nullptr);
    device::Operation fill;
    fill.kind = OperationKind::Fill;
    const uint64_t execution = watcher->queued(stream, fill);
    watcher->lost(stream, fill, execution);
    watcher->completed(stream, fill, execution + 1, {});  // an execution that does not exist
    watcher->completed(stream, fill, 0, {});
  }
  EXPECT_THAT(watched.stop(), ElementsAre("1 device operation without times"));
  EXPECT_EQ(device::watcher(WatcherRole::Edge), nullptr);
}

TEST_P(EdgeDeviceTest, OperationsOfOneSubmissionShareItsTime) {
  if (!is("vulkan")) GTEST_SKIP() << "Vulkan alone times submissions";
  setenv("KYMO_VULKAN_TIMES", "submission", 1);
  const Kernel twice = compile_shader(kTwiceKernel)["twice"];
  const Tensor x = zeros({64}), large = zeros({1 << 24});
  synchronize();
  std::optional<Stream> side;
  do side.emplace();
  while (side->id() < 20);  // a stream that was not used before
  twice.on (*side)(x);
  unsetenv("KYMO_VULKAN_TIMES");
  WatchedLog watched;
  {
    const AdoptedLog adopted(watched.log());
    const Operation operation("operation");
    twice.on (*side)(large);  // keeps the stream busy, so that the next operations are gathered into one submission
    for (int i = 0; i < 8; ++i) twice.on (*side)(x);
  }
  EXPECT_THAT(watched.stop(), ElementsAre(::testing::HasSubstr("got an equal part of a submission's time")));
  const auto& operations = watched.operations();
  ASSERT_EQ(operations.size(), 9u);
  for (uint32_t i = 1; i < operations.size(); ++i) EXPECT_GE(operations[i].start_ns + 1, operations[i - 1].end_ns);
}

}  // namespace
}  // namespace device_watcher_tests
}  // namespace kymo::edge
