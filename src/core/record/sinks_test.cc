// A sink gets the ends of exactly those ranges whose start it got, also when sinks are turned on and off.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>

#include "kymo/annotate.h"
#include "record/process.h"
#include "record/sink_test_support.h"
#include "record/slots.h"

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

// Sinks receive annotations of every form, from everywhere.

TEST_F(SinksTest, EveryFormIsReceived) {
  range_push("pushed {}", 1);
  kymo_range_push("in C");
  { KYMO_RANGE("at a site"); }
  { KYMO_RANGE("site {}", 7); }
  { const Range labelled{Label("labelled", "category", colour::kRed)}; }
  { const Range of_string{std::string("of a string {}"), "text"}; }
  range_end(range_start("started {}", 2));
  kymo_range_end(kymo_range_start("started in C"));
  mark("marked {} {}", true, 1.5);
  mark(Label("m", "category"));
  kymo_mark("marked in C");
  counter("count", 3);
  kymo_counter_int("C", -1);
  kymo_counter_double("C", 0.5);
  flow_begin("a flow", 1);
  kymo_flow_end("a flow", 1);
  EXPECT_EQ(range_pop(), 1);
  EXPECT_EQ(kymo_range_pop(), 0);
  EXPECT_EQ(range_pop(), -1);
  EXPECT_THAT(First::received.take(),
              ElementsAre("push pushed 1", "push in C", "push at a site", "pop", "push site 7", "pop", "push labelled",
                          "pop", "push of a string text", "pop", "start started 2", "end", "start started in C", "end",
                          "mark marked true 1.5", "mark m of a category", "mark marked in C", "count = 3.000000",
                          "C = -1.000000", "C = 0.500000", "pop", "pop"));
}

TEST_F(SinksTest, ScopesOfCAreReceived) {
  static kymo_site site = {{"in C {}", nullptr, 7, 0, 0}, {}};
  kymo_arg arg{nullptr, {}, 0, KYMO_INT};
  arg.value.as_int = 4;
  kymo_begin(&site);
  kymo_begin_args(&site, &arg, 1);
  kymo_end();
  kymo_end();
  kymo_end();  // one too many
  const kymo_label label = {"by label", nullptr, 8, 0, 0};
  kymo_record(KYMO_RANGE_BEGIN, &label, nullptr, 0, 0);
  kymo_end();
  EXPECT_THAT(First::received.take(), ElementsAre("push in C {}", "push in C 4", "pop", "pop", "push by label", "pop"));
}

TEST_F(SinksTest, NothingIsSentOrCreatedAfterTheLastSinkIsRemoved) {
  kymo_remove_sink(&First::kSink);
  EXPECT_EQ(kymo_mode.load(), 0u);
  range_push("a");
  mark("m");
  range_pop();
  EXPECT_THAT(First::received.take(), IsEmpty());
  EXPECT_FALSE(kymo_is_recording());
  EXPECT_EQ(process()->segment.load(), nullptr);
}

TEST_F(SinksTest, AddingASinkTwiceAddsItOnce) {
  EXPECT_EQ(kymo_add_sink(&First::kSink), 1);
  mark("m");
  EXPECT_THAT(First::received.take(), ElementsAre("mark m"));
  kymo_remove_sink(&First::kSink);
  EXPECT_EQ(kymo_mode.load(), 0u);
  kymo_remove_sink(&First::kSink);
  kymo_remove_sink(nullptr);
  EXPECT_EQ(kymo_add_sink(nullptr), 0);
}

