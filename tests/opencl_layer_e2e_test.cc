// Unmodified OpenCL programs under `kymo record`: what they run is in the trace, and they do not notice.
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "base/test_size.h"
#include "readback.h"
#include "support.h"
#include "trace/clock.h"

namespace kymo::e2e {
namespace {

using trace::TrackKind;

constexpr int kSkipped = 77;  // exit code of a program that found no device

// Null: not installed.
std::string find_program(const std::string& name) {
  const char* path = getenv("PATH");
  std::stringstream folders(path != nullptr ? path : "/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  return {};
}

class OpenClLayerTest : public EndToEnd {
 protected:
  void SetUp() override {
    if (base::kIsSanitized)
      GTEST_SKIP() << "programs of the distribution cannot load a library that was built with a sanitizer";
    if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
    if (!std::filesystem::exists(program("../lib/libkymo_inject.so"))) GTEST_SKIP() << "libkymo_inject.so is not built";
    if (!std::filesystem::exists(program("opencl_work")))
      GTEST_SKIP() << "OpenCL's loader was not found when the tests were built (install ocl-icd-libopencl1)";
    const Ending ending = run({program("opencl_work"), "finish"});
    if (ending.code == kSkipped) GTEST_SKIP() << "no OpenCL device here (install pocl-opencl-icd)";
    ASSERT_EQ(ending.code, 0) << ending.err;
  }

  std::string trace() const { return file("a.kymo"); }
  Ending record(Words words, const StartOptions& options = {}) {
    words.insert(words.begin(), {program("kymo"), "record", "-o", trace(), "--"});
    return run(words, options);
  }

  static size_t count(const Readback& trace, const std::string& name, TrackKind kind) {
    size_t found = 0;
    for (const Event* event : trace.ranges_named(name)) found += trace.tracks[event->track].track.kind == kind ? 1 : 0;
    return found;
  }
  static size_t on_queues(const Readback& trace, const std::string& category) {
    size_t found = 0;
    for (const Event& event : trace.ranges)
      if (trace.tracks[event.track].track.kind == TrackKind::DeviceQueue)
        found += trace.detail_of(event).category == category ? 1 : 0;
    return found;
  }
};

TEST_F(OpenClLayerTest, EveryCommandIsRecorded) {
  ASSERT_EQ(record({program("opencl_work"), "finish"}).code, 0);
  const Readback seen = read_back(trace(), Detail::Arguments);
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(count(seen, "twice", TrackKind::DeviceQueue), 20u) << seen.summary();
  EXPECT_EQ(count(seen, "copy host to device", TrackKind::DeviceQueue), 2u);
  EXPECT_EQ(count(seen, "copy device to host", TrackKind::DeviceQueue), 1u);
  EXPECT_EQ(count(seen, "fill", TrackKind::DeviceQueue), 1u);
  EXPECT_EQ(count(seen, "map", TrackKind::DeviceQueue), 1u);
  EXPECT_EQ(count(seen, "unmap", TrackKind::DeviceQueue), 1u);
  EXPECT_EQ(count(seen, "marker", TrackKind::DeviceQueue), 1u);
  EXPECT_EQ(seen.count("launch {}"), 20u);
  EXPECT_EQ(seen.count("queue copy"), 3u);
  EXPECT_EQ(seen.count("wait for queue"), 1u);
  EXPECT_EQ(seen.count("build program"), 1u);
  // A driver may free the memory on a thread of its own, after the program has exited.
  EXPECT_GE(seen.points_count("device memory"), 1u);

  // Each kernel has the launch that caused it, and ran after the launch began.
  std::map<uint64_t, const Event*> launches;
  for (const Event* launch : seen.ranges_named("launch {}")) launches[launch->correlation] = launch;
  for (const Event* kernel : seen.ranges_named("twice")) {
    ASSERT_TRUE(launches.contains(kernel->correlation));
    bool has_size = false;
    for (const Argument& argument : seen.detail_of(*kernel).arguments)
      has_size |= argument.name == "threads_x" && argument.bits == 4096;
    EXPECT_TRUE(has_size);
  }
}

TEST_F(OpenClLayerTest, CommandsReadItAsTheyReadKymosOwnRuntime) {
  ASSERT_EQ(record({program("opencl_work"), "finish"}).code, 0);
  EXPECT_THAT(run({program("kymo"), "memory", trace()}).out, testing::HasSubstr("1 allocation (16.4 kB), "));
  const Ending stats = run({program("kymo"), "stats", trace()});
  EXPECT_THAT(stats.out, testing::ContainsRegex("20 .*kernel +twice \\(on a device\\)"));
  EXPECT_THAT(run({program("kymo"), "report", trace()}).out, testing::HasSubstr("device idle: launch came late"));
  const Ending info = run({program("kymo"), "info", trace()});
  EXPECT_THAT(info.out, testing::ContainsRegex("interfaces +opencl "));
  EXPECT_THAT(info.out, testing::HasSubstr("OpenCL queue 0"));
  const std::string chrome = file("a.json");
  ASSERT_EQ(run({program("kymo"), "export", trace(), "-o", chrome}).code, 0);
  EXPECT_THAT(contents_of(chrome), testing::HasSubstr("\"kernel\":\"twice\""));
}

TEST_F(OpenClLayerTest, TimesOfTheDeviceAreOnTheClockOfTheTrace) {
  ASSERT_EQ(record({program("opencl_work"), "finish"}).code, 0);
  const trace::Reader reader(trace());
  size_t compared = 0;
  for (const auto& [id, writer] : reader.writers()) {
    std::map<uint64_t, int64_t> launches, kernels;  // begin of the launch, end of the kernel
    int64_t error = 0;
    trace::EventBatch batch;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      const trace::Track& track = writer.tracks.at(chunk.track);
      const trace::ClockMap clock = trace::clock_map(writer.clocks.at(track.clock));
      const bool on_queue = track.kind == TrackKind::DeviceQueue;
      error += static_cast<int64_t>(clock.error_ns());
      reader.read(chunk, batch);
      for (size_t i = 0; i < batch.ranges.size() && !batch.ranges.correlation.empty(); ++i)
        (on_queue ? kernels : launches)[batch.ranges.correlation[i]] =
            clock.to_monotonic_ns(on_queue ? batch.ranges.end[i] : batch.ranges.end[i] - batch.ranges.duration[i]);
    }
    for (const auto& [correlation, begin] : launches) {
      if (correlation == 0 || !kernels.contains(correlation)) continue;
      EXPECT_GE(kernels[correlation] + error, begin);
      ++compared;
    }
  }
  EXPECT_GE(compared, 20u);
}

TEST_F(OpenClLayerTest, ProgramsSeeTheQueuesThatTheyMade) {
  for (const char* what : {"timed", "untimed"}) {
    const Ending ending = record({program("opencl_work"), what});
    EXPECT_EQ(ending.code, 0) << what << ": " << ending.err;
    EXPECT_EQ(read_back(trace()).count("twice"), 5u) << what;
  }
}

TEST_F(OpenClLayerTest, FunctionsOfExtensionsAreRecorded) {
  const Ending ending = record({program("opencl_work"), "buffer"});
  if (ending.code == kSkipped) GTEST_SKIP() << ending.err;
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback seen = read_back(trace());
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(count(seen, "command buffer", TrackKind::DeviceQueue), 3u) << seen.summary();
}

TEST_F(OpenClLayerTest, ACommandThatNeverRunsIsCountedAndDoesNotStopTheExit) {
  const Ending ending = record({program("opencl_work"), "pending"});
  EXPECT_EQ(ending.code, 0) << ending.err;
  const Readback seen = read_back(trace());
  EXPECT_TRUE(sound(seen));
  EXPECT_EQ(count(seen, "twice", TrackKind::DeviceQueue), 1u) << seen.summary();
  EXPECT_EQ(seen.lost(trace::LossCause::Clock), 1u) << seen.summary();
}

TEST_F(OpenClLayerTest, AKilledProgramLeavesItsCommandsWithTheirTimes) {
  record({program("opencl_work"), "killed"});
  const Readback seen = read_back(trace());
  EXPECT_TRUE(sound(seen)) << seen.summary();
  EXPECT_EQ(count(seen, "twice", TrackKind::DeviceQueue), 5u) << seen.summary();
  EXPECT_EQ(seen.lost(trace::LossCause::NotDelivered), 0u) << "all had completed a second before";
  const trace::Reader reader(trace());
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [number, track] : writer.tracks)
      EXPECT_TRUE(trace::clock_map(writer.clocks.at(track.clock)).usable()) << track.name;
}

TEST_F(OpenClLayerTest, AProgramThatIsKilledWithWorkInFlightIsReportedAsIncomplete) {
  const Ending ending = record({program("opencl_work"), "cut"});
  const Readback seen = read_back(trace());
  EXPECT_TRUE(sound(seen)) << seen.summary();
  EXPECT_EQ(seen.lost(trace::LossCause::NotDelivered), 1u) << seen.summary();
  EXPECT_NE(ending.err.find("newest work on devices was not delivered before the process ended: opencl"),
            std::string::npos)
      << ending.err;
}

TEST_F(OpenClLayerTest, AForkDoesNotDisturbTheParent) {
  const Ending ending = record({program("opencl_work"), "fork"});
  EXPECT_EQ(ending.code, 0) << ending.err;
  const Readback seen = read_back(trace());
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(count(seen, "twice", TrackKind::DeviceQueue), 10u) << seen.summary();
}

TEST_F(OpenClLayerTest, ProfilingCanBeLeftToTheProgram) {
  StartOptions options;
  options.environment = {{"KYMO_OPENCL_PROFILING", "off"}};
  ASSERT_EQ(record({program("opencl_work"), "finish"}, options).code, 0);
  const Readback seen = read_back(trace());
  EXPECT_EQ(seen.count("launch {}"), 20u) << "calls are recorded";
  EXPECT_EQ(count(seen, "twice", TrackKind::DeviceQueue), 0u);
}

TEST_F(OpenClLayerTest, KymosOwnRuntimeIsRecordedOnce) {
  if (!std::filesystem::exists(program("device_work")))
    GTEST_SKIP() << "built without the device runtime (KYMO_DEVICES)";
  const auto counts = [&](const Words& options) {
    Words words{program("kymo"), "record", "-o", trace()};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", program("device_work")});
    const Ending ending = run(words, {.environment = {{"KYMO_DEVICE", "opencl:0"}}});
    EXPECT_EQ(ending.code, 0) << ending.err;
    const Readback seen = read_back(trace());
    EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
    std::map<std::string, size_t> found;
    for (const Event& range : seen.ranges) ++found[seen.name_of(range)];
    for (const Event& point : seen.points) ++found[seen.name_of(point)];
    return found;
  };
  const auto without = counts({"--without", "opencl"});
  EXPECT_GE(without.at("scale"), 40u);
  EXPECT_EQ(counts({}), without);
}

// ---- Programs of the distribution
// -------------------------------------------------------------------------------------

TEST_F(OpenClLayerTest, Ffmpeg) {
  const std::string ffmpeg = find_program("ffmpeg");
  if (ffmpeg.empty()) GTEST_SKIP() << "ffmpeg is not installed (scripts/install-deps test)";
  const Words words{ffmpeg,
                    "-nostdin",
                    "-loglevel",
                    "error",
                    "-init_hw_device",
                    "opencl=ocl:0.0",
                    "-filter_hw_device",
                    "ocl",
                    "-f",
                    "lavfi",
                    "-i",
                    "testsrc=duration=0.8:size=320x240:rate=25",
                    "-vf",
                    "format=yuv420p,hwupload,avgblur_opencl,hwdownload,format=yuv420p",
                    "-f",
                    "null",
                    "-"};
  const Ending ending = record(words);
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback seen = read_back(trace(), Detail::Arguments);
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(on_queues(seen, "kernel"), 120u) << "20 frames, 3 planes, 2 directions\n" << seen.summary();
  EXPECT_EQ(on_queues(seen, "copy"), 120u) << seen.summary();
}

TEST_F(OpenClLayerTest, Clpeak) {
  const std::string clpeak = find_program("clpeak");
  if (clpeak.empty()) GTEST_SKIP() << "clpeak is not installed (scripts/install-deps test)";
  const Ending ending = record({clpeak, "--kernel-latency"});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback seen = read_back(trace(), Detail::Arguments);
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(on_queues(seen, "kernel"), 20'002u) << seen.summary();
}

TEST_F(OpenClLayerTest, ClblastStillPassesItsTests) {
  const std::string clblast = find_program("clblast_test_xaxpy");
  if (clblast.empty()) GTEST_SKIP() << "clblast-tests is not installed (scripts/install-deps test)";
  const Ending ending = record({clblast});
  ASSERT_EQ(ending.code, 0) << ending.err;
  EXPECT_EQ(ending.out.find("failed / errors"), std::string::npos) << ending.out;
  const Readback seen = read_back(trace(), Detail::Arguments);
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(on_queues(seen, "kernel"), 144u) << seen.summary();
  EXPECT_EQ(on_queues(seen, "copy"), 2'736u) << seen.summary();
}

TEST_F(OpenClLayerTest, Pyopencl) {
  const std::string python = "/usr/bin/python3";  // the one that the distribution's packages are for
  if (run({python, "-c", "import pyopencl"}).code != 0)
    GTEST_SKIP() << "python3-pyopencl is not installed (scripts/install-deps test)";
  const std::string script = file("script.py");
  write_file(script, R"(import pyopencl as cl, numpy as np
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
assert not queue.properties & cl.command_queue_properties.PROFILING_ENABLE
host = np.arange(1 << 12, dtype=np.float32)
memory = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
program = cl.Program(context, "__kernel void twice(__global float* x) { x[get_global_id(0)] *= 2; }").build()
for i in range(10): program.twice(queue, host.shape, None, memory)
back = np.empty_like(host)
cl.enqueue_copy(queue, back, memory)
assert (back == host * 1024).all()
)");
  const Ending ending = record({python, script});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback seen = read_back(trace());
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(count(seen, "twice", TrackKind::DeviceQueue), 10u) << seen.summary();
  EXPECT_EQ(count(seen, "copy device to host", TrackKind::DeviceQueue), 1u);
}

}  // namespace
}  // namespace kymo::e2e
