#include "analyze/path/path.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "analyze/path/what_if.h"
#include "trace/test_recorder.h"

namespace kymo::analyze {
namespace {

using trace::testing::kMonotonicZero;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

constexpr uint32_t kMain = 1, kQueue = 2, kWorker = 3, kOtherQueue = 4, kOtherDevice = 5;
enum Class : uint32_t {
  kWork = 1,
  kLaunch,
  kSync,
  kKernel,
  kFlow,
  kDeviceSync,
  kOtherKernel,
  kStep,
  kGet,
  kBackward,
  kEventWait,
  kOffCpu,
  kWakeUp
};

class PathTest : public ::testing::Test {
 protected:
  PathTest() : recorder_(folder_ / "t.kymo") {
    recorder_.add_class(kWork, "work");
    recorder_.add_class(kLaunch, "cudaLaunchKernel", "cuda_runtime");
    recorder_.add_class(kSync, "cudaStreamSynchronize", "cuda_runtime");
    recorder_.add_class(kKernel, "gemm", "kernel");
    recorder_.add_class(kFlow, "message");
    recorder_.add_thread(kMain, 1, "main");
    recorder_.add_thread(kWorker, 2, "worker");
    recorder_.add_class(kDeviceSync, "cudaDeviceSynchronize", "cuda_runtime");
    recorder_.add_class(kOtherKernel, "relu", "kernel");
    recorder_.add_class(kStep, "step");
    recorder_.add_class(kGet, "future.get");
    recorder_.add_class(kBackward, "autograd::engine::evaluate_function: MmBackward0", "cpu_op");
    recorder_.add_class(kEventWait, "cudaStreamWaitEvent", "cuda_runtime");
    using trace::FieldType;
    recorder_.add_class(kOffCpu, "off CPU", "cpu", {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}});
    recorder_.add_class(kWakeUp, "wake-up", "cpu", {{"pid", FieldType::UInt}, {"tid", FieldType::UInt}});
    for (const uint32_t id : {kQueue, kOtherQueue, kOtherDevice}) {
      trace::Track queue;
      queue.id = id;
      queue.kind = trace::TrackKind::DeviceQueue;
      queue.clock = TestRecorder::kClock;
      queue.device_uuid = id == kOtherDevice ? "gpu 1" : "gpu";
      recorder_.add_track(queue);
    }
  }

  // Two kernels on two queues, and a call that waits until 420. The shorter one ends at 380.
  void two_queues(uint32_t wait, uint32_t other) {
    recorder_.complete(kMain, 100, 110, kLaunch, 0, 0, 1);
    recorder_.complete(kMain, 110, 120, kLaunch, 0, 0, 2);
    recorder_.complete(kMain, 120, 420, wait);
    recorder_.complete(kMain, 420, 500, kWork);
    recorder_.complete(kQueue, 130, 400, kKernel, 0, 0, 1);
    recorder_.complete(other, 130, 380, kOtherKernel, 0, 0, 2);
    open(0, 500);
  }

  void open(int64_t begin, int64_t end) {
    recorder_.close();
    reader_.emplace(folder_ / "t.kymo");
    walk_.emplace(*reader_);
    window_ = {static_cast<int64_t>(kMonotonicZero) + begin, static_cast<int64_t>(kMonotonicZero) + end};
    const StatesOfThreads states = read_thread_states(*reader_);
    activity_ = read_activity(*walk_, read_device_work(*walk_), window_, &states);
    for (const TrackOfTrace& track : walk_->tracks())
      if (track.track->id == kMain) main_ = track.number;
  }
  // "begin-end kind", relative to tick 0.
  std::vector<std::string> path() {
    std::vector<std::string> lines;
    const auto zero = static_cast<int64_t>(kMonotonicZero);
    for (const PathSegment& segment : critical_path(activity_, main_))
      lines.push_back(std::to_string(segment.begin - zero) + "-" + std::to_string(segment.end - zero) + " " +
                      std::string(text_of(segment.kind)));
    return lines;
  }
  int64_t with(std::string_view name, double factor) {
    const auto factor_of = [&](std::string_view one) { return one == name ? factor : 1.0; };
    return what_if(*walk_, activity_, main_, critical_path(activity_, main_), factor_of).length;
  }

