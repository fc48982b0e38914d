#include "analyze/thread_states.h"

#include <gtest/gtest.h>

#include <memory>

#include "trace/test_recorder.h"

namespace kymo::analyze {
namespace {

using trace::FieldType;
using trace::PointKind;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

enum SampleClass : uint32_t { kSample = 1, kOnCpu, kOffCpu, kWait, kRange, kReady };
constexpr uint32_t kMain = 1, kWorker = 2;

class ThreadStatesTest : public ::testing::Test {
 protected:
  ThreadStatesTest() : recorder_(std::make_unique<TestRecorder>(folder_ / "run.kymo", 1)) {
    recorder_->add_class(kSample, "sample", "cpu", {{"node", FieldType::UInt}});
    recorder_->add_class(kOnCpu, "on CPU", "cpu", {{"ns", FieldType::UInt}});
    recorder_->add_class(kOffCpu, "off CPU", "cpu", {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}});
    recorder_->add_class(kWait, "off CPU", "cpu",
                         {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}, {"node", FieldType::UInt}});
    recorder_->add_class(kRange, "work", "");
    recorder_->add_class(kReady, "ready", "cpu", {{"ns", FieldType::UInt}});
    recorder_->add_thread(kMain, 100, "main");
    recorder_->add_thread(kWorker, 101, "worker");
  }
  void sample(uint32_t track, uint64_t time) {
    recorder_->point(track, time, PointKind::Sample, kSample, 0, {int64_t{1}});
  }
  void on(uint32_t track, uint64_t time, int64_t ns) {
    recorder_->point(track, time, PointKind::Sample, kOnCpu, 0, {ns});
  }
  void off(uint32_t track, uint64_t time, int64_t ns, bool is_preempted = false) {
    recorder_->point(track, time, PointKind::Sample, kOffCpu, 0, {ns, int64_t{is_preempted}});
  }
  std::vector<ThreadStates> read() {
    if (recorder_) recorder_->close();
    recorder_.reset();
    return read_thread_states(trace::Reader(folder_ / "run.kymo")).threads;
  }
  static void expect_sum(const ThreadStates& one) {
    EXPECT_EQ(one.running_ns + one.waiting_ns + one.preempted_ns + one.unknown_ns, one.life_ns());
  }

  TemporaryFolder folder_;
  std::unique_ptr<TestRecorder> recorder_;
};

