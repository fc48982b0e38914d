// Work on real devices: from a program that only uses them, to the contents of its trace.
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "collect/recover.h"
#include "kymo/device.h"
#include "readback.h"
#include "support.h"
#include "trace/clock.h"

namespace kymo::e2e {
namespace {

using trace::TrackKind;

constexpr uint64_t kMiB = 1 << 20;

// Searching for OpenCL devices truncates OCL_ICD_FILENAMES at its first colon, in the environment (ocl-icd does this).
// The programs that are started here must get the complete value.
std::vector<std::string> devices() {
  const char* found = getenv("OCL_ICD_FILENAMES");
  const std::string drivers = found != nullptr ? found : "";
  std::vector<std::string> names;
  for (const auto& backend : device::list_devices())
    for (const auto& device : backend.devices) names.push_back(device.name);
  if (!drivers.empty()) setenv("OCL_ICD_FILENAMES", drivers.c_str(), 1);
  if (names.empty()) names.emplace_back("none");
  return names;
}

class DeviceWorkTest : public EndToEnd, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "none") GTEST_SKIP() << "no device here";
  }
  Ending run_on_device(const std::string& trace, Words words, Environment environment = {}) {
    environment.emplace_back("KYMO_DEVICE", GetParam());
    words.insert(words.begin(), program("device_work"));
    return run_traced(trace, words, environment);
  }
  static std::vector<const Event*> on(const Readback& trace, const std::string& name, TrackKind kind) {
    auto found = trace.ranges_named(name);
    std::erase_if(found, [&](const Event* event) { return trace.tracks[event->track].track.kind != kind; });
    return found;
  }
  static uint64_t number(const Readback& trace, const Event& event, const std::string& name) {
    for (const Argument& argument : trace.detail_of(event).arguments)
      if (argument.name == name) return argument.bits;
    ADD_FAILURE() << trace.name_of(event) << " has no " << name;
    return 0;
  }
  static double real(const Readback& trace, const Event& event, const std::string& name) {
    for (const Argument& argument : trace.detail_of(event).arguments)
      if (argument.name == name) return argument.real;
    ADD_FAILURE() << trace.name_of(event) << " has no " << name;
    return 0;
  }
};

std::string device_test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(, DeviceWorkTest, ::testing::ValuesIn(devices()), device_test_name);

TEST_P(DeviceWorkTest, EveryOperationIsOnTheTrackOfItsQueue) {
  const Ending ending = run_on_device(file("a.kymo"), {});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback trace = read_back(file("a.kymo"), Detail::Arguments);
  EXPECT_TRUE(sound_and_complete(trace)) << trace.summary();

  const auto kernels = on(trace, "scale", TrackKind::DeviceQueue);
  ASSERT_EQ(kernels.size(), 41u);
  std::map<uint64_t, int> by_queue;
  for (const Event* kernel : kernels) {
    ++by_queue[trace.tracks[kernel->track].track.queue];
    EXPECT_GT(kernel->end, kernel->start);
    EXPECT_EQ(trace.detail_of(*kernel).category, "kernel");
  }
  EXPECT_EQ(by_queue.size(), 2u);
  EXPECT_EQ(by_queue[0], 21);
  const Event& last = *kernels.back();
  EXPECT_EQ(number(trace, last, "threads_x"), kMiB / 4);
  EXPECT_GE(number(trace, last, "group_x"), 1u);
  EXPECT_EQ(number(trace, last, "tensor_bytes"), kMiB);

  const auto up = on(trace, "copy host to device", TrackKind::DeviceQueue);
  const auto down = on(trace, "copy device to host", TrackKind::DeviceQueue);
  const auto fills = on(trace, "fill", TrackKind::DeviceQueue);
  ASSERT_EQ(up.size(), 3u);
  ASSERT_EQ(down.size(), 1u);
  ASSERT_EQ(fills.size(), 3u);
  EXPECT_EQ(number(trace, *down[0], "bytes"), kMiB);
  // A device that times submissions has no rate for a copy that has a part of the time of one.
  const auto& arguments = trace.detail_of(*down[0]).arguments;
  if (std::ranges::find(arguments, "operations_in_submission", &Argument::name) == arguments.end())
    EXPECT_GT(real(trace, *down[0], "GB_per_s"), 0);
  else
    EXPECT_GT(number(trace, *down[0], "operations_in_submission"), 1u);
  EXPECT_EQ(number(trace, *fills[0], "bytes"), kMiB);
}