  TemporaryFolder folder_;
  TestRecorder recorder_;
  std::optional<trace::Reader> reader_;
  std::optional<EventWalk> walk_;
  Interval window_;
  Activity activity_;
  uint32_t main_ = 0;
};

// work 0-100, launch 100-110, kernel 130-400, a second launch 110-120 whose kernel follows at 400-450, sync 120-470.
TEST_F(PathTest, GoesThroughTheWaitTheQueueAndTheLaunch) {
  recorder_.complete(kMain, 0, 100, kWork);
  recorder_.complete(kMain, 100, 110, kLaunch, 0, 0, 1);
  recorder_.complete(kMain, 110, 120, kLaunch, 0, 0, 2);
  recorder_.complete(kMain, 120, 470, kSync);
  recorder_.complete(kMain, 470, 500, kWork);
  recorder_.complete(kQueue, 130, 400, kKernel, 0, 0, 1);
  recorder_.complete(kQueue, 400, 450, kKernel, 0, 0, 2);
  open(0, 500);
  EXPECT_EQ(path(), (std::vector<std::string>{"0-100 thread", "100-130 launch latency", "130-400 device",
                                              "400-450 device", "450-470 return from the device", "470-500 thread"}));
  EXPECT_EQ(with("nothing", 1), 500);
  EXPECT_EQ(with("gemm", 0.5), 500 - 160);
  EXPECT_EQ(with("work", 0), 500 - 130);
  EXPECT_EQ(with("gemm", 2), 500 + 320);
  // Without kernels, the thread still waits for the second launch to arrive: 110 -> 140, and the return of 20.
  EXPECT_EQ(with("gemm", 0), 500 - 310);
}

TEST_F(PathTest, AWaitForADeviceWaitsForAllOfItsQueues) {
  two_queues(kDeviceSync, kOtherQueue);
  EXPECT_EQ(with("nothing", 1), 500);
  EXPECT_EQ(with("gemm", 0.5), 500 - 20);  // the other kernel is the limit now
  EXPECT_EQ(with("gemm", 0), 500 - 20);
  EXPECT_EQ(with("relu", 0), 500);
  EXPECT_EQ(with("relu", 2), 500 + 230);
}

TEST_F(PathTest, AWaitForAStreamWaitsForTheQueueThatEndedLast) {
  two_queues(kSync, kOtherQueue);
  EXPECT_EQ(with("gemm", 0.5), 500 - 135);
  EXPECT_EQ(with("relu", 2), 500);
}

TEST_F(PathTest, AWaitForADeviceDoesNotWaitForAnother) {
  two_queues(kDeviceSync, kOtherDevice);
  EXPECT_EQ(with("gemm", 0.5), 500 - 135);
}

TEST_F(PathTest, AWaitForADeviceDoesNotWaitForWhatIsLaunchedLater) {
  recorder_.complete(kMain, 100, 110, kLaunch, 0, 0, 1);
  recorder_.complete(kMain, 120, 420, kDeviceSync);
  recorder_.complete(kWorker, 150, 160, kLaunch, 0, 0, 2);  // while the other thread waits
  recorder_.complete(kQueue, 130, 400, kKernel, 0, 0, 1);
  recorder_.complete(kOtherQueue, 170, 410, kOtherKernel, 0, 0, 2);
  open(0, 420);
  EXPECT_EQ(with("gemm", 0.5), 420 - 135);
  EXPECT_EQ(path(), (std::vector<std::string>{"0-100 thread", "100-130 launch latency", "130-400 device",
                                              "400-420 return from the device"}));
}

// The device is done before the call, so the call takes its own time. If the kernel takes longer, the thread waits.
TEST_F(PathTest, AWaitThatWasShortMayBecomeLong) {
  recorder_.complete(kMain, 0, 10, kLaunch, 0, 0, 1);
  recorder_.complete(kMain, 10, 200, kWork);
  recorder_.complete(kMain, 200, 205, kDeviceSync);
  recorder_.complete(kQueue, 20, 120, kKernel, 0, 0, 1);
  open(0, 205);
  EXPECT_EQ(with("nothing", 1), 205);
  EXPECT_EQ(with("gemm", 3), 325);
  EXPECT_EQ(with("work", 0.1), 125);
}

TEST_F(PathTest, AHandoverInsideAnIterationIsFollowed) {
  recorder_.complete(kWorker, 10, 200, kWork);
  recorder_.point(kWorker, 190, trace::PointKind::FlowBegin, kFlow, 7);
  recorder_.complete(kMain, 20, 50, kWork, 1);
  recorder_.complete(kMain, 220, 300, kWork, 1);
  recorder_.complete(kMain, 0, 310, kStep);
  recorder_.point(kMain, 221, trace::PointKind::FlowEnd, kFlow, 7);
  open(0, 310);
  EXPECT_EQ(path(), (std::vector<std::string>{"0-190 thread", "190-220 handover to another thread", "220-310 thread"}));
  EXPECT_EQ(with("work", 0.5), 310 - 90 - 40);  // what the worker does after the send does not count
}

// The kernel's records are on other tracks than the ranges, as those of the sampler are.
TEST_F(PathTest, ThePathGoesOnInTheThreadThatEndedTheWait) {
  constexpr uint32_t kSampled = 20;
  recorder_.add_thread(kSampled, 1, "main");
  recorder_.complete(kMain, 0, 400'000, kStep);
  recorder_.complete(kWorker, 0, 290'000, kWork);
  const auto off = [&](uint64_t time, int64_t ns, bool is_ready) {
    recorder_.point(kSampled, time, trace::PointKind::Sample, kOffCpu, 0, {ns, int64_t{is_ready}});
  };
  const auto wake_up = [&](uint64_t time, int64_t tid) {
    recorder_.point(kSampled, time, trace::PointKind::Sample, kWakeUp, 0, {int64_t{100}, tid});
  };
  off(100'000, 180'000, false);
  wake_up(280'000, 2);
  off(280'000, 20'000, true);
  off(310'000, 50'000, false);
  wake_up(360'000, 99);  // not recorded
  off(370'000, 1'000, false);
  wake_up(371'000, 2);  // too short to matter
  open(0, 400'000);
  EXPECT_EQ(path(), (std::vector<std::string>{"0-280000 thread", "280000-300000 handover to another thread",
                                              "300000-400000 thread"}));
  EXPECT_EQ(with("nothing", 1), 400'000);
  EXPECT_EQ(with("work", 0.5), 400'000 - 140'000);
}

TEST_F(PathTest, ARangeThatOverlapsAnotherIsOnThePath) {
  recorder_.complete(kMain, 0, 100, kWork);
  recorder_.complete(kMain, 99, 200, kOtherKernel, 0, 1);  // by a nanosecond
  open(0, 200);
  EXPECT_EQ(with("relu", 0), 200 - 101);
  EXPECT_EQ(with("work", 0), 200 - 99);
}

TEST_F(PathTest, AHandoverLeadsToTheThreadThatSent) {
  recorder_.complete(kWorker, 0, 200, kWork);
  recorder_.point(kWorker, 190, trace::PointKind::FlowBegin, kFlow, 7);
  recorder_.complete(kMain, 220, 300, kWork);
  recorder_.point(kMain, 221, trace::PointKind::FlowEnd, kFlow, 7);
  open(0, 300);
  EXPECT_EQ(path(), (std::vector<std::string>{"0-190 thread", "190-220 handover to another thread", "220-300 thread"}));
}

TEST_F(PathTest, AMessageThatWasThereBeforeDoesNotCount) {
  recorder_.complete(kWorker, 0, 20, kWork);
  recorder_.point(kWorker, 10, trace::PointKind::FlowBegin, kFlow, 7);
  recorder_.complete(kMain, 5, 100, kWork);
  recorder_.complete(kMain, 100, 300, kWork);
  recorder_.point(kMain, 150, trace::PointKind::FlowEnd, kFlow, 7);
  open(0, 300);
  EXPECT_EQ(path(), (std::vector<std::string>{"0-300 thread"}));
}

TEST_F(PathTest, AMessageIsFollowedThatArrivesInsideOfARange) {
  recorder_.complete(kWorker, 0, 200, kWork);
  recorder_.point(kWorker, 190, trace::PointKind::FlowBegin, kFlow, 7);
  recorder_.complete(kMain, 20, 50, kWork, 1);
  recorder_.complete(kMain, 60, 220, kGet, 1);
  recorder_.point(kMain, 210, trace::PointKind::FlowEnd, kFlow, 7);
  recorder_.complete(kMain, 230, 300, kWork, 1);
  recorder_.complete(kMain, 0, 310, kStep);
  open(0, 310);
  EXPECT_EQ(path(), (std::vector<std::string>{"0-190 thread", "190-210 handover to another thread", "210-310 thread"}));
}

// Times of a trace may be rounded, so that a message arrives when it is sent, and its answer as well.
TEST_F(PathTest, ThreadsThatWaitForEachOtherAtOneTimeAreNotFollowedForever) {
  recorder_.complete(kMain, 0, 300, kWork);
  recorder_.complete(kWorker, 0, 300, kWork);
  for (const uint64_t time : {100, 200}) {
    recorder_.point(kMain, time, trace::PointKind::FlowBegin, kFlow, time);
    recorder_.point(kWorker, time, trace::PointKind::FlowEnd, kFlow, time);
    recorder_.point(kWorker, time, trace::PointKind::FlowBegin, kFlow, time + 1);
    recorder_.point(kMain, time, trace::PointKind::FlowEnd, kFlow, time + 1);
  }
  open(0, 300);
  EXPECT_FALSE(path().empty());
  EXPECT_EQ(with("nothing", 0), 300);
}

// A queue for 8 operations. From the ninth launch on, each waits for the end of the operation eight before it.
TEST_F(PathTest, ALaunchIntoAFullQueueWaitsForTheDevice) {
  constexpr uint64_t kLaunches = 40, kDepth = 8, kLength = 100;
  std::vector<uint64_t> ends;
  uint64_t now = 0;
  for (uint64_t i = 0; i < kLaunches; ++i) {
    const uint64_t begin = now, start = std::max(begin + 6, ends.empty() ? 0 : ends.back());
    now = i < kDepth ? begin + 5 : std::max(begin + 5, ends[i - kDepth] + 3);
    ends.push_back(start + kLength);
    recorder_.complete(kMain, begin, now, kLaunch, 0, 0, i + 1);
    recorder_.complete(kQueue, start, ends.back(), kKernel, 0, 0, i + 1);
  }
  open(0, static_cast<int64_t>(now));
  EXPECT_EQ(path().front(), "0-6 launch latency");
  EXPECT_EQ(path()[1], "6-106 device");
  EXPECT_EQ(path().size(), 34u);  // 32 operations, the first latency and the last return
  EXPECT_EQ(with("gemm", 0.5), static_cast<int64_t>(now) - 32 * 50);
  EXPECT_EQ(with("gemm", 0), 40 * 5);  // the calls are the limit now
}

TEST_F(PathTest, TheBackwardPassIsOnItsThread) {
  recorder_.complete(kMain, 0, 100'000, kWork);
  recorder_.complete(kWorker, 110'000, 200'000, kBackward);
  recorder_.complete(kWorker, 205'000, 300'000, kBackward);
  recorder_.complete(kMain, 320'000, 400'000, kWork);
  open(0, 400'000);
  EXPECT_EQ(path(), (std::vector<std::string>{"0-110000 thread", "110000-300000 thread", "300000-400000 thread"}));
  EXPECT_EQ(with("work", 0.5), 400'000 - 90'000);
  EXPECT_EQ(with("autograd::engine::evaluate_function: MmBackward0", 0), 400'000 - 185'000);
}

TEST_F(PathTest, AnOperationThatWaitsForAnEventLeadsToTheOtherQueue) {
  recorder_.complete(kMain, 0, 10, kLaunch, 0, 0, 1);
  recorder_.complete(kMain, 10, 20, kEventWait, 0, 0, 2);
  recorder_.complete(kMain, 20, 30, kLaunch, 0, 0, 3);
  recorder_.complete(kMain, 30, 500, kDeviceSync);
  recorder_.complete(kQueue, 20, 300, kKernel, 0, 0, 1);
  recorder_.complete(kOtherQueue, 305, 490, kOtherKernel, 0, 0, 3);
  open(0, 500);
  EXPECT_EQ(path(),
            (std::vector<std::string>{"0-20 launch latency", "20-300 device", "300-305 waiting for another queue",
                                      "305-490 device", "490-500 return from the device"}));
  EXPECT_EQ(with("gemm", 0.5), 500 - 140);
}

TEST_F(PathTest, AWaitForAnEventThatIsNotInTheTraceIsNotLaunchLatency) {
  recorder_.complete(kMain, 0, 10, kLaunch, 0, 0, 1);
  recorder_.complete(kMain, 20, 30, kEventWait, 0, 0, 2);
  recorder_.complete(kMain, 30, 40, kLaunch, 0, 0, 3);
  recorder_.complete(kMain, 40, 500, kDeviceSync);
  recorder_.complete(kQueue, 6, 20, kKernel, 0, 0, 1);
  recorder_.complete(kOtherQueue, 305, 490, kOtherKernel, 0, 0, 3);
  open(0, 500);
  EXPECT_EQ(path(), (std::vector<std::string>{"0-30 thread", "30-36 launch latency", "36-305 waiting for another queue",
                                              "305-490 device", "490-500 return from the device"}));
}

// No call says that the second kernel waits. It begins right after one of the other queue, or much later.
TEST_F(PathTest, AnOperationThatBeginsRightAfterOneOfAnotherQueueProbablyWaitedForIt) {
  recorder_.complete(kMain, 0, 1'000, kLaunch, 0, 0, 1);
  recorder_.complete(kMain, 1'000, 2'000, kLaunch, 0, 0, 2);
  recorder_.complete(kMain, 2'000, 500'000, kDeviceSync);
  recorder_.complete(kQueue, 5'000, 300'000, kKernel, 0, 0, 1);
  recorder_.complete(kOtherQueue, 302'000, 490'000, kOtherKernel, 0, 0, 2);
  open(0, 500'000);
  EXPECT_EQ(path(), (std::vector<std::string>{"0-5000 launch latency", "5000-300000 device",
                                              "300000-302000 waiting for another queue", "302000-490000 device",
                                              "490000-500000 return from the device"}));
  EXPECT_EQ(with("gemm", 0.5), 500'000 - 147'500);
}

TEST_F(PathTest, AnOperationThatBeginsLateForNoKnownReasonIsQueued) {
  recorder_.complete(kMain, 0, 1'000, kLaunch, 0, 0, 1);
  recorder_.complete(kMain, 1'000, 2'000, kLaunch, 0, 0, 2);
  recorder_.complete(kMain, 2'000, 500'000, kDeviceSync);
  recorder_.complete(kQueue, 5'000, 200'000, kKernel, 0, 0, 1);
  recorder_.complete(kOtherQueue, 302'000, 490'000, kOtherKernel, 0, 0, 2);
  open(0, 500'000);
  EXPECT_EQ(path(),
            (std::vector<std::string>{"0-1000 thread", "1000-6000 launch latency", "6000-302000 queued, not started",
                                      "302000-490000 device", "490000-500000 return from the device"}));
}

TEST_F(PathTest, AnUnfinishedRangeLastsUntilTheEnd) {
  recorder_.complete(kWorker, 0, 400, kWork);
  recorder_.complete(kMain, 0, 50, kWork);
  recorder_.begin(kMain, 100, kStep);
  open(0, 400);
  ASSERT_EQ(activity_.threads.at(main_).ranges.size(), 2u);
  EXPECT_EQ(activity_.threads.at(main_).ranges[0].end, window_.end);
  EXPECT_EQ(with("step", 0), 100);
}

// Random programs: the path is connected and covers the window, and a replay without changes has its length.
TEST(PathPropertyTest, ThePathCoversTheWindow) {
  std::mt19937 random(5);
  for (int round = 0; round < 80; ++round) {
    const TemporaryFolder folder;
    TestRecorder recorder(folder / "t.kymo");
    recorder.add_class(1, "work");
    recorder.add_class(2, "launch", "cuda_runtime");
    recorder.add_class(3, "cudaDeviceSynchronize", "cuda_runtime");
    recorder.add_class(4, "gemm", "kernel");
    recorder.add_thread(1, 1, "main");
    for (uint32_t queue = 2; queue < 4; ++queue) {
      trace::Track track;
      track.id = queue;
      track.kind = trace::TrackKind::DeviceQueue;
      track.clock = TestRecorder::kClock;
      track.device_uuid = "gpu";
      track.queue = queue;
      recorder.add_track(track);
    }
    uint64_t now = 0, correlation = 0, device[4] = {};
    for (int i = 0; i < 60; ++i) {
      const uint64_t begin = now + random() % 10;
      now = begin + 1 + random() % 30;
      if (random() % 5 == 0) {
        now = std::max(now, std::max(device[2], device[3]) + random() % 5);
        recorder.complete(1, begin, now, 3);
      } else if (random() % 2 == 0) {
        recorder.complete(1, begin, now, 2, 0, 0, ++correlation);
        const uint32_t queue = 2 + random() % 2;
        const uint64_t start = std::max(device[queue], begin + 5 + random() % 20);
        device[queue] = start + 1 + random() % 60;
        recorder.complete(queue, start, device[queue], 4, 0, 0, correlation);
      } else {
        recorder.complete(1, begin, now, 1);
      }
    }
    recorder.close();
    const trace::Reader reader(folder / "t.kymo");
    EventWalk walk(reader);
    const Interval window{static_cast<int64_t>(kMonotonicZero), static_cast<int64_t>(kMonotonicZero + now)};
    const Activity activity = read_activity(walk, read_device_work(walk), window);
    uint32_t main = 0;
    for (const TrackOfTrace& track : walk.tracks())
      if (track.track->id == 1) main = track.number;
    const std::vector<PathSegment> path = critical_path(activity, main);
    ASSERT_FALSE(path.empty());
    int64_t at = window.begin;
    for (const PathSegment& segment : path) {
      EXPECT_EQ(segment.begin, at);
      EXPECT_LT(segment.begin, segment.end);
      at = segment.end;
    }
    EXPECT_EQ(at, window.end);
    const auto with = [&](std::string_view changed, double factor) {
      return what_if(walk, activity, main, path, [&](std::string_view name) { return name == changed ? factor : 1.0; })
          .length;
    };
    EXPECT_EQ(with("gemm", 1), window.end - window.begin);
    // Less work never takes longer.
    for (const std::string_view faster : {"gemm", "work", "launch"})
      EXPECT_LE(with(faster, 0.5), window.end - window.begin);
  }
}

}  // namespace
}  // namespace kymo::analyze
