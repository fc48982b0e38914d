#include "analyze/functions/locks.h"

#include <gtest/gtest.h>

#include "trace/test_recorder.h"

namespace kymo::functions {
namespace {

using trace::FieldType;
using trace::PointKind;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

enum LockClass : uint32_t { kMutexWait = 1, kConditionWait, kSleep, kLockNode, kLockSymbol, kLockSample };
constexpr uint32_t kFirst = 1, kSecond = 2, kThird = 3;
constexpr int64_t kFirstTid = 101, kSecondTid = 102, kThirdTid = 103, kLockAddress = 0x7000, kOtherAddress = 0x7100;
constexpr int64_t kCode = 0x9000;  // an address without a file, whose name the trace states

class LocksTest : public ::testing::Test {
 protected:
  LocksTest() : recorder_(folder_ / "run.kymo", 1) {
    const std::vector<trace::Field> fields{
        {"object", FieldType::Pointer}, {"node", FieldType::UInt}, {"holder", FieldType::UInt}};
    recorder_.add_class(kMutexWait, "wait for mutex", "wait", fields);
    recorder_.add_class(kConditionWait, "wait for condition", "wait", fields);
    recorder_.add_class(kSleep, "wait in sleep", "wait", fields);
    recorder_.add_class(kLockNode, "stack node", "kymo.stack",
                        {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}});
    recorder_.add_class(kLockSymbol, "symbol", "kymo.stack",
                        {{"address", FieldType::Pointer}, {"name", FieldType::String}});
    recorder_.add_class(kLockSample, "sample", "cpu", {{"node", FieldType::UInt}});
    recorder_.add_thread(kFirst, kFirstTid, "first");
    recorder_.add_thread(kSecond, kSecondTid, "second");
    recorder_.add_thread(kThird, kThirdTid, "third");
    for (const uint32_t track : {kFirst, kSecond, kThird})
      for (int64_t i = 0; i < 2; ++i) {
        recorder_.point(track, 0, PointKind::Instant, kLockNode, 0, {16 + i, int64_t{1}, kCode + 16 * i});
        recorder_.point(track, 0, PointKind::Instant, kLockSymbol, 0,
                        {kCode + 16 * i, std::string(i == 0 ? "waits_here" : "writes_here")});
      }
  }
  static constexpr int64_t kWaitsHere = 16, kWritesHere = 17;

  void wait(uint32_t track, uint64_t begin, uint64_t end, uint32_t kind, int64_t object, int64_t node, int64_t holder) {
    recorder_.begin(track, begin, kind, {object, node, holder});
    recorder_.end(track, end);
  }
  WaitedLocks read() {
    recorder_.close();
    return read_locks(trace::Reader(folder_ / "run.kymo"));
  }

