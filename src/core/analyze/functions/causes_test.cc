#include "analyze/functions/causes.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "trace/test_recorder.h"

namespace kymo::functions {
namespace {

using trace::FieldType;
using trace::PointKind;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

enum CauseClass : uint32_t { kCauseSample = 1, kCauseWait, kCauseWakeUp, kCauseOnCpu, kCauseNode, kCauseSymbol };
constexpr uint32_t kFirst = 1, kSecond = 2, kThird = 3;
constexpr int64_t kPid = 100, kCode = 0x9000;  // an address without a file, whose name the trace states
constexpr uint64_t kMs = 1'000'000;

class CausesTest : public ::testing::Test {
 protected:
  CausesTest()
      : recorder_(folder_ / "run.kymo", 1, kPid, trace::Writer::Mode::Create, 0, "/usr/bin/train",
                  {{"sampling", "1 kHz"}}) {
    recorder_.add_class(kCauseSample, "sample", "cpu", {{"node", FieldType::UInt}});
    recorder_.add_class(kCauseWait, "off CPU", "cpu",
                        {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}, {"node", FieldType::UInt}});
    recorder_.add_class(kCauseWakeUp, "wake-up", "cpu", {{"pid", FieldType::UInt}, {"tid", FieldType::UInt}});
    recorder_.add_class(kCauseOnCpu, "on CPU", "cpu", {{"ns", FieldType::UInt}});
    recorder_.add_class(kCauseNode, "stack node", "kymo.stack",
                        {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}});
    recorder_.add_class(kCauseSymbol, "symbol", "kymo.stack",
                        {{"address", FieldType::Pointer}, {"name", FieldType::String}});
    recorder_.add_thread(kFirst, tid_of(kFirst), "first");
    recorder_.add_thread(kSecond, tid_of(kSecond), "second");
    recorder_.add_thread(kThird, tid_of(kThird), "third");
  }

  static int64_t tid_of(uint32_t track) { return kPid + track; }

