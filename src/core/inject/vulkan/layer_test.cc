// What the layer writes into a trace, and what it asks of the driver, with a driver that does what the tests want.
#include "inject/vulkan/layer.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <thread>

#include "base/environment.h"
#include "inject/vulkan/recorder.h"
#include "inject/vulkan/test_driver.h"
#include "kymo/annotate.h"
#include "kymo/session.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::inject::vulkan {
namespace {

class VulkanLayerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/kymo-vulkan-test-XXXXXX";
    folder = mkdtemp(pattern);
    driver.reset();
  }
  void TearDown() override {
    close_device();
    EXPECT_EQ(driver.objects, 0) << "objects of the driver are left";
    std::filesystem::remove_all(folder);
  }
  std::string file() const { return folder + "/a.kymo"; }

  template <class Function>
  Function function(const char* name) {
    return reinterpret_cast<Function>(kymo_vkGetDeviceProcAddr(device, name));
  }

  // As the loader does it.
  void open_device(const char* engine = "a game") {
    VkLayerInstanceLink link{nullptr, TestDriver::instance_function, nullptr};
    VkLayerInstanceCreateInfo chain{};
    chain.sType = VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO;
    chain.function = VK_LAYER_LINK_INFO;
    chain.u.pLayerInfo = &link;
    auto application = made<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
    application.pEngineName = engine;
    auto info = made<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
    info.pNext = &chain;
    info.pApplicationInfo = &application;
    const auto create =
        reinterpret_cast<PFN_vkCreateInstance>(kymo_vkGetInstanceProcAddr(VK_NULL_HANDLE, "vkCreateInstance"));
    ASSERT_EQ(create(&info, nullptr, &instance), VK_SUCCESS);
    EXPECT_EQ(chain.u.pLayerInfo, nullptr) << "the next layer gets its own part of the chain";

    VkLayerDeviceLink device_link{nullptr, TestDriver::instance_function, TestDriver::device_function};
    VkLayerDeviceCreateInfo device_chain{};
    device_chain.sType = VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO;
    device_chain.function = VK_LAYER_LINK_INFO;
    device_chain.u.pLayerInfo = &device_link;
    auto device_info = made<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
    device_info.pNext = &device_chain;
    const auto create_device =
        reinterpret_cast<PFN_vkCreateDevice>(kymo_vkGetInstanceProcAddr(instance, "vkCreateDevice"));
    ASSERT_EQ(create_device(reinterpret_cast<VkPhysicalDevice>(instance), &device_info, nullptr, &device), VK_SUCCESS);
    for (uint32_t i = 0; i < 2; ++i) function<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(device, 0, i, &queues[i]);
    pool = make_pool();
  }
  void close_device() {
    if (device == VK_NULL_HANDLE) return;
    function<PFN_vkDestroyCommandPool>("vkDestroyCommandPool")(device, pool, nullptr);
    function<PFN_vkDestroyDevice>("vkDestroyDevice")(device, nullptr);
    reinterpret_cast<PFN_vkDestroyInstance>(kymo_vkGetInstanceProcAddr(instance, "vkDestroyInstance"))(instance,
                                                                                                       nullptr);
    device = VK_NULL_HANDLE;
  }

  VkCommandPool make_pool() {
    const auto info = made<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    VkCommandPool made_pool = VK_NULL_HANDLE;
    EXPECT_EQ(function<PFN_vkCreateCommandPool>("vkCreateCommandPool")(device, &info, nullptr, &made_pool), VK_SUCCESS);
    return made_pool;
  }
  VkCommandBuffer make_buffer(VkCommandPool from, VkCommandBufferLevel level = VK_COMMAND_BUFFER_LEVEL_PRIMARY) {
    auto info = made<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    info.commandPool = from;
    info.level = level;
    info.commandBufferCount = 1;
    VkCommandBuffer buffer = VK_NULL_HANDLE;
    EXPECT_EQ(function<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers")(device, &info, &buffer), VK_SUCCESS);
    return buffer;
  }
  void begin(VkCommandBuffer buffer, VkCommandBufferUsageFlags flags = 0) {
    auto info = made<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    info.flags = flags;
    EXPECT_EQ(function<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(buffer, &info), VK_SUCCESS);
  }
  void dispatch(VkCommandBuffer buffer, int count) {
    for (int i = 0; i < count; ++i) function<PFN_vkCmdDispatch>("vkCmdDispatch")(buffer, 4, 2, 1);
  }
  VkCommandBuffer make_dispatches(int count, VkCommandBufferUsageFlags flags = 0) {
    VkCommandBuffer buffer = make_buffer(pool);
    begin(buffer, flags);
    dispatch(buffer, count);
    return buffer;
  }
  VkResult submit(VkCommandBuffer buffer, int queue = 0) {
    auto info = made<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
    info.commandBufferCount = 1;
    info.pCommandBuffers = &buffer;
    return function<PFN_vkQueueSubmit>("vkQueueSubmit")(queues[queue], 1, &info, VK_NULL_HANDLE);
  }

  struct Seen {
    std::map<std::string, int> on_queues, on_threads;
    std::map<std::string, int> tracks;               // and how many ranges each has
    std::vector<std::pair<int64_t, int64_t>> times;  // on CLOCK_MONOTONIC
    uint64_t clock_error = 0, lost = 0;
  };
  Seen look() const {
    Seen seen;
    const trace::Reader reader(file());
    EXPECT_TRUE(reader.problems().empty());
    for (const auto& [id, writer] : reader.writers())
      for (const trace::Loss& loss : writer.losses) seen.lost += loss.count;
    trace::EventBatch batch;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      const auto& writer = reader.writers().at(chunk.writer);
      const trace::Track& track = writer.tracks.at(chunk.track);
      const bool on_queue = track.kind == trace::TrackKind::DeviceQueue;
      const trace::ClockMap clock = trace::clock_map(writer.clocks.at(track.clock));
      reader.read(chunk, batch);
      if (on_queue && batch.ranges.size() != 0) {
        EXPECT_TRUE(clock.usable());
        seen.clock_error = std::max(seen.clock_error, clock.error_ns());
      }
      for (size_t i = 0; i < batch.ranges.size(); ++i) {
        ++(on_queue ? seen.on_queues : seen.on_threads)[writer.classes.at(batch.ranges.class_id[i]).name];
        if (!on_queue) continue;
        ++seen.tracks[track.name];
        seen.times.emplace_back(clock.to_monotonic_ns(batch.ranges.end[i] - batch.ranges.duration[i]),
                                clock.to_monotonic_ns(batch.ranges.end[i]));
      }
    }
    return seen;
  }

  TestDriver& driver = TestDriver::get();
  std::string folder;
  VkInstance instance = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queues[2] = {};
  VkCommandPool pool = VK_NULL_HANDLE;
};