  TemporaryFolder folder_;
  TestRecorder recorder_;
};

TEST_F(LocksTest, WaitsOfOneLockAreSummedUp) {
  wait(kFirst, 100, 300, kMutexWait, kLockAddress, kWaitsHere, 0);
  wait(kFirst, 400, 450, kMutexWait, kLockAddress, kWaitsHere, 0);
  wait(kFirst, 500, 560, kConditionWait, kOtherAddress, kWaitsHere, 0);
  wait(kFirst, 600, 9000, kSleep, 0, kWaitsHere, 0);
  const WaitedLocks all = read();
  ASSERT_EQ(all.locks.size(), 2u);
  EXPECT_EQ(all.locks[0].kind, "mutex");
  EXPECT_EQ(all.locks[0].object, uint64_t{kLockAddress});
  EXPECT_EQ(all.locks[0].count, 2u);
  EXPECT_EQ(all.locks[0].total_ns, 250u);
  EXPECT_EQ(all.locks[0].longest_ns, 200u);
  ASSERT_EQ(all.locks[0].holding.size(), 1u);
  EXPECT_EQ(all.locks[0].holding[0].function, "") << "not known";
  EXPECT_EQ(all.locks[1].kind, "condition");
  EXPECT_TRUE(all.locks[1].holding.empty()) << "nobody holds a condition";
}

TEST_F(LocksTest, HolderIsWhereItSleepsOrRuns) {
  wait(kFirst, 100, 300, kMutexWait, kLockAddress, kWaitsHere, kSecondTid);
  wait(kSecond, 90, 200, kSleep, 0, kWritesHere, 0);
  wait(kFirst, 400, 500, kMutexWait, kOtherAddress, kWaitsHere, kSecondTid);
  recorder_.point(kSecond, 450, PointKind::Sample, kLockSample, 0, {kWritesHere});
  const WaitedLocks all = read();
  ASSERT_EQ(all.locks.size(), 2u);
  for (const WaitedLock& lock : all.locks) {
    ASSERT_EQ(lock.holding.size(), 1u);
    EXPECT_EQ(lock.holding[0].thread, "second");
    EXPECT_EQ(lock.holding[0].function, "writes_here");
    EXPECT_EQ(lock.waiting[0].function, "waits_here");
  }
}

TEST_F(LocksTest, HolderThatWaitsForTheSameLockHadReleasedIt) {
  wait(kFirst, 100, 300, kMutexWait, kLockAddress, kWaitsHere, kSecondTid);
  wait(kSecond, 150, 400, kMutexWait, kLockAddress, kWaitsHere, kFirstTid);
  recorder_.point(kSecond, 450, PointKind::Sample, kLockSample, 0, {kWritesHere});  // after the wait
  const WaitedLocks all = read();
  ASSERT_EQ(all.locks.size(), 1u);
  ASSERT_EQ(all.locks[0].holding.size(), 2u);
  for (const WaitedLock::Place& one : all.locks[0].holding) EXPECT_EQ(one.function, "") << one.thread;
}

TEST_F(LocksTest, EachPartOfAWaitCountsForItsHolderAndWhereItWas) {
  constexpr uint64_t kMs = 1'000'000;
  wait(kSecond, 10 * kMs, 30 * kMs, kMutexWait, kLockAddress, kWaitsHere, kThirdTid);
  wait(kFirst, 20 * kMs, 100 * kMs, kMutexWait, kLockAddress, kWaitsHere, kThirdTid);
  wait(kThird, 5 * kMs, 28 * kMs, kSleep, 0, kWritesHere, 0);
  wait(kSecond, 30 * kMs, 70 * kMs, kSleep, 0, kWritesHere, 0);
  for (uint64_t at = 71; at < 100; ++at)
    recorder_.point(kSecond, at * kMs, PointKind::Sample, kLockSample, 0, {kWaitsHere});
  const WaitedLocks all = read();
  ASSERT_EQ(all.locks.size(), 1u);
  EXPECT_EQ(all.locks[0].total_ns, 100 * kMs);
  EXPECT_EQ(all.locks[0].longest_thread_ns, 80 * kMs);
  ASSERT_EQ(all.locks[0].holding.size(), 3u);
  const auto expect = [&](size_t i, const char* thread, const char* function, uint64_t ms) {
    const WaitedLock::Place& one = all.locks[0].holding[i];
    EXPECT_EQ(one.thread, thread) << i;
    EXPECT_EQ(one.function, function) << i;
    EXPECT_EQ(one.ns, ms * kMs) << i;
  };
  expect(0, "second", "writes_here", 40);
  expect(1, "second", "waits_here", 30);
  expect(2, "third", "writes_here", 30);  // while two threads wait for 10 ms
}

TEST_F(LocksTest, WhereAHolderRunsWithoutSamplesIsNotKnown) {
  constexpr uint64_t kMs = 1'000'000;
  wait(kFirst, 10 * kMs, 100 * kMs, kMutexWait, kLockAddress, kWaitsHere, kSecondTid);
  wait(kSecond, 60 * kMs, 70 * kMs, kSleep, 0, kWritesHere, 0);
  const WaitedLocks all = read();
  ASSERT_EQ(all.locks[0].holding.size(), 2u);
  EXPECT_EQ(all.locks[0].holding[0].function, "");
  EXPECT_EQ(all.locks[0].holding[0].ns, 80 * kMs);
  EXPECT_EQ(all.locks[0].holding[1].ns, 10 * kMs);
}

TEST_F(LocksTest, WaitThatHasNotEndedLastsUntilTheEnd) {
  recorder_.begin(kFirst, 100, kMutexWait, {kLockAddress, int64_t{0}, kSecondTid});  // the stack is not known
  recorder_.begin(kSecond, 200, kMutexWait, {kOtherAddress, kWritesHere, kFirstTid});
  recorder_.point(kThird, 1100, PointKind::Sample, kLockSample, 0, {kWritesHere});
  const WaitedLocks all = read();
  ASSERT_EQ(all.locks.size(), 2u);
  EXPECT_EQ(all.locks[0].total_ns, 1000u);
  EXPECT_EQ(all.locks[0].count, 1u);
  EXPECT_EQ(all.locks[0].unfinished, 1u);
  EXPECT_EQ(all.locks[0].holding[0].thread, "second");
  EXPECT_EQ(all.locks[0].holding[0].function, "writes_here");
  EXPECT_EQ(all.locks[1].holding[0].thread, "first");
}

TEST_F(LocksTest, ATraceWithoutRecordedWaitsHasNoLocks) {
  recorder_.point(kFirst, 100, PointKind::Sample, kLockSample, 0, {kWritesHere});
  EXPECT_TRUE(read().locks.empty());
}

}  // namespace
}  // namespace kymo::functions