TEST_P(DeviceWorkTest, EachLaunchIsLinkedToItsWork) {
  ASSERT_EQ(run_on_device(file("a.kymo"), {}).code, 0);
  const Readback trace = read_back(file("a.kymo"), Detail::Arguments);
  std::map<uint64_t, const Event*> launches;
  for (const Event* launch : on(trace, "launch {}", TrackKind::Thread)) launches[launch->correlation] = launch;
  ASSERT_EQ(launches.size(), 41u);
  EXPECT_EQ(trace.detail_of(*launches.begin()->second).text, "launch scale");
  for (const Event* kernel : on(trace, "scale", TrackKind::DeviceQueue))
    EXPECT_EQ(launches.count(kernel->correlation), 1u);
}

TEST_P(DeviceWorkTest, DeviceTimesAreBetweenTheHostTimesWithinTheStatedError) {
  const Ending ending = run_on_device(file("a.kymo"), {});
  ASSERT_EQ(ending.code, 0) << ending.err;
  uint64_t begin = 0, end = 0;
  std::istringstream(ending.out) >> begin >> end;
  const trace::Reader reader(file("a.kymo"));
  const Readback trace = read_back(reader);
  const auto& writer = reader.writers().begin()->second;
  size_t seen = 0;
  for (const Event* kernel : on(trace, "scale", TrackKind::DeviceQueue)) {
    const trace::ClockMap clock = trace::clock_map(writer.clocks.at(trace.tracks[kernel->track].track.clock));
    const double error = static_cast<double>(clock.error_ns()) + 1000;
    const auto started = static_cast<double>(clock.to_realtime_ns(kernel->start));
    const auto ended = static_cast<double>(clock.to_realtime_ns(kernel->end));
    if (ended < static_cast<double>(begin)) continue;  // the previous one
    EXPECT_GE(started, static_cast<double>(begin) - error);
    EXPECT_LE(ended, static_cast<double>(end) + error);
    EXPECT_LT(clock.error_ns(), 1'000'000u) << "a millisecond is no use to anyone";
    ++seen;
  }
  EXPECT_GE(seen, 40u);
}

TEST_P(DeviceWorkTest, AllocationsAreReportedWithTheirBytes) {
  ASSERT_EQ(run_on_device(file("a.kymo"), {}).code, 0);
  const Readback trace = read_back(file("a.kymo"), Detail::Arguments);
  size_t allocations = 0, frees = 0;
  for (const Event* point : trace.points_named("device memory")) {
    if (point->kind == trace::PointKind::Allocation) ++allocations;
    if (point->kind == trace::PointKind::Free) ++frees;
    EXPECT_NE(point->id, 0u);
    EXPECT_GE(number(trace, *point, "bytes"), 4u);
  }
  EXPECT_EQ(allocations, 6u);
  EXPECT_EQ(frees, 6u);
}

TEST_P(DeviceWorkTest, DeviceRangesMayOverlap) {
  ASSERT_EQ(run_on_device(file("a.kymo"), {}).code, 0);
  const Readback trace = read_back(file("a.kymo"));
  for (const char* name : {"outer", "inner"}) {
    const auto begins = trace.points_named(name);
    ASSERT_EQ(begins.size(), 1u) << name;
    EXPECT_EQ(begins[0]->kind, trace::PointKind::AsyncBegin);
    EXPECT_EQ(trace.tracks[begins[0]->track].track.kind, TrackKind::DeviceQueue);
    const auto ends = std::count_if(trace.points.begin(), trace.points.end(), [&](const Event& point) {
      return point.kind == trace::PointKind::AsyncEnd && point.id == begins[0]->id && point.start >= begins[0]->start;
    });
    EXPECT_EQ(ends, 1) << name;
  }
}

TEST_P(DeviceWorkTest, EachSessionHasAllOfItsOwnWork) {
  const Ending ending = run({program("device_work"), "sessions", file("a.kymo"), file("b.kymo")},
                            {.environment = {{"KYMO_DEVICE", GetParam()}}});
  ASSERT_EQ(ending.code, 0) << ending.err;
  for (const char* name : {"a.kymo", "b.kymo"}) {
    const Readback trace = read_back(file(name));
    EXPECT_TRUE(sound_and_complete(trace)) << trace.summary();
    EXPECT_EQ(on(trace, "scale", TrackKind::DeviceQueue).size(), 20u) << name;
  }
}

TEST_P(DeviceWorkTest, AForkedChildIsRefusedAndStillRecords) {
  const Ending ending = run_on_device(file("a.kymo"), {"child"});
  EXPECT_EQ(ending.code, 7) << ending.err;
  collect::recover(file("a.kymo"));  // the child ended with _exit
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_EQ(trace.points_count("in the child"), 1u);
  EXPECT_EQ(on(trace, "scale", TrackKind::DeviceQueue).size(), 41u);
}

