#include "ondemand/iterations.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/clock.h"
#include "kymo/annotate.h"
#include "kymo/ondemand.h"

namespace kymo::ondemand {
namespace {

TEST(IterationsTest, StartTimesOfTheTwoAwaitedIterationsAreStored) {
  Iterations iterations;
  for (int i = 0; i < 3; ++i) iterations.begin_one();
  const uint64_t before = base::monotonic_ns();
  ASSERT_TRUE(iterations.wait_for(5, 7));
  iterations.begin_one();
  iterations.begin_one();
  EXPECT_EQ(iterations.from_ns(), 0u);
  iterations.begin_one();
  EXPECT_GE(iterations.from_ns(), before);
  iterations.begin_one();
  EXPECT_EQ(iterations.to_ns(), 0u);
  iterations.begin_one();
  EXPECT_GE(iterations.to_ns(), iterations.from_ns());
  EXPECT_EQ(iterations.started(), 8u);
}

TEST(IterationsTest, MarksOfBothAwaitedIterationsAreInTheWindow) {
  Iterations iterations;
  ASSERT_TRUE(iterations.wait_for(1, 3));
  std::vector<uint64_t> marks;
  for (int i = 0; i < 5; ++i) iterations.begin_one([&](uint64_t) { marks.push_back(base::monotonic_ns()); });
  EXPECT_LT(marks[0], iterations.from_ns());
  EXPECT_LE(iterations.from_ns(), marks[1]);
  EXPECT_GE(iterations.to_ns(), marks[3]);
  EXPECT_LE(iterations.to_ns(), marks[4] + 1000);
}

TEST(IterationsTest, IterationThatHasBegunCannotBeAwaited) {
  Iterations iterations;
  for (int i = 0; i < 3; ++i) iterations.begin_one();
  EXPECT_FALSE(iterations.wait_for(2, 4));
  EXPECT_TRUE(iterations.wait_for(3, 4));
}

TEST(IterationsTest, IterationsOfManyThreadsAreAllCounted) {
  Iterations iterations;
  ASSERT_TRUE(iterations.wait_for(1000, 39'999));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) iterations.begin_one();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(iterations.started(), 40'000u);
  EXPECT_NE(iterations.from_ns(), 0u);
  EXPECT_NE(iterations.to_ns(), 0u);
}

TEST(IterationsTest, IterationThatBeginsDuringWaitForIsSeenOrRefused) {
  for (int round = 0; round < 2000; ++round) {
    Iterations iterations;
    std::thread other([&] { iterations.begin_one(); });
    const bool waits = iterations.wait_for(0, 9);
    other.join();
    if (waits) {
      EXPECT_NE(iterations.from_ns(), 0u) << round;
    }
  }
}

TEST(IterationsTest, FirstIterationIsTheNextMultiple) {
  EXPECT_EQ(first_iteration(7, 0), 7u);
  EXPECT_EQ(first_iteration(7, 1), 7u);
  EXPECT_EQ(first_iteration(7, 50), 50u);
  EXPECT_EQ(first_iteration(50, 50), 50u);
  EXPECT_EQ(first_iteration(0, 50), 0u);
}

TEST(IterationsTest, OnlyWatchedRangesWithTheFirstSeenNameAreCounted) {
  { Range before{"step 1"}; }
  ASSERT_TRUE(watch_ranges());
  for (int i = 0; i < 5; ++i) {
    Range outer{"step {}", i};
    Range inner{"iteration {}", i};
    Range other{"work"};
  }
  range_push("step 9");
  range_pop();
  stop_watching_ranges();
  { Range after{"step 1"}; }
  EXPECT_EQ(seen_iterations().started(), 6u);
}

TEST(IterationsTest, StepCountsWhileTheProcessRuns) {
  const uint64_t before = steps();
  step();
  step();
  EXPECT_EQ(steps(), before + 2);
}

}  // namespace
}  // namespace kymo::ondemand
