// Work on a device: from the calls of a program to the output of the commands.
#include <algorithm>
#include <map>
#include <sstream>

#include "collect/recover.h"
#include "convert/export_stream.h"
#include "convert/formats/chrome.h"
#include "convert/formats/csv.h"
#include "readback.h"
#include "support.h"
#include "trace/clock.h"

namespace kymo::e2e {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using trace::TrackKind;

constexpr size_t kKernels = 100, kCopies = 10;
constexpr int64_t kKernelNs = 30'000, kKernelStepNs = 40'000;  // the same values as in the program

class QueuesTest : public EitherCollector {
 protected:
  // The events of a name on queues, or on threads.
  static std::vector<const Event*> named(const Readback& trace, const std::string& name, TrackKind kind) {
    std::vector<const Event*> found = trace.ranges_named(name);
    std::erase_if(found, [&](const Event* event) { return trace.tracks[event->track].track.kind != kind; });
    return found;
  }
  static void expect_everything(const Readback& trace) {
    EXPECT_TRUE(sound(trace));
    EXPECT_EQ(trace.lost(), 3u);
    EXPECT_EQ(trace.lost(trace::LossCause::Clock), 3u);
    const auto kernels = named(trace, "kernel {}", TrackKind::DeviceQueue);
    const auto launches = named(trace, "launch", TrackKind::Thread);
    const auto copies = named(trace, "copy", TrackKind::DeviceQueue);
    ASSERT_EQ(kernels.size(), kKernels);
    ASSERT_EQ(launches.size(), kKernels);
    ASSERT_EQ(copies.size(), kCopies);
    for (size_t i = 0; i < kKernels; ++i) {
      EXPECT_EQ(kernels[i]->number, i);
      EXPECT_EQ(kernels[i]->end - kernels[i]->start, 2250u);
      EXPECT_NE(launches[i]->correlation, 0u);
      EXPECT_EQ(kernels[i]->correlation, launches[i]->correlation);
      EXPECT_EQ(launches[i]->depth, 1) << "inside of submit";
    }
    EXPECT_TRUE(std::any_of(copies.begin(), copies.end(), [](const Event* copy) { return copy->lane == 1; }));
    const trace::Track& compute = trace.tracks[kernels[0]->track].track;
    const trace::Track& copy = trace.tracks[copies[0]->track].track;
    EXPECT_EQ(compute.name, "compute");
    EXPECT_EQ(compute.device_uuid, "GPU-1111");
    EXPECT_EQ(compute.context, 7u);
    EXPECT_EQ(copy.queue, 1u);
    EXPECT_EQ(copy.clock, compute.clock);
    EXPECT_EQ(trace.points_count("tensor"), 2u);
  }
};
INSTANTIATE_TEST_SUITE_P(, QueuesTest, ::testing::Values(Collector::InProgram, Collector::KymoRecord), collector_name);

TEST_P(QueuesTest, DeviceWorkIsInTheFile) {
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("queues"), "all"});
  ASSERT_EQ(ending.code, 0) << ending.err;
  expect_everything(read_back(file("a.kymo")));
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_P(QueuesTest, AKilledProcessLosesNothing) {
  run_recorded(GetParam(), file("a.kymo"), {program("queues"), "kill"});
  collect::recover(file("a.kymo"));
  expect_everything(read_back(file("a.kymo")));
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_P(QueuesTest, AForkedChildHasItsOwnQueues) {
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("queues"), "fork"});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  std::map<std::string, std::vector<uint64_t>> numbers;
  for (const Event* kernel : named(trace, "kernel {}", TrackKind::DeviceQueue))
    numbers[trace.tracks[kernel->track].track.name].push_back(kernel->number);
  EXPECT_EQ(numbers["parents"], (std::vector<uint64_t>{0, 3})) << "1 is the child's, on a queue that is not";
  EXPECT_EQ(numbers["childs"], (std::vector<uint64_t>{2}));
}

class QueueFilesTest : public EndToEnd {
 protected:
  // The columns of the lines of one kind.
  static std::vector<std::vector<std::string>> lines_of(const std::string& csv, const std::string& beginning) {
    std::vector<std::vector<std::string>> lines;
    std::istringstream text(csv);
    for (std::string line; std::getline(text, line);) {
      if (!line.starts_with(beginning)) continue;
      std::istringstream columns(line);
      lines.emplace_back();
      for (std::string column; std::getline(columns, column, ',');) lines.back().push_back(column);
    }
    return lines;
  }
};