using Counts = std::map<std::string, int>;

TEST_F(VulkanLayerTest, BothWaysIntoTheLayerGiveTheSameFunctions) {
  VkNegotiateLayerInterface version{};
  version.sType = LAYER_NEGOTIATE_INTERFACE_STRUCT;
  version.loaderLayerInterfaceVersion = 7;  // of a loader that is newer
  ASSERT_EQ(vkNegotiateLoaderLayerInterfaceVersion(&version), VK_SUCCESS);
  EXPECT_EQ(version.loaderLayerInterfaceVersion, 2u);
  EXPECT_EQ(version.pfnGetInstanceProcAddr, &kymo_vkGetInstanceProcAddr);
  EXPECT_EQ(version.pfnGetDeviceProcAddr, &kymo_vkGetDeviceProcAddr);
  VkNegotiateLayerInterface wrong{};
  EXPECT_NE(vkNegotiateLoaderLayerInterfaceVersion(&wrong), VK_SUCCESS);
  open_device();
  EXPECT_EQ(kymo_vkGetInstanceProcAddr(instance, "vkCmdDispatch"), kymo_vkGetDeviceProcAddr(device, "vkCmdDispatch"));
  EXPECT_EQ(kymo_vkGetDeviceProcAddr(device, "vkCmdDraw"), nullptr) << "the driver does not have it";
  EXPECT_EQ(kymo_vkGetDeviceProcAddr(device, "vkEndCommandBuffer"), TestDriver::function("vkEndCommandBuffer"));
  EXPECT_EQ(kymo_vkGetDeviceProcAddr(device, nullptr), nullptr);
}

TEST_F(VulkanLayerTest, CommandsAreRecordedWithEachSubmission) {
  open_device();
  EXPECT_EQ(driver.extensions, std::vector<std::string>{VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME});
  const uint64_t before = base::monotonic_ns();
  Session session(file());
  VkCommandBuffer buffer = make_dispatches(3);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(submit(buffer), VK_SUCCESS);
  session.close();
  const uint64_t after = base::monotonic_ns();
  const Seen seen = look();
  EXPECT_EQ(seen.on_queues, (Counts{{"dispatch", 150}, {"command buffer", 50}}));
  EXPECT_EQ(seen.on_threads, (Counts{{"submit", 50}}));
  EXPECT_EQ(seen.lost, 0u);
  EXPECT_EQ(driver.own_submissions, 3u) << "a fence after 16 submissions";
  const auto error = static_cast<int64_t>(seen.clock_error);
  for (const auto& [start, end] : seen.times) {
    EXPECT_LE(start, end);
    EXPECT_GE(start + error, static_cast<int64_t>(before));
    EXPECT_LE(end - error, static_cast<int64_t>(after));
  }
}