  // The number of a stack, of functions from the outermost to the innermost one.
  int64_t stack(uint32_t track, const std::vector<std::string>& functions) {
    int64_t node = 1;
    for (const std::string& function : functions) {
      const auto [known, is_new] =
          nodes_.try_emplace({track, node, function}, 16 + static_cast<int64_t>(nodes_.size()));
      const auto address = addresses_.try_emplace(function, kCode + 16 * static_cast<int64_t>(addresses_.size()));
      if (is_new) {
        recorder_.point(track, 0, PointKind::Instant, kCauseNode, 0, {known->second, node, address.first->second});
        recorder_.point(track, 0, PointKind::Instant, kCauseSymbol, 0, {address.first->second, function});
      }
      node = known->second;
    }
    return node;
  }
  void wait(uint32_t track, uint64_t begin_ms, uint64_t end_ms, const std::vector<std::string>& functions,
            uint32_t by = 0) {
    const int64_t node = stack(track, functions);
    recorder_.point(track, begin_ms * kMs, PointKind::Sample, kCauseWait, 0,
                    {static_cast<int64_t>((end_ms - begin_ms) * kMs), int64_t{0}, node});
    if (by == 0) return;
    recorder_.point(track, end_ms * kMs, PointKind::Sample, kCauseWakeUp, 0, {kPid, tid_of(by)});
    recorder_.point(track, end_ms * kMs, PointKind::Sample, kCauseWait, 0, {int64_t{1'000}, int64_t{1}, node});
  }
  void run(uint32_t track, uint64_t begin_ms, uint64_t end_ms, const std::vector<std::string>& functions) {
    const int64_t node = stack(track, functions);
    for (uint64_t time = begin_ms + 1; time <= end_ms; ++time)
      recorder_.point(track, time * kMs, PointKind::Sample, kCauseSample, 0, {node});
    recorder_.point(track, end_ms * kMs, PointKind::Sample, kCauseOnCpu, 0,
                    {static_cast<int64_t>((end_ms - begin_ms) * kMs)});
  }
  Causes find() {
    recorder_.close();
    return find_causes(trace::Reader(folder_ / "run.kymo"));
  }

  TemporaryFolder folder_;
  TestRecorder recorder_;
  std::map<std::tuple<uint32_t, int64_t, std::string>, int64_t> nodes_;
  std::map<std::string, int64_t> addresses_;
};

TEST_F(CausesTest, ActionIsThatOfTheCallOfTheProgram) {
  const auto action = [](const std::vector<std::string>& innermost_first) {
    std::vector<symbols::Frame> frames;
    for (const std::string& function : innermost_first) frames.emplace_back().function = function;
    return action_of(frames);
  };
  EXPECT_EQ(action({"__GI___clock_nanosleep", "__GI___nanosleep", "usleep", "rest", "main"}), "sleeps");
  EXPECT_EQ(action({"__lll_lock_wait", "___pthread_mutex_lock", "save"}), "waits for a mutex");
  EXPECT_EQ(action({"__lll_lock_wait", "__pthread_mutex_cond_lock", "___pthread_cond_wait", "take"}),
            "waits for a condition");
  EXPECT_EQ(action({"epoll_wait", "serve"}), "waits for input");
  EXPECT_EQ(action({"__GI___connect", "open"}), "waits for a connection");
  EXPECT_EQ(action({"__syscall_cancel", "serve"}), "");
  EXPECT_EQ(action({"serve", "read_of_program", "main"}), "");
}

TEST_F(CausesTest, LockWasHeldByTheThreadThatEndedTheWait) {
  const std::vector<std::string> waits{"main", "log_result", "pthread_mutex_lock"},
      sleeps{"main", "log_result", "write_line", "usleep", "nanosleep"};
  wait(kSecond, 11, 30, sleeps);
  wait(kFirst, 10, 30, waits, kSecond);
  wait(kFirst, 31, 50, sleeps);
  wait(kThird, 10, 50, waits, kFirst);
  run(kThird, 50, 51, {"main"});
  const Causes causes = find();
  ASSERT_EQ(causes.locks.size(), 1u);
  const WaitedLock& lock = causes.locks[0];
  EXPECT_EQ(lock.kind, "mutex");
  EXPECT_TRUE(lock.excludes());
  EXPECT_EQ(lock.count, 2u);
  EXPECT_EQ(lock.total_ns, 60 * kMs);
  EXPECT_EQ(lock.longest_thread_ns, 40 * kMs);
  ASSERT_EQ(lock.waiting.size(), 1u);
  EXPECT_EQ(lock.waiting[0].function, "log_result");
  std::map<std::string, uint64_t> holders;
  for (const WaitedLock::Place& one : lock.holding) {
    EXPECT_EQ(one.function, "write_line");
    holders[one.thread] += one.ns;
  }
  // The third one waited for the second one too, before that one woke the first one.
  EXPECT_EQ(holders, (std::map<std::string, uint64_t>{{"first", 20 * kMs}, {"second", 40 * kMs}}));
}

TEST_F(CausesTest, ThreadThatEndsTheProgramHeldNothing) {
  run(kFirst, 0, 50, {"main", "work"});
  wait(kSecond, 10, 50, {"want", "pthread_mutex_lock"}, kFirst);
  wait(kThird, 5, 50, {"keep", "usleep"}, kFirst);
  run(kFirst, 50, 60, {"main", "exit", "do_exit"});
  const Causes causes = find();
  ASSERT_EQ(causes.locks.size(), 1u);
  EXPECT_EQ(causes.locks[0].total_ns, 40 * kMs);
  EXPECT_TRUE(causes.locks[0].holding.empty());
}

TEST_F(CausesTest, EndOfAThreadEndsOnlyWaitsForIt) {
  const auto wait_near_end = [&](uint64_t begin_ms, const std::string& call) {
    const int64_t node = stack(kFirst, {"main", call});
    recorder_.point(kFirst, begin_ms * kMs, PointKind::Sample, kCauseWait, 0, {int64_t{10 * kMs}, int64_t{0}, node});
    recorder_.point(kFirst, (begin_ms + 10) * kMs, PointKind::Sample, kCauseWakeUp, 0, {kPid, tid_of(kSecond)});
    recorder_.point(kFirst, (begin_ms + 10) * kMs, PointKind::Sample, kCauseWait, 0,
                    {int64_t{2 * kMs}, int64_t{0}, node});
  };
  wait_near_end(0, "poll");
  wait_near_end(20, "pthread_join");
  recorder_.close();
  const trace::Reader reader(folder_ / "run.kymo");
  const Causes causes = find_causes(reader);
  ASSERT_EQ(causes.waiting.size(), 1u) << "the other wait is for the second thread";
  EXPECT_EQ(causes.waiting[0].count, 1u);
  EXPECT_EQ(causes.waiting[0].ns, 12 * kMs);
  const analyze::StatesOfThreads all = analyze::read_thread_states(reader);
  ASSERT_EQ(all.handovers.size(), 2u);
  const analyze::StatesOfThreads states = read_thread_states_and_stacks(reader);
  ASSERT_EQ(states.handovers.size(), 1u);
  EXPECT_EQ(states.handovers[0].begin, all.handovers[1].begin);
}

TEST_F(CausesTest, ThreadThatOnlyLooksAroundEndsNoPause) {
  for (uint64_t i = 0; i < 15; ++i) {
    wait(kSecond, 100 * i, 100 * i + 99, {"watch", "usleep"});
    run(kSecond, 100 * i + 99, 100 * i + 100, {"watch"});
  }
  wait(kFirst, 0, 950, {"main", "load", "usleep"});
  run(kFirst, 950, 1500, {"main", "work"});
  const Causes causes = find();
  ASSERT_EQ(causes.waiting.size(), 1u);
  EXPECT_EQ(causes.waiting[0].name, "load");
  EXPECT_EQ(causes.waiting[0].thread, "first");
  EXPECT_EQ(causes.waiting[0].action, "sleeps");
  EXPECT_EQ(causes.waiting[0].ns, 950 * kMs);
}

TEST_F(CausesTest, PauseIsOfTheServerAndNotOfItsClient) {
  for (uint64_t i = 0; i < 5; ++i) {
    wait(kSecond, 20 * i, 20 * i + 10, {"serve", "look_up", "usleep"});
    run(kSecond, 20 * i + 10, 20 * i + 14, {"serve"});
    wait(kFirst, 20 * i, 20 * i + 14, {"ask", "read"}, kSecond);
    run(kFirst, 20 * i + 14, 20 * i + 20, {"main"});
    wait(kSecond, 20 * i + 14, 20 * i + 19, {"serve", "read"}, kFirst);
    run(kSecond, 20 * i + 19, 20 * i + 20, {"serve"});
  }
  const Causes causes = find();
  ASSERT_FALSE(causes.waiting.empty());
  EXPECT_EQ(causes.waiting[0].name, "look_up");
  EXPECT_EQ(causes.waiting[0].thread, "second");
  EXPECT_EQ(causes.waiting[0].ns, 50 * kMs);
}

TEST_F(CausesTest, WaitsWithoutAStackMayBeForTheLock) {
  wait(kFirst, 10, 30, {"log_result", "pthread_mutex_lock"}, kSecond);
  recorder_.point(kFirst, 40 * kMs, PointKind::Sample, kCauseWait, 0, {int64_t{15 * kMs}, int64_t{0}, int64_t{0}});
  recorder_.point(kFirst, 55 * kMs, PointKind::Sample, kCauseWakeUp, 0, {kPid, tid_of(kSecond)});
  recorder_.point(kFirst, 55 * kMs, PointKind::Sample, kCauseWait, 0, {int64_t{1'000}, int64_t{1}, int64_t{0}});
  run(kSecond, 0, 60, {"write_line"});
  const Causes causes = find();
  ASSERT_EQ(causes.locks.size(), 1u);
  EXPECT_EQ(causes.locks[0].longest_thread_ns, 20 * kMs);
  EXPECT_EQ(causes.locks[0].maybe_ns, 15 * kMs);
}

TEST_F(CausesTest, ConsumerThatWaitsIsNotTheSlowerSide) {
  for (uint64_t i = 0; i < 5; ++i) {
    wait(kSecond, 10 * i, 10 * i + 9, {"produce", "read_block", "usleep"});
    run(kSecond, 10 * i + 9, 10 * i + 10, {"produce", "give"});
    wait(kFirst, 10 * i + 1, 10 * i + 10, {"consume", "take", "pthread_cond_wait"}, kSecond);
  }
  run(kFirst, 50, 52, {"consume"});
  // A writer of logs waits for all of its life, and holds up nobody.
  for (uint64_t i = 0; i < 5; ++i) wait(kThird, 10 * i, 10 * i + 10, {"write_logs", "pthread_cond_wait"}, kSecond);
  const analyze::SampledFunctions::Limit limit = find().limit;
  EXPECT_EQ(limit.waiting, "first");
  EXPECT_EQ(limit.waiting_function, "take");
  EXPECT_EQ(limit.by, "second");
  EXPECT_EQ(limit.others, 0u);
  EXPECT_EQ(limit.count, 5u);
  EXPECT_EQ(limit.ns, 45 * kMs);
  EXPECT_EQ(limit.function, "read_block");
  EXPECT_EQ(limit.action, "sleeps");
  EXPECT_EQ(limit.function_ns, 40 * kMs);
}

TEST_F(CausesTest, ThreadThatIsAskedForSomethingIsNoConsumer) {
  for (uint64_t i = 0; i < 5; ++i) {
    run(kSecond, 10 * i, 10 * i + 9, {"main", "compute"});
    wait(kSecond, 10 * i + 9, 10 * i + 10, {"main", "collect", "pthread_cond_wait"}, kFirst);
    wait(kFirst, 10 * i, 10 * i + 9, {"serve", "pthread_cond_wait"}, kSecond);
  }
  run(kSecond, 50, 52, {"main"});
  EXPECT_EQ(find().limit.by, "");
}

class EndOfHelperTest : public CausesTest, public ::testing::WithParamInterface<bool> {};

TEST_P(EndOfHelperTest, HelperThatWaitsUntilTheProgramEndsIsNoConsumer) {
  for (uint64_t i = 0; i < 5; ++i) {
    run(kFirst, 10 * i, 10 * i + 9, {"main", "compute"});
    run(kSecond, 10 * i, 10 * i + 10, {"watch"});
    wait(kThird, 10 * i + 1, 10 * i + 10, {"serve", "pthread_cond_wait"}, kSecond);
  }
  run(kSecond, 50, 52, {"watch"});
  wait(kFirst, 50, 51, {"main", "collect", "pthread_cond_wait"}, kThird);
  if (GetParam()) wait(kThird, 51, 53, {"serve", "pthread_cond_wait"}, kFirst);
  run(kFirst, 51, 60, {"main", "exit", "do_exit"});
  EXPECT_EQ(find().limit.waiting, GetParam() ? "" : "third");
}
INSTANTIATE_TEST_SUITE_P(CausesTest, EndOfHelperTest, ::testing::Bool());

TEST_F(CausesTest, SlowerSideThatIsReadyDoesNotRun) {
  for (uint64_t i = 0; i < 5; ++i) {
    const int64_t node = stack(kSecond, {"produce"});
    recorder_.point(kSecond, (10 * i + 2) * kMs, PointKind::Sample, kCauseSample, 0, {node});
    recorder_.point(kSecond, (10 * i + 2) * kMs, PointKind::Sample, kCauseWait, 0,
                    {int64_t{7 * kMs}, int64_t{1}, node});
    recorder_.point(kSecond, (10 * i + 9) * kMs, PointKind::Sample, kCauseSample, 0, {node});
    recorder_.point(kSecond, (10 * i + 10) * kMs, PointKind::Sample, kCauseOnCpu, 0, {int64_t{3 * kMs}});
    wait(kFirst, 10 * i + 1, 10 * i + 10, {"consume", "take", "pthread_cond_wait"}, kSecond);
  }
  run(kFirst, 50, 60, {"consume"});
  const analyze::SampledFunctions::Limit limit = find().limit;
  EXPECT_EQ(limit.ns, 45 * kMs);
  EXPECT_EQ(limit.function, "produce");
  EXPECT_EQ(limit.function_ns, 10 * kMs);
}

TEST_F(CausesTest, SlowestOfThreeThreadsIsTheLimit) {
  for (uint64_t i = 0; i < 5; ++i) {
    run(kThird, 10 * i, 10 * i + 10, {"decode"});
    wait(kSecond, 10 * i + 2, 10 * i + 10, {"filter", "pthread_cond_wait"}, kThird);
    wait(kFirst, 10 * i + 2, 10 * i + 10, {"encode", "pthread_cond_wait"}, kSecond);
  }
  run(kFirst, 50, 52, {"encode"});
  const analyze::SampledFunctions::Limit limit = find().limit;
  EXPECT_EQ(limit.waiting, "second");
  EXPECT_EQ(limit.by, "third");
  EXPECT_EQ(limit.function, "decode");
  EXPECT_EQ(limit.action, "");
}

TEST_F(CausesTest, ThreadsThatWaitForEachOtherInTurnWaitForALock) {
  for (uint64_t i = 0; i < 5; ++i) {
    run(kFirst, 20 * i, 20 * i + 10, {"work"});
    wait(kFirst, 20 * i + 10, 20 * i + 20, {"enter", "futex"}, kSecond);
    wait(kSecond, 20 * i, 20 * i + 10, {"enter", "futex"}, kFirst);
    run(kSecond, 20 * i + 10, 20 * i + 20, {"work"});
  }
  const Causes causes = find();
  EXPECT_EQ(causes.limit.by, "");
  ASSERT_EQ(causes.locks.size(), 1u);
  EXPECT_EQ(causes.locks[0].kind, "lock");
  EXPECT_TRUE(causes.locks[0].excludes());
  EXPECT_EQ(causes.locks[0].total_ns, 100 * kMs);
  ASSERT_FALSE(causes.locks[0].holding.empty());
  EXPECT_EQ(causes.locks[0].holding[0].function, "work");
}

TEST_F(CausesTest, WaitForTheEndOfAThreadIsNoLimit) {
  for (uint64_t i = 0; i < 5; ++i) wait(kFirst, 10 * i, 10 * i + 9, {"main", "pthread_join"}, kSecond);
  run(kSecond, 0, 50, {"work"});
  EXPECT_EQ(find().limit.by, "");
}

TEST_F(CausesTest, FunctionThatIsSeldomButLongHasItsPeriod) {
  for (uint64_t i = 0; i < 4; ++i) {
    run(kFirst, 100 * i, 100 * i + 70, {"main", "step"});
    run(kFirst, 100 * i + 70, 100 * i + 80, {"main", "compact", "sort"});
    wait(kFirst, 100 * i + 80, 100 * i + 100, {"main", "compact", "usleep"});
  }
  const analyze::SampledFunctions::Bursts bursts = find().bursts;
  EXPECT_EQ(bursts.function, "compact");
  EXPECT_EQ(bursts.count, 4u);
  EXPECT_EQ(bursts.ns, 120 * kMs);
  EXPECT_EQ(bursts.median_ns, 30 * kMs);
  EXPECT_EQ(bursts.period_ns, 100 * kMs);
  EXPECT_EQ(bursts.action, "sleeps");
}

TEST_F(CausesTest, FunctionThatIsSometimesLongHasNoBursts) {
  uint64_t time = 0;
  for (const uint64_t length : {10, 30, 70, 12, 28, 6, 50, 9, 16, 25}) {
    run(kFirst, time, time + 60, {"main", "step"});
    run(kFirst, time + 60, time + 60 + length, {"main", "insert"});
    time += 60 + length;
  }
  EXPECT_EQ(find().bursts.function, "");
}

TEST_F(CausesTest, FunctionDoesNotGoOnInAWaitWithoutAStack) {
  for (uint64_t time = 0; time < 1'000; time += 100) {
    for (uint64_t i = 0; i < 6; ++i) {
      run(kFirst, time + 4 * i, time + 4 * i + 3, {"main", "step"});
      recorder_.point(kFirst, (time + 4 * i + 3) * kMs, PointKind::Sample, kCauseWait, 0,
                      {static_cast<int64_t>(kMs), int64_t{0}, int64_t{0}});
    }
    wait(kFirst, time + 25, time + 43, {"main", "rest", "nanosleep"});
    run(kFirst, time + 43, time + 83, {"main"});
  }
  EXPECT_EQ(find().bursts.function, "rest");
}

TEST_F(CausesTest, FunctionThatIsSometimesShortHasNoBursts) {
  for (uint64_t i = 0; i < 40; ++i) {
    run(kFirst, 10 * i, 10 * i + 7, {"main", "step"});
    run(kFirst, 10 * i + 7, 10 * i + 10, {"main", "save"});
  }
  EXPECT_EQ(find().bursts.function, "");
}

}  // namespace
}  // namespace kymo::functions