TEST_F(QueueFilesTest, TimesAreHostTimesWithinTheStatedError) {
  ASSERT_EQ(run_traced(file("a.kymo"), {program("queues"), "all"}).code, 0);
  const trace::Reader reader(file("a.kymo"));
  convert::StringStream csv;
  convert::write_csv(reader, csv);
  const auto submit = lines_of(csv.text(), "range,submit");
  const auto kernels = lines_of(csv.text(), "range,kernel ");
  ASSERT_EQ(submit.size(), 1u);
  ASSERT_EQ(kernels.size(), kKernels);
  enum Column { kTid = 4, kThread, kDevice, kStart, kDuration, kDepth, kLane, kId };
  const int64_t first = std::stoll(kernels[0][kStart]), submitted = std::stoll(submit[0][kStart]);
  EXPECT_LE(first, submitted + 5'000) << "the device's time was taken just before";
  EXPECT_GE(first, submitted - 1'000'000'000);
  for (size_t i = 0; i < kKernels; ++i) {
    EXPECT_NEAR(static_cast<double>(std::stoll(kernels[i][kStart]) - first), static_cast<double>(i) * kKernelStepNs,
                300);
    EXPECT_NEAR(static_cast<double>(std::stoll(kernels[i][kDuration])), kKernelNs, 300);
    EXPECT_EQ(kernels[i][kThread], "compute");
    EXPECT_EQ(kernels[i][kDevice], "GPU-1111");
  }
  const auto& writer = reader.writers().begin()->second;
  const auto device = std::find_if(writer.clocks.begin(), writer.clocks.end(),
                                   [](const auto& clock) { return clock.second.kind == trace::ClockKind::Device; });
  ASSERT_NE(device, writer.clocks.end());
  EXPECT_EQ(device->second.pairs.size(), 2u);
  EXPECT_GE(trace::clock_map(device->second).error_ns(), 250u);
}

TEST_F(QueueFilesTest, ViewersDrawAnArrowFromEachLaunchToItsWork) {
  ASSERT_EQ(run_traced(file("a.kymo"), {program("queues"), "all"}).code, 0);
  convert::StringStream json;
  convert::write_chrome(trace::Reader(file("a.kymo")), json);
  const auto count = [&](const std::string& text) {
    size_t found = 0;
    for (size_t at = json.text().find(text); at != std::string::npos; at = json.text().find(text, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(R"({"ph":"s","id":)"), kKernels);
  EXPECT_EQ(count(R"({"ph":"f","id":)"), kKernels);
  EXPECT_EQ(count(R"("cat":"ac2g","name":"ac2g"})"), kKernels);
  EXPECT_EQ(count(R"("cat":"ac2g","name":"ac2g","bp":"e"})"), kKernels);
  EXPECT_THAT(json.text(), ContainsRegex(R"x("name":"process_name","pid":0,"tid":0,"ts":[0-9]+\.[0-9]+,)x"
                                         R"x("args":\{"name":"GPU 0 \(GPU-1111\)"\})x"));
  EXPECT_THAT(json.text(), ContainsRegex(R"x("args":\{"device":0,"context":7,"stream":0,)x"
                                         R"x("correlation":[0-9]+,"External id":[0-9]+)x"));
}

TEST_F(QueueFilesTest, AQueueIsUsedInSeveralSessionsAndFlushedAtTheEndOfEach) {
  const Ending ending = run({program("queues"), "sessions", folder()});
  ASSERT_EQ(ending.code, 0) << ending.err;
  EXPECT_EQ(ending.out, "2\n");
  for (const char* name : {"first.kymo", "second.kymo"}) {
    const Readback trace = read_back(file(name));
    EXPECT_TRUE(sound_and_complete(trace));
    EXPECT_EQ(trace.count("kernel {}"), 1u) << "not the one between";
    EXPECT_EQ(trace.count("harvested"), 1u);
    EXPECT_EQ(trace.count("launch"), 1u);
  }
}

TEST_F(QueueFilesTest, InfoAndStatsDistinguishQueuesFromThreads) {
  if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
  ASSERT_EQ(run_traced(file("a.kymo"), {program("queues"), "all"}).code, 0);
  const Ending info = run({program("kymo"), "info", file("a.kymo")});
  EXPECT_THAT(info.out, HasSubstr("±250 ns        7      0  GPU-1111  compute"));
  EXPECT_THAT(info.err, HasSubstr("3 events on queue 'compute' because the time is not known"));
  const Ending stats = run({program("kymo"), "stats", file("a.kymo")});
  EXPECT_THAT(stats.out, HasSubstr("kernel {} (on a device)"));
  EXPECT_THAT(stats.out, HasSubstr("batch (on a device, by handle)"));
}

}  // namespace
}  // namespace kymo::e2e
