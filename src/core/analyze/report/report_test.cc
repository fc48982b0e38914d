#include "analyze/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "trace/test_recorder.h"

namespace kymo::analyze {
namespace {

using trace::testing::kMonotonicZero;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

constexpr uint32_t kMain = 1, kStream = 2, kCopies = 3;
enum Class : uint32_t { kStep = 1, kOperator, kLaunch, kKernel, kCopy, kNccl, kLoad, kWait };

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() : recorder_(folder_ / "trace.kymo") {
    recorder_.add_class(kStep, "ProfilerStep#{}", "user_annotation", {{"", trace::FieldType::Int}});
    recorder_.add_class(kOperator, "aten::mm", "cpu_op");
    recorder_.add_class(kLaunch, "cudaLaunchKernel", "cuda_runtime");
    recorder_.add_class(kKernel, "gemm", "kernel");
    recorder_.add_class(kCopy, "Memcpy HtoD", "gpu_memcpy");
    recorder_.add_class(kNccl, "ncclDevKernel_AllReduce", "kernel");
    recorder_.add_class(kLoad, "load data", "");
    recorder_.add_class(kWait, "Stream Wait Event", "cuda_sync");
    recorder_.add_thread(kMain, 7, "main");
    for (const uint32_t queue : {kStream, kCopies}) {
      trace::Track track;
      track.id = queue;
      track.kind = trace::TrackKind::DeviceQueue;
      track.clock = TestRecorder::kClock;
      track.device_uuid = "GPU 0";
      track.queue = queue;
      recorder_.add_track(track);
    }
  }

  Report report() {
    recorder_.close();
    return make_report(trace::Reader(folder_ / "trace.kymo"));
  }
  static uint64_t idle(const Report& report, IdleCause cause) {
    return report.devices.at(0).time.idle_ns[static_cast<size_t>(cause)];
  }

  TemporaryFolder folder_;
  TestRecorder recorder_;
};

// One step from 0 to 1000. The device works from 300 to 400 (kernel), 380 to 450 (copy), 450 to 500 (nccl), and 900 to
// 950 (kernel).
TEST_F(ReportTest, EveryNanosecondOfAnIterationHasOnePart) {
  recorder_.begin(kMain, 0, kStep, {int64_t{1}});
  recorder_.complete(kMain, 10, 200, kLoad, 1);
  recorder_.complete(kMain, 250, 280, kLaunch, 1, 0, 11);
  recorder_.complete(kMain, 285, 290, kLaunch, 1, 0, 12);
  recorder_.complete(kMain, 290, 295, kLaunch, 1, 0, 13);
  recorder_.complete(kMain, 700, 850, kLoad, 1);
  recorder_.complete(kMain, 860, 880, kLaunch, 1, 0, 14);
  recorder_.end(kMain, 1000);
  recorder_.complete(kStream, 300, 400, kKernel, 0, 0, 11);
  recorder_.complete(kStream, 450, 500, kNccl, 0, 0, 13);
  recorder_.complete(kStream, 900, 950, kKernel, 0, 0, 14);
  recorder_.complete(kCopies, 380, 450, kCopy, 0, 0, 12);
  const Report report = this->report();

  EXPECT_EQ(report.iterations.source, Iterations::Source::NamedRanges);
  ASSERT_EQ(report.iterations.list.size(), 1u);
  EXPECT_EQ(report.window_ns, 1000u);
  ASSERT_EQ(report.devices.size(), 1u);
  const DeviceTime& time = report.devices[0].time;
  EXPECT_EQ(time.compute_ns, 150u);
  EXPECT_EQ(time.exposed_copies_ns, 50u);         // 400 to 450
  EXPECT_EQ(time.exposed_communication_ns, 50u);  // 450 to 500
  EXPECT_EQ(time.copies_ns, 70u);
  EXPECT_EQ(idle(report, IdleCause::LateLaunch), 250u + 360u);   // 0 to 250, 500 to 860
  EXPECT_EQ(idle(report, IdleCause::LaunchLatency), 50u + 40u);  // 250 to 300, 860 to 900
  EXPECT_EQ(idle(report, IdleCause::NothingLeft), 50u);
  EXPECT_EQ(std::accumulate(report.parts.begin(), report.parts.end(), uint64_t{0},
                            [](uint64_t sum, const ReportPart& part) { return sum + part.ns; }),
            1000u);
  EXPECT_EQ(time.most_outstanding, 3u);

  // While the device waited for a launch: 190 + 150 in "load data", the rest in the step itself.
  ASSERT_EQ(report.devices[0].during_late.size(), 2u);
  EXPECT_EQ(report.devices[0].during_late[0].name, "load data");
  EXPECT_EQ(report.devices[0].during_late[0].self_ns, 340u);
  EXPECT_EQ(report.devices[0].during_late[1].self_ns, 610u - 340u);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].saves_ns, 610u);
}