TEST_F(VulkanLayerTest, NothingIsAddedWhileNothingRecords) {
  open_device();
  VkCommandBuffer buffer = make_dispatches(3);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(submit(buffer), VK_SUCCESS);
  EXPECT_EQ(driver.submitted_buffers, 20u);
  EXPECT_EQ(driver.own_submissions, 0u);
}

TEST_F(VulkanLayerTest, ACommandBufferFromBeforeTheRecordingIsOneRange) {
  open_device();
  VkCommandBuffer buffer = make_dispatches(3);
  Session session(file());
  EXPECT_EQ(submit(buffer), VK_SUCCESS);
  session.close();
  EXPECT_EQ(look().on_queues, (Counts{{"command buffer", 1}}));
}

TEST_F(VulkanLayerTest, ACommandBufferFromTheRecordingStaysValidAfterIt) {
  open_device();
  Session session(file());
  VkCommandBuffer buffer = make_dispatches(3);
  EXPECT_EQ(submit(buffer), VK_SUCCESS);
  session.close();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(submit(buffer), VK_SUCCESS);  // its queries must be reset: the driver aborts
  Session again(folder + "/b.kymo");
  EXPECT_EQ(submit(buffer), VK_SUCCESS);
  again.close();
  EXPECT_EQ(look().on_queues, (Counts{{"dispatch", 3}, {"command buffer", 1}}));
}