TEST_F(ThreadStatesTest, ReadyTimeWithoutAPlaceIsAPartOfTheWaits) {
  on(kMain, 1'000, 500);
  off(kMain, 1'000, 3'000);
  off(kMain, 4'000, 400, true);
  recorder_->point(kMain, 4'000, PointKind::Sample, kReady, 0, {int64_t{700}});
  on(kMain, 5'000, 600);
  off(kWorker, 1'000, 100);
  recorder_->point(kWorker, 1'100, PointKind::Sample, kReady, 0, {int64_t{700}});
  on(kWorker, 1'200, 100);
  for (const ThreadStates& one : read()) {
    EXPECT_EQ(one.waiting_ns, one.name == "main" ? 2'300u : 0u);
    EXPECT_EQ(one.preempted_ns, one.name == "main" ? 1'100u : 100u);
    expect_sum(one);
  }
}

TEST_F(ThreadStatesTest, TimesSumToTheLife) {
  sample(kMain, 1'000);  // it began at 500
  off(kMain, 1'500, 3'000);
  off(kMain, 5'000, 400, true);
  recorder_->point(kMain, 6'000, PointKind::Sample, kWait, 0, {int64_t{1'000}, int64_t{0}, int64_t{1}});
  on(kMain, 8'000, 3'100);
  const std::vector<ThreadStates> threads = read();
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0].name, "main");
  EXPECT_EQ(threads[0].tid, 100u);
  EXPECT_EQ(threads[0].life_ns(), 7'500u);
  EXPECT_EQ(threads[0].running_ns, 3'100u);
  EXPECT_EQ(threads[0].waiting_ns, 4'000u);
  EXPECT_EQ(threads[0].preempted_ns, 400u);
  EXPECT_EQ(threads[0].unknown_ns, 0u);
  ASSERT_EQ(threads[0].spans.size(), 7u);  // runs, waits, runs, is ready, runs, waits, runs
  EXPECT_EQ(threads[0].spans[0].end - threads[0].spans[0].begin, 1'000);
  EXPECT_EQ(threads[0].spans[3].state, ThreadState::Preempted);
}

TEST_F(ThreadStatesTest, WhatIsLostIsNotKnown) {
  on(kMain, 1'000, 1'000);
  off(kMain, 1'000, 500);
  sample(kMain, 9'900);
  sample(kMain, 10'000);
  on(kMain, 10'000, 200);
  const std::vector<ThreadStates> threads = read();
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0].life_ns(), 10'000u);
  EXPECT_EQ(threads[0].running_ns, 1'200u);
  EXPECT_EQ(threads[0].unknown_ns, 8'300u);
  expect_sum(threads[0]);
  ASSERT_EQ(threads[0].spans.size(), 3u);
  EXPECT_EQ(threads[0].spans[2].end - threads[0].spans[2].begin, 200);
}

// Records were lost between 3'000 and 9'000: the thread runs for no longer than its CPU time.
TEST_F(ThreadStatesTest, RunningSpansSumToTheCpuTime) {
  sample(kMain, 1'000);
  off(kMain, 2'000, 500, true);
  sample(kMain, 3'000);
  sample(kMain, 9'000);
  off(kMain, 9'400, 600);
  on(kMain, 10'000, 3'100);
  const std::vector<ThreadStates> threads = read();
  ASSERT_EQ(threads.size(), 1u);
  int64_t running = 0;
  for (const StateSpan& span : threads[0].spans)
    if (span.state == ThreadState::Running) running += span.end - span.begin;
  EXPECT_EQ(running, 3'100);
  EXPECT_EQ(threads[0].running_ns, 3'100u);
  EXPECT_GT(threads[0].unknown_ns, 4'000u);
}

TEST_F(ThreadStatesTest, AThreadLivesAsLongAsItsRangesToo) {
  on(kMain, 1'000, 500);
  recorder_->begin(kMain, 2'000, kRange);
  recorder_->end(kMain, 3'000);
  recorder_->begin(kWorker, 0, kRange);  // not sampled
  recorder_->end(kWorker, 3'000);
  const std::vector<ThreadStates> threads = read();
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0].life_ns(), 2'500u);
  EXPECT_EQ(threads[0].unknown_ns, 2'000u);
}

TEST_F(ThreadStatesTest, ThreadsAreLookedAtTogether) {
  off(kMain, 1'000, 8'000);
  on(kMain, 10'000, 2'000);
  off(kWorker, 1'000, 1'000);
  off(kWorker, 4'000, 2'000, true);
  on(kWorker, 7'000, 4'000);
  const ThreadsTogether all = together(read());
  EXPECT_EQ(all.any_running_ns, 1'000u + 2'000 + 1'000 + 1'000);
  EXPECT_EQ(all.any_preempted_ns, 2'000u);
  EXPECT_EQ(all.all_waiting_ns, 1'000u + 2'000);
  EXPECT_EQ(all.most_running, 2u);
  EXPECT_EQ(all.most_wanting, 2u);
  EXPECT_EQ(all.wanting_more_than(0), 1'000u + 5'000 + 1'000);
  EXPECT_EQ(all.wanting_more_than(1), 1'000u);
  EXPECT_EQ(all.wanting_more_than(2), 0u);
}

TEST_F(ThreadStatesTest, ForgedTimesOverflowNothing) {
  for (int i = 0; i < 3; ++i) {
    off(kMain, UINT64_MAX - 5, -1);
    off(kMain, 7, INT64_MAX, true);
    on(kMain, 3, -1);
    on(kMain, UINT64_MAX, -1);
    sample(kMain, 0);
  }
  for (const ThreadStates& one : read()) {
    expect_sum(one);
    EXPECT_LE(together({one}).all_waiting_ns, one.life_ns());
  }
}

}  // namespace
}  // namespace kymo::analyze