TEST_P(DeviceWorkTest, KymoRecordRecordsTheSame) {
  const Ending ending = run({program("kymo"), "record", "-o", file("a.kymo"), "--", program("device_work")},
                            {.environment = {{"KYMO_DEVICE", GetParam()}}});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace)) << trace.summary();
  EXPECT_EQ(on(trace, "scale", TrackKind::DeviceQueue).size(), 41u);
}

TEST_P(DeviceWorkTest, CompiledCodeOnDiskIsUsedAndRebuiltIfItIsDamaged) {
  const Environment cache = {{"KYMO_CACHE_DIR", file("cache")}};
  const auto files = [&] {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(file("cache/code")))
      found[entry.path()] = contents_of(entry.path());
    return found;
  };
  ASSERT_EQ(run_on_device(file("a.kymo"), {}, cache).code, 0);
  const auto first = files();
  ASSERT_FALSE(first.empty());
  ASSERT_EQ(run_on_device(file("a.kymo"), {}, cache).code, 0);
  EXPECT_EQ(files(), first) << "nothing was compiled again";
  for (const auto& [path, contents] : first) write_file(path, contents.substr(0, contents.size() / 2));
  const Ending ending = run_on_device(file("a.kymo"), {}, cache);
  ASSERT_EQ(ending.code, 0) << ending.err;
  for (const auto& [path, contents] : files()) EXPECT_GT(contents.size(), first.at(path).size() / 2) << path;
}

// After a fault on CUDA the context cannot be used any more, so the test needs its own process. On a device that runs
// on the CPU, the process itself would fault.
TEST_P(DeviceWorkTest, AKernelFaultIsReportedAndPersists) {
  if (!GetParam().starts_with("cuda"))
    GTEST_SKIP() << "kernels of " << GetParam() << " run inside the process, or their driver recovers";
  const Ending ending = run({program("device_fault")}, {.environment = {{"KYMO_DEVICE", GetParam()}}});
  ASSERT_EQ(ending.code, 0) << ending.err;
  EXPECT_THAT(ending.out, ::testing::HasSubstr("synchronize: DeviceError: "));
  EXPECT_THAT(ending.out, ::testing::HasSubstr("again: DeviceError: "));
  // The driver decides if the process can start again. The test only checks that this is reported.
  EXPECT_THAT(ending.out,
              ::testing::AnyOf(::testing::HasSubstr("reset: fine"), ::testing::HasSubstr("restart the process")));
  EXPECT_THAT(ending.out, ::testing::Not(::testing::HasSubstr("after: fine")));
}

class NoDeviceTest : public EndToEnd {};

TEST_F(NoDeviceTest, AProgramGetsTheReasonIfNoDeviceIsAvailable) {
  const std::string missing = "/nonexistent/library.so";
  const Ending ending = run({program("device_work")}, {.environment = {{"KYMO_OPENCL_LIBRARY", missing},
                                                                       {"KYMO_VULKAN_LIBRARY", missing},
                                                                       {"KYMO_CUDA_LIBRARY", missing}}});
  EXPECT_EQ(ending.code, 77);
  EXPECT_THAT(ending.err, ::testing::HasSubstr("there is no accelerator here"));
  EXPECT_THAT(ending.err, ::testing::HasSubstr("opencl"));
}

TEST_F(NoDeviceTest, AnUnknownDeviceIsRefused) {
  const Ending ending = run({program("device_work")}, {.environment = {{"KYMO_DEVICE", "opencl:99"}}});
  EXPECT_EQ(ending.code, 77);
}

class StaticProgramTest : public EndToEnd {};

TEST_F(StaticProgramTest, ReportsThatItCannotLoadDrivers) {
  if (!std::filesystem::exists(program("uses_device_static"))) GTEST_SKIP() << "the static C library is not installed";
  for (const Environment& environment : {Environment{}, Environment{{"KYMO_DEVICE", "opencl:0"}}}) {
    const Ending ending = run({program("uses_device_static")}, {.environment = environment});
    EXPECT_EQ(ending.code, 1);
    EXPECT_EQ(ending.out,
              "available: 0\n"
              "this program is linked with -static and cannot load the driver of a device: link it without -static "
              "(Kymo's own libraries may be static)\n");
    EXPECT_EQ(ending.err, "");
  }
}

TEST_F(StaticProgramTest, TheSameProgramWithADynamicLinkerHasItsDevices) {
  const bool has_device = devices().front() != "none";
  const Ending ending = run({program("uses_device")});
  EXPECT_EQ(ending.code, has_device ? 0 : 1);
  EXPECT_THAT(ending.out, testing::StartsWith(has_device ? "available: 1\nvalue: 0.5\n" : "available: 0\n"));
}

}  // namespace
}  // namespace kymo::e2e