TEST_F(VulkanLayerTest, SecondaryCommandBuffersHaveTimesUnlessTheyAreShared) {
  open_device();
  Session session(file());
  VkCommandBuffer own = make_buffer(pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
  begin(own);
  dispatch(own, 200);  // more than a chunk of queries has
  VkCommandBuffer shared = make_buffer(pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
  begin(shared, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  dispatch(shared, 5);
  VkCommandBuffer outer = make_buffer(pool);
  begin(outer);
  dispatch(outer, 1);
  const VkCommandBuffer all[] = {shared, own, shared};
  function<PFN_vkCmdExecuteCommands>("vkCmdExecuteCommands")(outer, 3, all);
  dispatch(outer, 1);
  EXPECT_EQ(submit(outer), VK_SUCCESS);
  EXPECT_EQ(submit(outer), VK_SUCCESS);
  session.close();
  EXPECT_EQ(look().on_queues, (Counts{{"dispatch", 404}, {"command buffer", 2}}));
}

TEST_F(VulkanLayerTest, LabelsAreRangesAndEveryQueueHasItsTrack) {
  open_device();
  Session session(file());
  for (int queue = 0; queue < 2; ++queue) {
    VkCommandBuffer buffer = make_buffer(pool);
    begin(buffer);
    auto label = made<VkDebugUtilsLabelEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT);
    label.pLabelName = "pass {0}";
    function<PFN_vkCmdBeginDebugUtilsLabelEXT>("vkCmdBeginDebugUtilsLabelEXT")(buffer, &label);
    dispatch(buffer, 1);
    function<PFN_vkCmdEndDebugUtilsLabelEXT>("vkCmdEndDebugUtilsLabelEXT")(buffer);
    function<PFN_vkCmdEndDebugUtilsLabelEXT>("vkCmdEndDebugUtilsLabelEXT")(buffer);  // one too many
    EXPECT_EQ(submit(buffer, queue), VK_SUCCESS);
  }
  session.close();
  const Seen seen = look();
  EXPECT_EQ(seen.on_queues, (Counts{{"dispatch", 2}, {"pass {{0}}", 2}, {"command buffer", 2}}));
  EXPECT_EQ(seen.tracks, (Counts{{"Vulkan queue 0.0", 3}, {"Vulkan queue 0.1", 3}}));
}

TEST_F(VulkanLayerTest, AQueueWithoutTimestampsRecordsItsCalls) {
  driver.timestamp_bits = 0;
  open_device();
  Session session(file());
  VkCommandBuffer buffer = make_dispatches(3);
  EXPECT_EQ(submit(buffer), VK_SUCCESS);
  session.close();
  EXPECT_EQ(driver.submitted_buffers, 1u);
  const Seen seen = look();
  EXPECT_EQ(seen.on_queues, Counts{});
  EXPECT_EQ(seen.on_threads, (Counts{{"submit", 1}}));
}

TEST_F(VulkanLayerTest, AQueueThatOnlyCopiesRecordsItsCalls) {
  driver.queue_flags = VK_QUEUE_TRANSFER_BIT;  // it cannot reset queries
  open_device();
  Session session(file());
  EXPECT_EQ(submit(make_dispatches(1)), VK_SUCCESS);
  session.close();
  EXPECT_EQ(look().on_threads, (Counts{{"submit", 1}}));
}

TEST_F(VulkanLayerTest, WithoutCalibratedTimestampsTheClockIsFoundFromTheWork) {
  driver.is_calibrated = false;
  driver.period = 41.5F;  // ns per tick
  driver.timestamp_bits = 40;
  open_device();
  EXPECT_TRUE(driver.extensions.empty());
  const uint64_t before = base::monotonic_ns();
  Session session(file());
  VkCommandBuffer buffer = make_dispatches(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(submit(buffer), VK_SUCCESS);
  session.close();
  const uint64_t after = base::monotonic_ns();
  const Seen seen = look();
  EXPECT_EQ(seen.on_queues, (Counts{{"dispatch", 100}, {"command buffer", 100}}));
  const auto error = static_cast<int64_t>(seen.clock_error) + 100;  // and the grain of the clock
  for (const auto& [start, end] : seen.times) {
    EXPECT_GE(start + error, static_cast<int64_t>(before));
    EXPECT_LE(end - error, static_cast<int64_t>(after));
  }
}

TEST_F(VulkanLayerTest, WorkOfALostDeviceIsCountedAtOnce) {
  open_device();
  driver.runs_at_once = false;
  Session session(file());
  VkCommandBuffer buffer = make_dispatches(1, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  EXPECT_EQ(submit(buffer), VK_SUCCESS);
  EXPECT_EQ(submit(buffer), VK_SUCCESS);
  driver.submit_result = VK_ERROR_DEVICE_LOST;
  EXPECT_EQ(submit(buffer), VK_ERROR_DEVICE_LOST);
  session.close();
  const Seen seen = look();
  EXPECT_EQ(seen.on_queues, Counts{});
  EXPECT_EQ(seen.lost, 2u);
  driver.run_pending();  // the slots of a lost device are left to the driver
  close_device();
}

TEST_F(VulkanLayerTest, ARefusedSubmissionLeavesNothingPending) {
  open_device();
  Session session(file());
  VkCommandBuffer buffer = make_dispatches(1);
  driver.submit_result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  EXPECT_EQ(submit(buffer), VK_ERROR_OUT_OF_DEVICE_MEMORY);
  driver.submit_result = VK_SUCCESS;
  EXPECT_EQ(submit(buffer), VK_SUCCESS);
  session.close();
  const Seen seen = look();
  EXPECT_EQ(seen.on_queues, (Counts{{"dispatch", 1}, {"command buffer", 1}}));
  EXPECT_EQ(seen.lost, 0u);
}

TEST_F(VulkanLayerTest, ACommandBufferThatIsPendingInTwoQueuesHasTimesInTheFirst) {
  open_device();
  driver.runs_at_once = false;
  Session session(file());
  VkCommandBuffer buffer = make_buffer(pool);
  begin(buffer, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  EXPECT_EQ(submit(buffer, 0), VK_SUCCESS);
  EXPECT_EQ(submit(buffer, 1), VK_SUCCESS);
  driver.run_pending();
  session.close();
  const Seen seen = look();
  EXPECT_EQ(seen.on_queues, (Counts{{"command buffer", 1}}));
  EXPECT_EQ(seen.lost, 1u);
}

TEST_F(VulkanLayerTest, KymosOwnRuntimeIsNotRecorded) {
  open_device(base::kVulkanEngine);
  EXPECT_EQ(kymo_vkGetDeviceProcAddr(device, "vkCmdDispatch"), TestDriver::function("vkCmdDispatch"));
  EXPECT_TRUE(driver.extensions.empty());
}

TEST_F(VulkanLayerTest, ManyThreadsAndSessions) {
  open_device();
  for (int round = 0; round < 3; ++round) {
    Session session(file());
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([this, i] {
        VkCommandPool own = make_pool();
        VkCommandBuffer buffer = make_buffer(own);
        for (int j = 0; j < 100; ++j) {
          begin(buffer);
          dispatch(buffer, 3);
          EXPECT_EQ(submit(buffer, i), VK_SUCCESS);
        }
        function<PFN_vkDestroyCommandPool>("vkDestroyCommandPool")(device, own, nullptr);
      });
    for (std::thread& one : threads) one.join();
    session.close();
    const Seen seen = look();
    EXPECT_EQ(seen.on_queues, (Counts{{"dispatch", 600}, {"command buffer", 200}}));
    EXPECT_EQ(seen.lost, 0u);
  }
}

}  // namespace
}  // namespace kymo::inject::vulkan