// A loop that only launches: its iterations end before the device begins.
TEST_F(ReportTest, WorkOutsideOfTheIterationsIsMeasured) {
  trace::Track named;
  named.id = 9;
  named.kind = trace::TrackKind::DeviceQueue;
  named.clock = TestRecorder::kClock;
  named.device_uuid = "uuid";
  named.device_name = "GPU 1 (H200)";
  recorder_.add_track(named);
  for (uint64_t i = 0; i < 3; ++i) {
    recorder_.complete(kMain, 10 * i + 1, 10 * i + 2, kLaunch, 1, 0, i + 1);
    recorder_.complete(kMain, 10 * i, 10 * i + 5, kStep);
    recorder_.complete(9, 100 * i + 100, 100 * i + 150, kKernel, 0, 0, i + 1);
  }
  const Report report = this->report();
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_EQ(report.devices[0].name, "GPU 1 (H200)");
  EXPECT_EQ(report.devices[0].time.busy_outside_ns, 150u);
  EXPECT_EQ(report.devices[0].time.operations, 0u);
  for (const Finding& finding : report.findings) EXPECT_EQ(finding.text.find("Many short"), std::string::npos);
}

TEST_F(ReportTest, AQueuedOperationWaits) {
  recorder_.complete(kMain, 0, 10, kLaunch, 0, 0, 1);
  recorder_.complete(kMain, 10, 20, kLaunch, 0, 0, 2);
  recorder_.complete(kMain, 20, 30, kLaunch, 0, 0, 3);
  recorder_.complete(kStream, 30, 100, kKernel, 0, 0, 1);
  recorder_.complete(kStream, 150, 200, kKernel, 0, 0, 2);  // 100 to 150: waits for an event
  recorder_.complete(kCopies, 90, 140, kWait, 0, 0, 9);
  recorder_.complete(kStream, 220, 300, kKernel, 0, 0, 3);  // 200 to 220: queued
  recorder_.complete(kStream, 310, 400, kKernel);           // its launch is not in the trace
  const Report report = this->report();
  EXPECT_EQ(report.iterations.source, Iterations::Source::WholeTrace);
  EXPECT_EQ(idle(report, IdleCause::LaunchLatency), 30u);
  EXPECT_EQ(idle(report, IdleCause::Waiting), 40u);
  EXPECT_EQ(idle(report, IdleCause::Queued), 10u + 20u);
  EXPECT_EQ(idle(report, IdleCause::Unknown), 10u);
}

// A process that was killed: its collector saw it alive after its last event.
TEST_F(ReportTest, ARangeThatHangsIsTheFirstFinding) {
  for (uint64_t i = 0; i < 3; ++i) {
    recorder_.begin(kMain, 100 * i, kStep, {static_cast<int64_t>(i)});
    recorder_.end(kMain, 100 * i + 90);
  }
  recorder_.begin(kMain, 300, kOperator);
  recorder_.begin(kMain, 310, kLoad);
  recorder_.cut(kMain);
  recorder_.file().ending(recorder_.id(), {2000});
  const Report report = this->report();
  ASSERT_EQ(report.unfinished.size(), 1u);
  EXPECT_EQ(report.unfinished[0].ranges, (std::vector<std::string>{"aten::mm", "load data"}));
  EXPECT_EQ(report.unfinished[0].until - report.unfinished[0].begin, 1690);
  EXPECT_EQ(report.window_ns, 270u + 1690u);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, "unfinished");
  EXPECT_EQ(report.findings[0].saves_ns, 0u);
  EXPECT_NE(report.findings[0].text.find("\"load data\""), std::string::npos) << report.findings[0].text;
  ASSERT_GE(report.parts.size(), 1u);
  EXPECT_EQ(report.parts[0].name, "load data");
  EXPECT_EQ(report.parts[0].ns, 1690u);
}

