// A sink gets the ends of exactly those ranges whose start it got, also when sinks are turned on and off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "kymo/annotate.h"
#include "record/process.h"
#include "record/sink_test_support.h"
#include "record/thread.h"

namespace kymo::record {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using SentTest = SinksTest;

TEST_F(SentTest, ARangeEndsForTheSinksThatGotItsStart) {
  const RangeId before = range_start("before");
  range_push("outer");
  {
    KYMO_RANGE("scope");
    kymo_add_sink(&Second::kSink);
    range_push("inner");
    range_pop();
  }
  range_pop();
  range_end(before);
  EXPECT_THAT(First::received.take(),
              ElementsAre("start before", "push outer", "push scope", "push inner", "pop", "pop", "pop", "end"));
  EXPECT_THAT(Second::received.take(), ElementsAre("push inner", "pop"));
}

TEST_F(SentTest, ARangeStartedWithoutSinksEndsWithoutThem) {
  kymo_remove_sink(&First::kSink);
  const RangeId started = range_start("started");
  range_push("pushed");
  {
    KYMO_RANGE("scope");
    kymo_add_sink(&First::kSink);
    mark("on");
  }
  EXPECT_EQ(range_pop(), 0);
  range_end(started);
  EXPECT_THAT(First::received.take(), ElementsAre("mark on"));
}

TEST_F(SentTest, ARangePoppedWhileSinksAreOffIsEndedLater) {
  range_push("a");
  range_push("b");
  kymo_remove_sink(&First::kSink);
  range_pop();
  range_push("not sent");
  kymo_add_sink(&First::kSink);
  EXPECT_THAT(First::received.take(), ElementsAre("push a", "push b"));
  range_push("c");  // at depth 2: a and b cannot be distinguished from "not sent" yet
  range_pop();
  EXPECT_EQ(range_pop(), 1);
  EXPECT_EQ(range_pop(), 0);
  EXPECT_THAT(First::received.take(), ElementsAre("push c", "pop", "pop", "pop"));
  range_push("d");
  kymo_remove_sink(&First::kSink);
  range_pop();
  kymo_add_sink(&First::kSink);
  { KYMO_RANGE("e"); }
  EXPECT_THAT(First::received.take(), ElementsAre("push d", "pop", "push e", "pop"));
}

TEST_F(SentTest, ScopesAndPushesThatOverlapStayBalanced) {
  range_push("a");
  {
    KYMO_RANGE("scope");
    range_pop();
    range_push("b");
  }
  range_pop();
  EXPECT_THAT(First::received.take(), ElementsAre("push a", "push scope", "pop", "push b", "pop", "pop"));
}

TEST_F(SentTest, RangesAboveTheMaxDepthAreNotSentAndDoNoHarm) {
  constexpr int kDeep = 1000;
  const auto nest = [](const auto& again, int left) -> void {
    if (left == 0) return;
    KYMO_RANGE("scope");
    again(again, left - 1);
  };
  nest(nest, kDeep);
  const auto scopes = First::received.take();
  EXPECT_EQ(std::count(scopes.begin(), scopes.end(), "push scope"), Sent::kDepth);
  EXPECT_EQ(std::count(scopes.begin(), scopes.end(), "pop"), Sent::kDepth);
  for (int i = 0; i < kDeep; ++i) range_push("p");
  for (int i = kDeep; i > 0; --i) EXPECT_EQ(range_pop(), i - 1);
  const auto pushes = First::received.take();
  EXPECT_EQ(std::count(pushes.begin(), pushes.end(), "pop"), Sent::kDepth);
  { KYMO_RANGE("after"); }
  EXPECT_THAT(First::received.take(), ElementsAre("push after", "pop"));
}

TEST_F(SentTest, ASinkThatDoesNotListenGetsNoStartsAndNoEnds) {
  kymo_add_sink(&Second::kSink);
  First::listens = false;
  range_push("a");
  const RangeId started = range_start("s");
  First::listens = true;
  range_end(started);
  range_pop();
  EXPECT_THAT(First::received.take(), IsEmpty());
  EXPECT_THAT(Second::received.take(), ElementsAre("push a", "start s", "end", "pop"));
}

TEST_F(SentTest, EachThreadIsSentInOrderWhileSinksAreTurnedOnAndOff) {
  constexpr int kRounds = 2000;
  std::atomic<bool> done{false};
  std::thread switching([&] {
    while (!done) {
      kymo_add_sink(&Second::kSink);
      kymo_remove_sink(&Second::kSink);
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < kRounds; ++i) {
        KYMO_RANGE("scope {}", i);
        range_push("pushed");
        range_end(range_start("s"));
        range_pop();
      }
      const auto first = First::received.take();
      ASSERT_EQ(first.size(), size_t{6} * kRounds);
      EXPECT_EQ(first[6 * 7], "push scope 7");
      int open = 0;
      for (const std::string& line : Second::received.take()) {
        open += line.starts_with("push") ? 1 : line == "pop" ? -1 : 0;
        ASSERT_GE(open, 0) << "an unmatched end";
      }
    });
  for (std::thread& thread : threads) thread.join();
  done = true;
  switching.join();
}

TEST_F(SentTest, AForkedChildDoesNotEndRangesOfItsParent) {
  range_push("parent's");
  const RangeId started = range_start("parent's");
  const pid_t child = fork();
  if (child == 0) {
    First::received.take();
    range_push("child's");
    range_pop();
    range_end(range_start("child's"));
    const int depth = range_pop();
    range_end(started);
    const bool good =
        depth == 0 && First::received.take() == std::vector<std::string>{"push child's", "pop", "start child's", "end"};
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  range_end(started);
  range_pop();
  EXPECT_THAT(First::received.take(), ElementsAre("push parent's", "start parent's", "end", "pop"));
}

}  // namespace
}  // namespace kymo::record