TEST_F(SinksTest, MaxNumberOfSinksIsEight) {
  const pid_t child = fork();  // a place is never released
  if (child == 0) {
    static kymo_sink more[kMaxSinks] = {};
    int added = 0;
    for (kymo_sink& sink : more) added += kymo_add_sink(&sink);
    for (kymo_sink& sink : more) kymo_remove_sink(&sink);
    mark("the first is still on");
    const bool again = kymo_add_sink(&more[0]) == 1 && kymo_add_sink(&more[kMaxSinks - 1]) == 0;
    _exit(added < static_cast<int>(kMaxSinks) && again && First::received.take().size() == 1 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(SinksTest, AnnotationsOfASinkAreNotSent) {
  First::inside = [] {
    KYMO_RANGE("inside");
    range_push("inside");
    mark("inside");
    range_pop();
  };
  {
    KYMO_RANGE("outside");
    mark("m");
  }
  EXPECT_THAT(First::received.take(), ElementsAre("push outside", "mark m", "pop"));
}

TEST_F(SinksTest, TheErrnoOfTheProgramIsKept) {
  First::inside = [] { errno = EIO; };
  errno = EINTR;
  { KYMO_RANGE("r"); }
  EXPECT_EQ(errno, EINTR);
}

TEST_F(SinksTest, SignpostsAreReceivedFromAnyThread) {
  kymo_signpost post{};
  post.name = "scale and more";
  post.name_length = 5;
  const auto send = [&] {
    for (int which = -1; which <= 3; ++which) kymo_send_signpost(&post, which);
    EXPECT_THAT(First::received.take(), ElementsAre("begin scale", "end scale", "event scale"));
  };
  send();
  std::thread([&] {
    forbid_recording_on_this_thread();
    { KYMO_RANGE("Kymo's own"); }
    range_push("Kymo's own");
    mark("Kymo's own");
    send();
  }).join();
  kymo_send_signpost(nullptr, 0);
}

TEST_F(SinksTest, MessagesAreWantedIfASinkThatIsOnWantsThem) {
  EXPECT_EQ(kymo_sinks_want_messages(), 0);
  kymo_add_sink(&Second::kSink);
  EXPECT_NE(kymo_sinks_want_messages(), 0);
  kymo_remove_sink(&Second::kSink);
  EXPECT_EQ(kymo_sinks_want_messages(), 0);
}

TEST_F(SinksTest, ARangeMayEndOnAnotherThread) {
  const RangeId id = range_start("across");
  std::thread([id] {
    range_end(id);
    EXPECT_THAT(First::received.take(), ElementsAre("end"));
  }).join();
  EXPECT_THAT(First::received.take(), ElementsAre("start across"));
}

// Signal handlers may call these functions: they only count.
std::atomic<int> counted_pushes, counted_pops, counted_marks;
std::atomic<bool> interrupts;
constexpr kymo_sink kCounting = {
    .name = "counts",
    .range_push =
        [](const char*, const kymo_label*) {
          ++counted_pushes;
          if (interrupts) raise(SIGUSR1);
        },
    .range_pop = [] { ++counted_pops; },
    .range_start = nullptr,
    .range_end = nullptr,
    .mark = [](const char*, const kymo_label*) { ++counted_marks; },
    .counter = nullptr,
    .interval_begin = nullptr,
    .interval_end = nullptr,
    .event = nullptr,
    .wants_messages = 0,
    .listens = nullptr,
};

TEST_F(SinksTest, ASignalHandlerIsReceivedButNotInsideACallOfASink) {
  kymo_remove_sink(&First::kSink);
  kymo_add_sink(&kCounting);
  struct sigaction action {};
  action.sa_handler = [](int) {
    KYMO_RANGE("handler");
    mark("handler");
  };
  struct sigaction old {};
  sigaction(SIGUSR1, &action, &old);
  raise(SIGUSR1);
  EXPECT_EQ(counted_marks, 1);
  interrupts = true;
  { KYMO_RANGE("interrupted"); }
  interrupts = false;
  EXPECT_EQ(counted_pushes, 2);
  EXPECT_EQ(counted_pops, 2);
  EXPECT_EQ(counted_marks, 1);
  sigaction(SIGUSR1, &old, nullptr);
  kymo_remove_sink(&kCounting);
}

}  // namespace
}  // namespace kymo::record