TEST_F(ReportTest, ARangeThatUsesLittleOfTheCpuWaits) {
  for (uint64_t i = 0; i < 4; ++i) {
    recorder_.begin(kMain, 100 * i, kOperator);
    recorder_.complete(kMain, 100 * i + 10, 100 * i + 70, kLoad, 1);
    recorder_.end(kMain, 100 * i + 80);
  }
  recorder_.close();
  SampledFunctions functions;
  functions.cpu_by_range = {{"load data", 50}, {"aten::mm", 80}};
  const Report report = make_report(trace::Reader(folder_ / "trace.kymo"), &functions);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, "wait");
  EXPECT_EQ(report.findings[0].ns, 240u);
  EXPECT_EQ(report.findings[0].saves_ns, 0u);
  EXPECT_FALSE(report.findings[0].record.empty());
}

TEST_F(ReportTest, LateLaunchesOutsideOfRangesNameTheFunctionThatRuns) {
  recorder_.complete(kMain, 0, 20, kLoad);
  recorder_.complete(kMain, 700, 720, kLaunch, 0, 0, 11);
  recorder_.complete(kStream, 730, 800, kKernel, 0, 0, 11);
  recorder_.close();
  const trace::Reader reader(folder_ / "trace.kymo");
  SampledFunctions functions;
  for (const auto& [id, writer] : reader.writers())
    functions.outside[thread_key(writer, writer.tracks.at(kMain))] = {"decode_batch", "", 600};
  const Report report = make_report(reader, &functions);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, "late launches");
  EXPECT_EQ(report.findings[0].evidence.front(),
            "meanwhile 680 ns outside of any range; decode_batch uses most CPU time there: 600 ns");
  EXPECT_EQ(report.findings[0].command, "kymo stats FILE --callees 'decode_batch'");
}

class SampledReportTest : public ReportTest {
 protected:
  enum SampledClass : uint32_t { kSample = 20, kOnCpu, kOffCpu };
  SampledReportTest() {
    recorder_.add_class(kSample, "sample", "cpu", {{"node", trace::FieldType::UInt}});
    recorder_.add_class(kOnCpu, "on CPU", "cpu", {{"ns", trace::FieldType::UInt}});
    recorder_.add_class(kOffCpu, "off CPU", "cpu",
                        {{"ns", trace::FieldType::UInt}, {"preempted", trace::FieldType::Bool}});
    recorder_.add_thread(kWorker, 8, "worker");
  }
  static constexpr uint32_t kWorker = 9;
  void on(uint32_t track, uint64_t time, int64_t ns) {
    recorder_.point(track, time, trace::PointKind::Sample, kOnCpu, 0, {ns});
  }
  void off(uint32_t track, uint64_t time, int64_t ns, bool is_preempted = false) {
    recorder_.point(track, time, trace::PointKind::Sample, kOffCpu, 0, {ns, int64_t{is_preempted}});
  }
  static uint64_t part(const Report& report, const std::string& name) {
    for (const ReportPart& one : report.parts)
      if (one.name == name) return one.ns;
    return 0;
  }
};

