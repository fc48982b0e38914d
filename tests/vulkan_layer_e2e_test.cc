// Unmodified Vulkan programs under `kymo record`: what they run is in the trace, and they do not notice.
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "base/test_size.h"
#include "ondemand.h"
#include "readback.h"
#include "support.h"
#include "trace/clock.h"

namespace kymo::e2e {
namespace {

using trace::TrackKind;

constexpr int kNoDevice = 77;  // exit code of a program that found no device

class VulkanLayerTest : public EndToEnd {
 protected:
  void SetUp() override {
    if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
    if (!std::filesystem::exists(program("../lib/kymo/vulkan/kymo_layer.json")) ||
        !std::filesystem::exists(program("vulkan_work")))
      GTEST_SKIP() << "Vulkan was not found when Kymo was built (install libvulkan-dev)";
    const Ending ending = run({program("vulkan_work"), "nothing"});
    if (ending.code == kNoDevice) GTEST_SKIP() << "no Vulkan device here (install mesa-vulkan-drivers)";
    ASSERT_EQ(ending.code, 0) << ending.err;
  }

  std::string trace() const { return file("a.kymo"); }
  Ending record(Words words, const StartOptions& options = {}) {
    words.insert(words.begin(), {program("kymo"), "record", "--no-sample", "-o", trace(), "--"});
    return run(words, options);
  }
  Readback recorded(const std::string& what, const StartOptions& options = {}) {
    const Ending ending = record({program("vulkan_work"), what}, options);
    EXPECT_EQ(ending.code, 0) << ending.err;
    return read_back(trace(), Detail::Arguments);
  }

