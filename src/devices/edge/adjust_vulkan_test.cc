// An engine on a real Vulkan device, with a profiler: which operation requested each device operation, and when it ran.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

#include "device/watcher.h"
#include "edge/adjust.h"
#include "kymo/device.h"
#include "kymo/edge.h"
#include "kymo/edge_engine.h"

namespace kymo::edge {
namespace adjust_vulkan_tests {
namespace {

using namespace kymo::device;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The times that the device reports, recorded independently of the profiler.
class RecordedTimes final : public Watcher {
 public:
  uint64_t queued(const StreamState&, const device::Operation&) noexcept override { return 1; }
  void completed(const StreamState&, const device::Operation&, uint64_t,
                 const OperationTimes& times) noexcept override {
    all.push_back(times);
  }
  void lost(const StreamState&, const device::Operation&, uint64_t) noexcept override {}
  std::vector<OperationTimes> all;
};

class AdjustVulkanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      set_device(Device("vulkan:0"));
    } catch (const NotAvailable& absent) {
      GTEST_SKIP() << absent.what();
    }
    set_stream(default_stream());
    synchronize();
  }
  void TearDown() override { set_watcher(WatcherRole::Profiler, nullptr); }

  // "forward" with two layers of two kernels each, a copy, and an operation that requests no device work.
  struct Engine final : edge::Module {
    Kernel add, turn;
    Tensor x = zeros({4096});
    Engine()
        : Engine(compile_shader(R"(
      kernel void add(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }
      kernel void turn(device float* x, uint i [[thread_position_in_grid]]) {
        float v = x[i];
        for (int k = 0; k < 300; ++k) v = -v;
        x[i] = v;
      })")) {}
    explicit Engine(const ShaderLibrary& library) : add(library["add"]), turn(library["turn"]) {}

    std::vector<float> forward() const {
      const edge::Operation whole("forward");
      for (const char* layer : {"layer1", "layer2"}) {
        const edge::Operation operation(layer);
        add(x);
        turn(x);
      }
      { const edge::Operation idle("idle"); }
      const edge::Operation copy("copy");
      return x.to_host<float>();
    }
  };

  // "name in parent" of each event of the result. Device events are marked with a star.
  static std::vector<std::string> tree(const EdgeResult& result) {
    std::vector<std::string> texts;
    for (const EdgeEvent& event : result.events()) {
      std::string text = event.kind == EdgeKind::Device ? "*" : "";
      text += event.name;
      if (event.parent != EdgeEvent::kNone) text += " in " + std::string(result.events()[event.parent].name);
      texts.push_back(text);
    }
    return texts;
  }

  static void expect_adjusted(const EdgeResult& result) {
    std::map<uint32_t, uint64_t> last_end;  // of the children of each event
    for (const EdgeEvent& event : result.events()) {
      const uint64_t raw_duration = event.raw_end_ns - event.raw_start_ns;
      EXPECT_GE(event.duration_ns(), raw_duration) << event.name;
      if (event.kind == EdgeKind::Device) {
        EXPECT_EQ(event.duration_ns(), raw_duration) << event.name;
      }
      EXPECT_GE(event.start_ns, last_end[event.parent]) << event.name;
      last_end[event.parent] = event.end_ns;
      if (event.parent == EdgeEvent::kNone) continue;
      const EdgeEvent& parent = result.events()[event.parent];
      EXPECT_GE(event.start_ns, parent.start_ns) << event.name;
      EXPECT_LE(event.end_ns, parent.end_ns) << event.name;
    }
  }
};

TEST_F(AdjustVulkanTest, DeviceOperationsAreInsideTheirCauseAndKeepTheirDuration) {
  const Engine engine;
  engine.forward();
  static RecordedTimes recorded;
  recorded.all.clear();
  set_watcher(WatcherRole::Profiler, &recorded);
  EdgeProfiler profiler(engine, {.adjust_vulkan_timestamps = true});
  const std::vector<float> there = engine.forward();
  const EdgeResult result = profiler.disable_profiler();
  set_watcher(WatcherRole::Profiler, nullptr);
  EXPECT_EQ(there.front(), 4) << "two passes of two layers";

  EXPECT_THAT(tree(result), ElementsAre("forward", "layer1 in forward", "*add in layer1", "*turn in layer1",
                                        "layer2 in forward", "*add in layer2", "*turn in layer2", "idle in forward",
                                        "copy in forward", "*copy device to host in copy"));
  EXPECT_THAT(result.losses(), IsEmpty());
  expect_adjusted(result);

  // The times are those of the device, except for the conversion between two clocks of the host. The difference is
  // nanoseconds here, and at most one part in a thousand if a clock is slewed.
  std::vector<EdgeEvent> ran;
  for (const EdgeEvent& event : result.events())
    if (event.kind == EdgeKind::Device) ran.push_back(event);
  ASSERT_EQ(ran.size(), recorded.all.size());
  for (size_t i = 0; i < ran.size(); ++i) {
    const OperationTimes &times = recorded.all[i], &first = recorded.all.front();
    EXPECT_EQ(times.operations, 1u) << "each has its own";
    const auto near = [](uint64_t is, uint64_t was) {
      EXPECT_NEAR(static_cast<double>(is), static_cast<double>(was), 3 + static_cast<double>(was) / 1000);
    };
    near(ran[i].raw_end_ns - ran[i].raw_start_ns, times.gpu_ns);
    near(ran[i].raw_start_ns - ran.front().raw_start_ns, times.start_ns - first.start_ns);
    EXPECT_EQ(ran[i].device, (DeviceId{kVulkan, 0}));
    EXPECT_NE(ran[i].queued_ns, 0u);
  }
}

TEST_F(AdjustVulkanTest, WithoutTheOptionDeviceOperationsStayOnTheDevice) {
  const Engine engine;
  EdgeProfiler profiler(engine, {.with_device = true});
  engine.forward();
  const EdgeResult result = profiler.disable_profiler();
  EXPECT_THAT(tree(result), ElementsAre("forward", "layer1 in forward", "layer2 in forward", "idle in forward",
                                        "copy in forward", "*add", "*turn", "*add", "*turn", "*copy device to host"));
  std::vector<std::string> causes;
  for (const EdgeEvent& event : result.events()) {
    EXPECT_EQ(event.start_ns, event.raw_start_ns);
    EXPECT_EQ(event.end_ns, event.raw_end_ns);
    if (event.kind == EdgeKind::Device) causes.emplace_back(result.events()[event.caused_by].name);
  }
  EXPECT_THAT(causes, ElementsAre("layer1", "layer1", "layer2", "layer2", "copy"));
}

TEST_F(AdjustVulkanTest, ProfilersOfSeveralThreadsEachGetTheirOwnOperations) {
  constexpr int kThreads = 4;
  std::vector<EdgeResult> results(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      const Engine engine;
      EdgeProfiler profiler(engine, {.adjust_vulkan_timestamps = true});
      for (int pass = 0; pass <= i; ++pass) engine.forward();
      results[static_cast<size_t>(i)] = profiler.disable_profiler();
    });
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> seen;
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].events().size(), 10 * (i + 1));
    EXPECT_THAT(results[i].losses(), IsEmpty());
    expect_adjusted(results[i]);
    for (const EdgeEvent& event : results[i].events()) EXPECT_EQ(event.thread, results[i].events().front().thread);
    seen.insert(results[i].events().front().thread);
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kThreads));
}

}  // namespace
}  // namespace adjust_vulkan_tests
}  // namespace kymo::edge