TEST_F(SampledReportTest, AProgramThatSleepsWaits) {
  off(kMain, 1'100, 98'000);
  on(kMain, 100'000, 2'000);
  const Report report = this->report();
  EXPECT_TRUE(report.is_by_state);
  EXPECT_EQ(report.window_ns, 100'000u);
  EXPECT_EQ(part(report, "runs"), 2'000u);
  EXPECT_EQ(part(report, "waits"), 98'000u);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, "waiting");
  EXPECT_EQ(report.findings[0].saves_ns, 98'000u);
  EXPECT_NE(report.findings[0].record.find("--sample-waits"), std::string::npos);
}

TEST_F(SampledReportTest, AThreadThatWaitsForAnotherOneSavesNothing) {
  off(kMain, 1'000, 98'000);
  on(kMain, 100'000, 2'000);
  off(kWorker, 30'000, 40'000, true);
  on(kWorker, 99'500, 59'000);
  const Report report = this->report();
  EXPECT_EQ(report.main_thread, "train worker");
  EXPECT_EQ(part(report, "runs"), 59'000u);
  EXPECT_EQ(part(report, "is ready, but others run"), 40'000u);
  EXPECT_EQ(part(report, "before its begin and after its end"), 1'000u);
  EXPECT_EQ(report.together.all_waiting_ns, 0u);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, "ready");
  EXPECT_EQ(report.findings[0].saves_ns, 40'000u);
  EXPECT_NE(report.findings[0].text.find("Other programs"), std::string::npos);
}

TEST_F(SampledReportTest, ThreadsThatAreSeldomBusyTogetherWaitForOtherPrograms) {
  off(kMain, 31'000, 19'000);
  on(kMain, 52'000, 2'000);
  off(kWorker, 30'000, 40'000, true);
  on(kWorker, 99'500, 59'000);
  const Report report = this->report();
  EXPECT_EQ(report.together.most_wanting, 2u);
  EXPECT_EQ(report.together.most_running, 1u);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, "ready");
  EXPECT_NE(report.findings[0].text.find("Other programs"), std::string::npos) << report.findings[0].text;
}

TEST_F(SampledReportTest, OnlyARangeThatRunsCanBecomeFaster) {
  enum : uint32_t { kTick = 30 };
  recorder_.add_class(kTick, "tick {}", "", {{"", trace::FieldType::Int}});
  recorder_.complete(kMain, 0, 300'000, kLoad);  // sleeps
  recorder_.begin(kMain, 300'000, kTick, {int64_t{1}});
  recorder_.end(kMain, 500'000);                           // sleeps too
  recorder_.complete(kMain, 500'000, 600'000, kOperator);  // others run for most of it
  off(kMain, 1'000, 298'000);
  off(kMain, 301'000, 198'000);
  off(kMain, 510'000, 60'000, true);
  on(kMain, 600'000, 44'000);
  recorder_.close();
  SampledFunctions functions;
  functions.cpu_by_range = {{"aten::mm", 40'000}};
  const Report report = make_report(trace::Reader(folder_ / "trace.kymo"), &functions);
  std::map<std::string, Finding> findings;
  for (const Finding& one : report.findings) findings[one.kind] = one;
  EXPECT_NE(findings["range"].text.find("aten::mm"), std::string::npos) << findings["range"].text;
  EXPECT_EQ(findings["range"].saves_ns, 50'000u);
  EXPECT_NE(findings["wait"].text.find("load data"), std::string::npos) << findings["wait"].text;
  ASSERT_GE(findings["wait"].evidence.size(), 2u);
  EXPECT_EQ(findings["wait"].evidence[0], "300 µs of self time (once), with 2.00 µs of CPU time");
  EXPECT_EQ(findings["wait"].evidence[1], "200 µs of self time in tick {}, which waits too");
}

TEST_F(SampledReportTest, TheSlowerSideIsNamedBeforeItsSymptoms) {
  off(kMain, 1'000, 79'000);
  on(kMain, 100'000, 20'000);
  off(kWorker, 1'000, 78'000);
  on(kWorker, 100'000, 20'000);
  recorder_.close();
  SampledFunctions functions;
  functions.limit = {"thread 7", "take", "thread 8", 1, 70'000, 10, "read_block", "sleeps", 60'000};
  const auto first = [&] { return make_report(trace::Reader(folder_ / "trace.kymo"), &functions).findings.at(0); };
  EXPECT_EQ(first().kind, "slower side");
  EXPECT_NE(first().text.find("thread 7, in take, waits for thread 8 and another thread: "), std::string::npos);
  EXPECT_NE(first().text.find("The slower side is thread 8, mostly in read_block, where it sleeps"), std::string::npos);
  EXPECT_EQ(first().saves_ns, 70'000u);
  functions.limit = {};
  functions.bursts = {"compact", "sleeps", 4, 60'000, 15'000, 25'000};
  EXPECT_EQ(first().kind, "bursts");
  EXPECT_NE(first().text.find("compact sleeps 4 times, for 15.0 µs each time, every 25.0 µs: "), std::string::npos)
      << first().text;
}

TEST_F(SampledReportTest, ALockIsNamedBeforeItsSymptomThatAllThreadsWait) {
  off(kMain, 1'000, 80'000);
  off(kWorker, 1'000, 80'000);
  on(kMain, 100'000, 20'000);
  on(kWorker, 100'000, 20'000);
  recorder_.close();
  SampledFunctions functions;
  functions.lock.kind = "mutex";
  functions.lock.count = 2;
  functions.lock.ns = 110'000;
  const auto first = [&](uint64_t longest_thread_ns) {
    functions.lock.longest_ns = functions.lock.longest_thread_ns = longest_thread_ns;
    return make_report(trace::Reader(folder_ / "trace.kymo"), &functions).findings.at(0).kind;
  };
  EXPECT_EQ(first(70'000), "lock");
  EXPECT_EQ(first(30'000), "waiting") << "the lock explains less than half of it";
  functions.limit = {"thread 7", "join", "thread 8", 1, 99'000, 10, "log_result", "waits for a mutex", 99'000};
  EXPECT_EQ(first(70'000), "lock") << "the slower side waits for it";
}

TEST_F(SampledReportTest, ALockForWhichThreadsWaitInTurnSavesTheLongestWaitOfOneThread) {
  off(kMain, 1'000, 49'000);
  on(kMain, 100'000, 50'000);
  off(kWorker, 50'000, 40'000);
  on(kWorker, 99'500, 59'500);
  recorder_.close();
  SampledFunctions functions;
  functions.lock.kind = "mutex";
  functions.lock.count = 2;
  functions.lock.ns = 89'000;
  functions.lock.longest_ns = functions.lock.longest_thread_ns = 49'000;
  functions.is_lock_recorded = true;
  const auto findings = [&] { return make_report(trace::Reader(folder_ / "trace.kymo"), &functions).findings; };
  ASSERT_FALSE(findings().empty());
  EXPECT_EQ(findings()[0].kind, "lock");
  EXPECT_EQ(findings()[0].saves_ns, 49'000u);
  EXPECT_NE(findings()[0].command.find("--by lock"), std::string::npos);
  functions.lock.unfinished = 1;
  EXPECT_EQ(findings()[0].kind, "lock");
  EXPECT_EQ(findings()[0].saves_ns, 0u) << "nobody knows when it would have ended";
}

TEST_F(ReportTest, WithoutADeviceThePartsAreTheSelfTimesOfTheMainThread) {
  for (uint64_t i = 0; i < 4; ++i) {
    recorder_.begin(kMain, 100 * i, kOperator);
    recorder_.complete(kMain, 100 * i + 10, 100 * i + 40, kLoad, 1);
    recorder_.end(kMain, 100 * i + 80);
  }
  const Report report = this->report();
  EXPECT_EQ(report.iterations.source, Iterations::Source::RepeatingRange);
  EXPECT_EQ(report.iterations.name, "aten::mm");
  EXPECT_EQ(report.iterations.list.size(), 4u);
  EXPECT_EQ(report.window_ns, 320u);
  EXPECT_EQ(report.median_ns, 80u);
  ASSERT_EQ(report.parts.size(), 2u);
  EXPECT_EQ(report.parts[0].ns, 200u);
  EXPECT_EQ(report.parts[1].ns, 120u);
  EXPECT_EQ(report.host.outside_ns, 0u);
}

TEST_F(ReportTest, StepMarksAreIterations) {
  recorder_.add_class(20, "step {}", "kymo", {{"", trace::FieldType::Int}});
  recorder_.complete(kMain, 5, 95, kLoad);
  for (const uint64_t time : {10u, 40u, 90u})
    recorder_.point(kMain, time, trace::PointKind::Instant, 20, 0, {int64_t{1}});
  const Report report = this->report();
  EXPECT_EQ(report.iterations.source, Iterations::Source::StepMarks);
  ASSERT_EQ(report.iterations.list.size(), 2u);
  EXPECT_EQ(report.iterations.list[0].begin, static_cast<int64_t>(kMonotonicZero + 10));
  EXPECT_EQ(report.longest_ns, 50u);
  ASSERT_EQ(report.host.rows.size(), 1u);
  EXPECT_EQ(report.host.rows[0].self_ns, 80u);
}

TEST_F(ReportTest, TheLoopAroundAnOptimizerHasIterations) {
  recorder_.add_class(20, "Optimizer.step#Adam.step", "user_annotation", {});
  recorder_.complete(kMain, 0, 30, kLoad);  // the start of the program
  for (const uint64_t time : {40u, 60u, 90u}) {
    recorder_.complete(kMain, time - 10, time - 5, kOperator);
    recorder_.complete(kMain, time - 5, time, 20);
  }
  const Report report = this->report();
  EXPECT_EQ(report.iterations.source, Iterations::Source::OptimizerSteps);
  EXPECT_EQ(report.iterations.name, "Optimizer.step#Adam.step");
  ASSERT_EQ(report.iterations.list.size(), 2u);
  EXPECT_EQ(report.iterations.list[1].begin, static_cast<int64_t>(kMonotonicZero + 60));
  EXPECT_EQ(report.longest_ns, 30u);
}

TEST_F(ReportTest, ALoopThatWaitsForItsDataLoaderIsNamed) {
  recorder_.add_class(20, "Optimizer.step#Adam.step", "user_annotation", {});
  recorder_.add_class(21, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "user_annotation", {});
  for (const uint64_t time : {100u, 200u, 300u}) {
    recorder_.complete(kMain, time - 60, time - 20, 21);
    recorder_.complete(kMain, time - 20, time, 20);
  }
  const Report report = this->report();
  const auto found = std::ranges::find(report.findings, "data loader", &Finding::kind);
  ASSERT_NE(found, report.findings.end());
  EXPECT_EQ(found->ns, 80u);
  EXPECT_THAT(found->text, testing::HasSubstr("waits for the workers of its DataLoader: 40.0 % of the iterations"));
}

TEST_F(ReportTest, TheLastTimeThatADeviceWasOutOfMemoryIsTheFirstFinding) {
  recorder_.add_class(20, "out of memory: {bytes} more on {device}", "memory",
                      {{"bytes", trace::FieldType::ByteCount}, {"device", trace::FieldType::String}});
  recorder_.complete(kMain, 0, 100, kLoad);
  recorder_.point(kMain, 50, trace::PointKind::Instant, 20, 0, {uint64_t{4096}, "GPU"});
  const Report report = this->report();
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(std::string_view(report.findings.front().kind), "out of memory");
  EXPECT_THAT(report.findings.front().text, testing::HasSubstr("on GPU"));
}

TEST_F(ReportTest, ProfilerThatMarksItsStepsHasRangesForAll) {
  recorder_.add_class(20, "step {}", "kymo", {{"", trace::FieldType::Int}});
  for (const uint64_t time : {10u, 50u, 90u}) {
    recorder_.point(kMain, time, trace::PointKind::Instant, 20, 0, {int64_t{1}});
    recorder_.complete(kMain, time + 1, time + 39, kStep);
  }
  const Report report = this->report();
  EXPECT_EQ(report.iterations.source, Iterations::Source::NamedRanges);
  EXPECT_EQ(report.iterations.name, "ProfilerStep#{}");
  EXPECT_EQ(report.iterations.list.size(), 3u);
}

TEST_F(ReportTest, ProfilerThatHasSeenOnlySomeStepsDoesNotHideTheOthers) {
  recorder_.add_class(20, "step {}", "kymo", {{"", trace::FieldType::Int}});
  for (uint64_t time = 10; time < 70; time += 10)
    recorder_.point(kMain, time, trace::PointKind::Instant, 20, 0, {int64_t{1}});
  recorder_.complete(kMain, 11, 19, kStep);
  recorder_.complete(kMain, 21, 29, kStep);
  const Report report = this->report();
  EXPECT_EQ(report.iterations.source, Iterations::Source::StepMarks);
  EXPECT_EQ(report.iterations.list.size(), 5u);
}

const HostRow* find(const Report& report, const std::string& name) {
  for (const HostRow& row : report.host.rows)
    if (row.name == name) return &row;
  return nullptr;
}

// The second range begins a nanosecond before the first one ends, as in traces of other tools.
TEST_F(ReportTest, RangesThatOverlapAreAllCounted) {
  recorder_.complete(kMain, 0, 100, kLoad);
  recorder_.complete(kMain, 99, 200, kOperator, 0, 1);
  recorder_.complete(kMain, 120, 130, kNccl, 1, 1);
  recorder_.complete(kMain, 250, 300, kLoad);
  recorder_.cut(kMain);
  const Report report = this->report();
  EXPECT_EQ(report.window_ns, 300u);
  ASSERT_EQ(report.host.rows.size(), 3u);
  EXPECT_EQ(find(report, "load data")->self_ns, 99u + 50u);
  EXPECT_EQ(find(report, "load data")->total_ns, 150u);
  EXPECT_EQ(find(report, "aten::mm")->self_ns, 101u - 10u);
  EXPECT_EQ(find(report, "ncclDevKernel_AllReduce")->self_ns, 10u);
  EXPECT_EQ(report.host.outside_ns, 50u);
}

// Imports write the ranges of other lanes after all others.
TEST_F(ReportTest, LanesInLaterChunksAreCountedAndOpenRangesToo) {
  recorder_.begin(kMain, 0, kOperator);  // never ends
  recorder_.complete(kMain, 10, 100, kLoad, 1);
  recorder_.cut(kMain);
  recorder_.complete(kMain, 100, 300, kLoad, 1);
  recorder_.cut(kMain);
  trace::EventBatch lanes;
  lanes.track = lanes.ring = kMain;
  lanes.ranges.end = {150};
  lanes.ranges.duration = {100};
  lanes.ranges.class_id = {kNccl};
  lanes.ranges.depth = {0};
  lanes.ranges.lane = {1};
  recorder_.file().events(recorder_.id(), lanes);
  const Report report = this->report();
  ASSERT_EQ(report.host.rows.size(), 3u);
  EXPECT_EQ(find(report, "load data")->self_ns, 40u + 200u);
  EXPECT_EQ(find(report, "ncclDevKernel_AllReduce")->self_ns, 50u);
  EXPECT_EQ(find(report, "aten::mm")->self_ns, 10u);
  EXPECT_EQ(report.host.outside_ns, 0u);
}

TEST_F(ReportTest, RepeatingRangesThatOverlapAreAllIterations) {
  for (uint64_t i = 0; i < 6; ++i) {
    const auto lane = static_cast<uint16_t>(i % 2);
    recorder_.complete(kMain, 100 * i + 10, 100 * i + 40, kLoad, 1, lane);
    recorder_.complete(kMain, 100 * i + 50, 100 * i + 60, kNccl, 0, 3);  // inside, on a lane of its own
    recorder_.complete(kMain, 100 * i, 100 * i + 101, kOperator, 0, lane);
  }
  const Report report = this->report();
  EXPECT_EQ(report.iterations.source, Iterations::Source::RepeatingRange);
  EXPECT_EQ(report.iterations.name, "aten::mm");
  EXPECT_EQ(report.iterations.list.size(), 6u);
  EXPECT_EQ(report.window_ns, 601u);
  EXPECT_EQ(report.host.outside_ns, 0u);
}

TEST_F(ReportTest, AnyDepthOfRecursionHasItsSelfTime) {
  constexpr uint64_t kLevels = 70'000;
  for (uint64_t level = 0; level < kLevels; ++level)
    recorder_.begin(kMain, 10 * level, level + 100 < kLevels ? kLoad : kOperator);
  for (uint64_t level = kLevels; level-- > 0;) {
    recorder_.complete(kMain, 30 * kLevels - 10 * level - 8, 30 * kLevels - 10 * level - 5, kNccl, UINT16_MAX);
    recorder_.end(kMain, 30 * kLevels - 10 * level);
  }
  const Report report = this->report();
  ASSERT_EQ(report.host.rows.size(), 3u);
  EXPECT_EQ(find(report, "ncclDevKernel_AllReduce")->self_ns, 3 * kLevels);
  EXPECT_EQ(find(report, "load data")->self_ns, 17 * (kLevels - 100));
  EXPECT_EQ(find(report, "aten::mm")->self_ns, report.window_ns - 3 * kLevels - 17 * (kLevels - 100));
}

TEST_F(ReportTest, IterationsThatDifferOnlyInTheirNumbersAreOneRow) {
  for (uint32_t i = 0; i < 5; ++i) {
    recorder_.add_class(20 + i, "step " + std::to_string(i));
    recorder_.complete(kMain, 100 * i + 10, 100 * i + 40, kLoad, 1);
    recorder_.complete(kMain, 100 * i, 100 * i + 80, 20 + i);
  }
  const Report report = this->report();
  EXPECT_EQ(report.iterations.name, "step {}");
  ASSERT_EQ(report.host.rows.size(), 2u);
  ASSERT_NE(find(report, "step {}"), nullptr);
  EXPECT_EQ(find(report, "step {}")->count, 5u);
  EXPECT_EQ(find(report, "step {}")->self_ns, 250u);
}

TEST_F(ReportTest, OfIterationsThatAreEquallyLongTheFirstIsTheLongest) {
  for (uint64_t i = 0; i < 4; ++i) recorder_.complete(kMain, 100 * i, 100 * i + (i == 0 ? 50 : 80), kStep);
  const Report report = this->report();
  EXPECT_EQ(report.longest_iteration, 1u);
  EXPECT_EQ(report.iterations.longest(), 1u);
  EXPECT_EQ(report.iterations.median(), 1u);
}

// Every fourth step loads data, inside of the operator that all steps have.
TEST_F(ReportTest, TheRangeThatMakesIterationsLongerIsNamed) {
  uint64_t time = 0;
  for (int64_t i = 0; i < 16; ++i) {
    const uint64_t more = i % 4 == 3 ? 1'000 : 0, end = time + 500 + more;
    recorder_.begin(kMain, time, kStep, {i});
    recorder_.begin(kMain, time + 10, kOperator);
    if (more > 0) recorder_.complete(kMain, time + 20, time + 20 + more, kLoad, 2);
    recorder_.end(kMain, end - 10);
    recorder_.end(kMain, end);
    time = end;
  }
  const Report report = this->report();
  EXPECT_EQ(report.longer.count, 4u);
  EXPECT_EQ(report.longer.more_ns, 4'000u);
  EXPECT_EQ(report.longer.name, "load data");
  EXPECT_EQ(report.longer.explained_ns, 4'000u);
}

TEST_F(ReportTest, AnUnknownClassWithALargeNumberIsHarmless) {
  recorder_.complete(kMain, 0, 100, 0xFFFFFFF0);
  recorder_.complete(kMain, 100, 150, kLoad);
  const Report report = this->report();
  EXPECT_EQ(report.host.rows.size(), 2u);
  EXPECT_EQ(report.host.outside_ns, 0u);
}

TEST_F(ReportTest, AnEmptyTraceHasAnEmptyReport) {
  const Report report = this->report();
  EXPECT_EQ(report.window_ns, 0u);
  EXPECT_TRUE(report.parts.empty());
  EXPECT_TRUE(report.findings.empty());
}

// Random work, and every nanosecond one by one.
TEST(ReportPropertyTest, PartsAgreeWithAClockThatLooksAtEachNanosecond) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    TemporaryFolder folder;
    TestRecorder recorder(folder / "t.kymo");
    recorder.add_class(1, "launch", "cuda_runtime");
    recorder.add_class(2, "gemm", "kernel");
    recorder.add_class(3, "Memcpy", "gpu_memcpy");
    recorder.add_class(4, "nccl", "kernel");
    recorder.add_thread(1, 1, "main");
    constexpr uint32_t kQueues = 3;
    constexpr uint64_t kEnd = 3000;
    for (uint32_t queue = 0; queue < kQueues; ++queue) {
      trace::Track track;
      track.id = 2 + queue;
      track.kind = trace::TrackKind::DeviceQueue;
      track.clock = TestRecorder::kClock;
      track.device_uuid = "gpu";
      track.queue = queue;
      recorder.add_track(track);
    }
    std::vector<uint8_t> kind(kEnd, 0);  // 0 idle, 1 copy, 2 communication, 3 compute: the largest counts
    uint64_t launch = 0, correlation = 0;
    std::vector<uint64_t> free(kQueues, 0);
    recorder.complete(1, 0, 1, 1);
    for (;;) {
      const uint32_t queue = random() % kQueues;
      launch += 2 + random() % 60;
      const uint64_t launched = launch + 1 + random() % 10;
      const uint64_t start = std::max(free[queue], launched + random() % 50), end = start + 1 + random() % 80;
      if (end >= kEnd - 1) break;
      recorder.complete(1, launch, launched, 1, 0, 0, ++correlation);
      const uint32_t what = 2 + random() % 3;
      recorder.complete(2 + queue, start, end, what, 0, 0, correlation);
      const uint8_t rank = what == 2 ? 3 : what == 4 ? 2 : 1;
      for (uint64_t t = start; t < end; ++t) kind[t] = std::max(kind[t], rank);
      free[queue] = end;
      launch = launched;
    }
    recorder.complete(1, kEnd - 1, kEnd, 1);
    recorder.close();
    const Report report = make_report(trace::Reader(folder / "t.kymo"));
    const auto count = [&](uint8_t rank) { return static_cast<uint64_t>(std::count(kind.begin(), kind.end(), rank)); };
    if (report.devices.empty()) continue;
    const DeviceTime& time = report.devices[0].time;
    EXPECT_EQ(report.window_ns, kEnd);
    EXPECT_EQ(time.compute_ns, count(3));
    EXPECT_EQ(time.exposed_communication_ns, count(2));
    EXPECT_EQ(time.exposed_copies_ns, count(1));
    EXPECT_EQ(time.idle_total_ns(), count(0));
    uint64_t sum = 0;
    for (const ReportPart& part : report.parts) sum += part.ns;
    EXPECT_EQ(sum, kEnd);
    // What the thread did while the device waited is all of the late time.
    uint64_t meanwhile = report.devices[0].during_late_outside_ns;
    for (const HostRow& row : report.devices[0].during_late) meanwhile += row.self_ns;
    EXPECT_EQ(meanwhile, time.idle_ns[static_cast<size_t>(IdleCause::LateLaunch)]);
  }
}

}  // namespace
}  // namespace kymo::analyze