  // The ranges with this name on the tracks of queues.
  static std::vector<const Event*> on_queue(const Readback& trace, const std::string& name) {
    std::vector<const Event*> found;
    for (const Event* event : trace.ranges_named(name))
      if (trace.tracks[event->track].track.kind == TrackKind::DeviceQueue) found.push_back(event);
    return found;
  }
  static size_t of_category(const Readback& trace, const std::string& category) {
    size_t found = 0;
    for (const Event& event : trace.ranges)
      if (trace.tracks[event.track].track.kind == TrackKind::DeviceQueue)
        found += trace.detail_of(event).category == category ? 1 : 0;
    return found;
  }
  static bool contains(const Event& outer, const Event& inner) {
    return outer.start <= inner.start && inner.end <= outer.end;
  }
};

TEST_F(VulkanLayerTest, EveryCommandIsRecordedWithTheLabelsAroundIt) {
  const Readback seen = recorded("finish");
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  const auto dispatches = on_queue(seen, "twice");
  ASSERT_EQ(dispatches.size(), 20u) << seen.summary();
  EXPECT_EQ(on_queue(seen, "copy buffer").size(), 1u);
  EXPECT_EQ(on_queue(seen, "fill buffer").size(), 1u);
  EXPECT_EQ(seen.count("submit"), 1u);
  EXPECT_EQ(seen.count("wait for fences"), 1u);
  EXPECT_EQ(seen.count("create pipelines"), 1u);
  EXPECT_GE(seen.points_count("device memory"), 2u);

  // The submission has the number of all that it ran.
  const uint64_t correlation = seen.ranges_named("submit").front()->correlation;
  EXPECT_NE(correlation, 0u);
  const auto labels = on_queue(seen, "twenty"), buffers = on_queue(seen, "command buffer whole");
  ASSERT_EQ(labels.size(), 1u) << seen.summary();
  ASSERT_EQ(buffers.size(), 1u) << seen.summary();
  EXPECT_TRUE(contains(*buffers[0], *labels[0]));
  for (const Event* one : dispatches) {
    EXPECT_EQ(one->correlation, correlation);
    EXPECT_TRUE(contains(*labels[0], *one));
  }
  EXPECT_EQ(seen.tracks[dispatches[0]->track].track.name, "main queue");
  bool has_groups = false;
  for (const Argument& argument : seen.detail_of(*dispatches[0]).arguments)
    has_groups |= argument.name == "groups_x" && argument.bits == 64;
  EXPECT_TRUE(has_groups);
}

TEST_F(VulkanLayerTest, ACommandBufferThatIsSubmittedAgainHasTimesEachTime) {
  const Readback seen = recorded("again");
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(on_queue(seen, "twice").size(), 80u) << seen.summary();
  EXPECT_EQ(on_queue(seen, "command buffer").size(), 40u);
  EXPECT_EQ(seen.count("submit"), 40u);
  std::map<uint64_t, size_t> by_submission;
  std::map<uint64_t, size_t> starts;
  for (const Event* one : on_queue(seen, "twice")) {
    ++by_submission[one->correlation];
    ++starts[one->start];
  }
  EXPECT_EQ(by_submission.size(), 40u);
  EXPECT_EQ(starts.size(), 80u) << "each has its own time";
}

TEST_F(VulkanLayerTest, SecondaryCommandBuffersAreRecordedInTheirPlace) {
  const Readback seen = recorded("secondary");
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(on_queue(seen, "twice").size(), 6u) << seen.summary();
  const auto fills = on_queue(seen, "fill buffer");
  ASSERT_EQ(fills.size(), 4u);
  for (const Event* one : on_queue(seen, "twice")) {
    size_t before = 0;
    for (const Event* fill : fills) before += fill->end <= one->start ? 1 : 0;
    EXPECT_TRUE(before == 1 || before == 3) << before;
  }
}

TEST_F(VulkanLayerTest, LabelsMayEndInAnotherCommandBuffer) {
  const Readback seen = recorded("across");
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  for (const char* name : {"frame", "both"}) {
    const auto labels = on_queue(seen, name);
    ASSERT_EQ(labels.size(), 1u) << name << "\n" << seen.summary();
    for (const Event* one : on_queue(seen, "twice")) EXPECT_TRUE(contains(*labels[0], *one)) << name;
  }
  EXPECT_EQ(seen.count("wait for device"), 1u);
}

TEST_F(VulkanLayerTest, DrawsAreInTheirRenderPass) {
  const Readback seen = recorded("draw");
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  const auto draws = on_queue(seen, "red triangle"), passes = on_queue(seen, "render pass");
  ASSERT_EQ(draws.size(), 3u) << seen.summary();
  ASSERT_EQ(passes.size(), 1u);
  for (const Event* one : draws) EXPECT_TRUE(contains(*passes[0], *one));
  EXPECT_EQ(on_queue(seen, "copy image to buffer").size(), 1u);
}

TEST_F(VulkanLayerTest, ThreadsThatRecordAtTheSameTime) {
  const Readback seen = recorded("threads");
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(on_queue(seen, "twice").size(), 400u) << seen.summary();
  EXPECT_EQ(seen.count("submit"), 80u);
}

TEST_F(VulkanLayerTest, WorkThatCompletesLateIsRecorded) {
  const Readback seen = recorded("wait");
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(on_queue(seen, "twice").size(), 1u) << seen.summary();
  EXPECT_EQ(seen.count("wait for queue"), 1u);
}

TEST_F(VulkanLayerTest, WorkThatNeverCompletesIsCountedAndDoesNotStopTheExit) {
  const Readback seen = recorded("pending");
  EXPECT_TRUE(sound(seen));
  EXPECT_EQ(on_queue(seen, "twice").size(), 0u);
  EXPECT_EQ(seen.lost(trace::LossCause::Clock), 1u) << seen.summary();
}

TEST_F(VulkanLayerTest, ADeviceThatIsDestroyedWithPendingWork) {
  const Readback seen = recorded("destroy");
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(on_queue(seen, "twice").size(), 20u) << seen.summary();
}

TEST_F(VulkanLayerTest, AKilledProgramLeavesItsWorkWithItsTimes) {
  record({program("vulkan_work"), "killed"});
  const Readback seen = read_back(trace());
  EXPECT_TRUE(sound(seen)) << seen.summary();
  EXPECT_EQ(on_queue(seen, "twice").size(), 5u) << seen.summary();
  const trace::Reader reader(trace());
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [number, track] : writer.tracks)
      EXPECT_TRUE(trace::clock_map(writer.clocks.at(track.clock)).usable()) << track.name;
}

TEST_F(VulkanLayerTest, TimesOfTheDeviceAreOnTheClockOfTheTrace) {
  recorded("again");
  const trace::Reader reader(trace());
  size_t compared = 0;
  for (const auto& [id, writer] : reader.writers()) {
    std::map<uint64_t, int64_t> submissions, work;  // begin of the call, first begin of its work
    int64_t error = 0;
    trace::EventBatch batch;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      const trace::Track& track = writer.tracks.at(chunk.track);
      const trace::ClockMap clock = trace::clock_map(writer.clocks.at(track.clock));
      error += static_cast<int64_t>(clock.error_ns());
      reader.read(chunk, batch);
      const bool is_queue = track.kind == TrackKind::DeviceQueue;
      for (size_t i = 0; i < batch.ranges.size() && !batch.ranges.correlation.empty(); ++i)
        (is_queue ? work : submissions)
            .emplace(batch.ranges.correlation[i],
                     clock.to_monotonic_ns(batch.ranges.end[i] - batch.ranges.duration[i]));
    }
    for (const auto& [correlation, begin] : submissions) {
      if (correlation == 0 || !work.contains(correlation)) continue;
      EXPECT_GE(work[correlation] + error, begin);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 40u);
}

TEST_F(VulkanLayerTest, TimesOfCommandsCanBeLeftOut) {
  const Readback seen = recorded("finish", {.environment = {{"KYMO_VULKAN_COMMANDS", "off"}}});
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(on_queue(seen, "twice").size(), 0u) << seen.summary();
  EXPECT_EQ(on_queue(seen, "twenty").size(), 1u);
  EXPECT_EQ(on_queue(seen, "command buffer whole").size(), 1u);
}

TEST_F(VulkanLayerTest, OtherLayersOfTheUserStay) {
  const Ending env =
      run({program("kymo"), "env"},
          {.environment = {{"VK_INSTANCE_LAYERS", "VK_LAYER_A"}, {"VK_ADD_LAYER_PATH", "/a"}, {"VK_LAYER_PATH", ""}}});
  EXPECT_THAT(env.out, testing::HasSubstr("VK_INSTANCE_LAYERS='VK_LAYER_A:VK_LAYER_KYMO_record'"));
  EXPECT_THAT(env.out, testing::ContainsRegex("VK_ADD_LAYER_PATH='/a:/.*/kymo/vulkan'"));
  const Ending hidden = run({program("kymo"), "env"}, {.environment = {{"VK_LAYER_PATH", "/b"}}});
  EXPECT_THAT(hidden.out, testing::ContainsRegex("VK_LAYER_PATH='/b:/.*/kymo/vulkan'"));
  const Ending without = run({program("kymo"), "env", "--without", "vulkan"});
  EXPECT_THAT(without.out, testing::Not(testing::HasSubstr("VK_")));
  // The loader ignores one that does not exist.
  const Readback seen = recorded("again", {.environment = {{"VK_INSTANCE_LAYERS", "VK_LAYER_A"}}});
  EXPECT_EQ(on_queue(seen, "twice").size(), 80u) << seen.summary();
}

TEST_F(VulkanLayerTest, TheValidationLayerBelowFindsNoFault) {
  if (!std::filesystem::exists("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json"))
    GTEST_SKIP() << "vulkan-validationlayers is not installed";
  // What the program itself does wrong: it leaves objects to the end of the process.
  const auto faults = [](const std::string& text) {
    size_t count = 0;
    for (size_t at = text.find("VUID"); at != text.npos; at = text.find("VUID", at + 1)) ++count;
    return count;
  };
  const std::string folder = std::filesystem::path(program("../lib/kymo/vulkan")).lexically_normal();
  const std::string other = "VK_LAYER_KHRONOS_validation";
  for (const char* what : {"finish", "again", "secondary", "draw", "threads"}) {
    const Ending alone = run({program("vulkan_work"), what}, {.environment = {{"VK_INSTANCE_LAYERS", other}}});
    ASSERT_EQ(alone.code, 0) << alone.err;
    ASSERT_GT(faults(alone.out), 0u);
    // Kymo's layer is nearer to the program, so that the other one sees what it adds.
    const Ending both = record(
        {program("vulkan_work"), what},
        {.environment = {{"VK_INSTANCE_LAYERS", "VK_LAYER_KYMO_record:" + other}, {"VK_ADD_LAYER_PATH", folder}}});
    ASSERT_EQ(both.code, 0) << both.err;
    EXPECT_EQ(faults(both.out), faults(alone.out)) << what << "\n" << both.out;
    EXPECT_GE(on_queue(read_back(trace()), what == std::string("draw") ? "red triangle" : "twice").size(), 3u);
  }
}

TEST_F(VulkanLayerTest, KymosOwnRuntimeIsRecordedOnce) {
  if (!std::filesystem::exists(program("device_work")))
    GTEST_SKIP() << "built without the device runtime (KYMO_DEVICES)";
  const auto counts = [&](const Words& options) {
    Words words{program("kymo"), "record", "--no-sample", "-o", trace()};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", program("device_work")});
    const Ending ending = run(words, {.environment = {{"KYMO_DEVICE", "vulkan:0"}}});
    EXPECT_EQ(ending.code, 0) << ending.err;
    const Readback seen = read_back(trace());
    EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
    std::map<std::string, size_t> found;
    for (const Event& range : seen.ranges) ++found[seen.name_of(range)];
    for (const Event& point : seen.points) ++found[seen.name_of(point)];
    return found;
  };
  const auto without = counts({"--without", "vulkan"});
  EXPECT_GE(without.at("scale"), 40u);
  EXPECT_EQ(counts({}), without);
}

TEST_F(VulkanLayerTest, Ffmpeg) {
  if (base::kIsSanitized)
    GTEST_SKIP() << "programs of the distribution cannot load a library that was built with a sanitizer";
  const std::string ffmpeg = "/usr/bin/ffmpeg";
  if (access(ffmpeg.c_str(), X_OK) != 0) GTEST_SKIP() << "ffmpeg is not installed (scripts/install-deps test)";
  const Ending ending =
      record({ffmpeg, "-nostdin", "-loglevel", "error", "-init_hw_device", "vulkan=vk:0", "-filter_hw_device", "vk",
              "-f", "lavfi", "-i", "testsrc=duration=0.4:size=32x24:rate=25", "-vf",
              "format=yuv420p,hwupload,gblur_vulkan,hwdownload,format=yuv420p", "-f", "null", "-"});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback seen = read_back(trace(), Detail::Arguments);
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(of_category(seen, "kernel"), 20u) << "10 frames, 2 directions\n" << seen.summary();
  EXPECT_EQ(on_queue(seen, "copy buffer to image").size(), 30u) << seen.summary();
  EXPECT_EQ(on_queue(seen, "copy image to buffer").size(), 30u) << seen.summary();
}

class VulkanOnDemandTest : public WithDaemon {};

TEST_F(VulkanOnDemandTest, ADormantProgramIsTracedOnRequest) {
  if (access(program("vulkan_work").c_str(), X_OK) != 0) GTEST_SKIP() << "Vulkan was not found when Kymo was built";
  if (run({program("vulkan_work"), "nothing"}).code == kNoDevice) GTEST_SKIP() << "no Vulkan device here";
  const std::string start_it = "eval \"$(" + program("kymo") + " env --socket " + socket() + ")\"; exec " +
                               program("vulkan_work") + " serve > " + file("said");
  Process client = start({"/bin/sh", "-c", start_it});
  wait_until("a dormant program", [&] { return contents_of(file("said")) == "ready\n"; });
  wait_until_connected(client);
  for (int i = 0; i < 2; ++i) {
    const Ending done = kymo({"trigger", "--all", "--duration", "300ms", "-o", pattern()});
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    const Readback trace = read_back(trace_of(client), Detail::Arguments);
    EXPECT_TRUE(sound(trace)) << trace.summary();
    // One command buffer was recorded before the trace began: what is in it is not known.
    size_t unknown = 0;
    for (const Event* one : trace.ranges_named("command buffer"))
      unknown += trace.detail_of(*one).category == "kernel" ? 1 : 0;
    EXPECT_GT(unknown, 0u) << trace.summary();
    EXPECT_GT(trace.count("twice"), 0u) << trace.summary();
    EXPECT_EQ(trace.lost(), 0u) << trace.summary();
    std::filesystem::remove(trace_of(client));
  }
  const Ending doctor = kymo({"doctor", std::to_string(client.pid())});
  EXPECT_THAT(doctor.out, testing::HasSubstr("the program has loaded libkymo_inject.so")) << doctor.err;
}

}  // namespace
}  // namespace kymo::e2e
