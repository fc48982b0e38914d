#include "counters/thread_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "counters/test_events.h"
#include "kymo/error.h"

namespace kymo::counters {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kFaults{"page-faults"};

void touch_fresh_pages(size_t count) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, count * page, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < count; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  munmap(memory, count * page);
}

void work_for(std::chrono::milliseconds time) {
  timespec began, now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((now.tv_sec - began.tv_sec) * 1'000'000'000 + (now.tv_nsec - began.tv_nsec) <
           std::chrono::nanoseconds(time).count());
}

// Counts these events on this thread while `work` runs.
template <class Work>
std::vector<Count> count_during(const std::vector<std::string>& names, Work work) {
  const std::vector<Event> events = find_events(names);
  ThreadGroup group(events);
  Reading begin, end;
  group.read(begin);
  work();
  group.read(end);
  std::vector<Count> counts;
  for (size_t i = 0; i < events.size(); ++i) counts.push_back(difference(begin, end, i));
  return counts;
}

TEST(ThreadGroupTest, FreshPagesAreCountedAsFaults) {
  KYMO_NEEDS_EVENTS("page-faults");
  constexpr size_t kPages = 300;
  const Count count = count_during(kFaults, [] { touch_fresh_pages(kPages); })[0];
  EXPECT_TRUE(count.known);
  EXPECT_FALSE(count.scaled);
  EXPECT_GE(count.value, kPages);
  EXPECT_LT(count.value, 10 * kPages);  // sanitizers touch additional memory
}

TEST(ThreadGroupTest, TaskClockRunsOnlyWhileTheThreadRuns) {
  KYMO_NEEDS_EVENTS("task-clock");
  const Count count = count_during({"task-clock"}, [] { work_for(std::chrono::milliseconds(5)); })[0];
  EXPECT_TRUE(count.known);
  EXPECT_GE(count.value, 4e6);
  const Count asleep =
      count_during({"task-clock"}, [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); })[0];
  EXPECT_LT(asleep.value, 40e6);
}

TEST(ThreadGroupTest, SleepsAreCountedAsContextSwitches) {
  KYMO_NEEDS_EVENTS("context-switches");
  const Count count = count_during({"context-switches"}, [] {
    for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::microseconds(100));
  })[0];
  EXPECT_TRUE(count.known);
  EXPECT_GE(count.value, 20);
}

TEST(ThreadGroupTest, EachEventOfAGroupHasItsOwnCount) {
  KYMO_NEEDS_EVENTS("page-faults", "task-clock", "cpu-clock", "alignment-faults", "minor-faults");
  const std::vector<Count> counts = count_during(
      {"alignment-faults", "page-faults", "task-clock", "minor-faults", "cpu-clock"}, [] { touch_fresh_pages(200); });
  EXPECT_EQ(counts[0].value, 0);
  EXPECT_GE(counts[1].value, 200);
  EXPECT_GT(counts[2].value, counts[1].value);
  EXPECT_GE(counts[3].value, 200);
  EXPECT_GT(counts[4].value, counts[1].value);
}

TEST(ThreadGroupTest, OtherThreadsAreNotCounted) {
  KYMO_NEEDS_EVENTS("page-faults");
  const Count count = count_during(kFaults, [] { std::thread([] { touch_fresh_pages(5000); }).join(); })[0];
  EXPECT_LT(count.value, 1000);
}

TEST(ThreadGroupTest, ThreadsHaveTheirOwnCounts) {
  KYMO_NEEDS_EVENTS("page-faults");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (size_t i = 1; i <= 8; ++i)
    threads.emplace_back([&, i] {
      const Count count = count_during(kFaults, [i] { touch_fresh_pages(500 * i); })[0];
      if (!count.known || count.value < 500. * static_cast<double>(i)) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadGroupTest, GroupMayOutliveItsThread) {
  KYMO_NEEDS_EVENTS("page-faults");
  std::unique_ptr<ThreadGroup> group;
  Reading reading;
  std::thread([&] {
    group = std::make_unique<ThreadGroup>(find_events(kFaults));
    touch_fresh_pages(50);
    group->read(reading);
  }).join();
  EXPECT_GE(reading.values[0], 50u);
  group.reset();
}

TEST(ThreadGroupTest, ForkedChildCountsOnlyWithItsOwnGroup) {
  KYMO_NEEDS_EVENTS("page-faults");
  const std::vector<Event> events = find_events(kFaults);
  ThreadGroup group(events);
  touch_fresh_pages(50);
  Reading before;
  group.read(before);
  const pid_t child = fork();
  if (child == 0) {
    Reading reading = before;
    group.read(reading);
    if (difference(before, reading, 0).known || reading.values[0] != 0) _exit(1);
    ThreadGroup own(events);
    Reading begin, end;
    own.read(begin);
    touch_fresh_pages(50);
    own.read(end);
    _exit(difference(begin, end, 0).value >= 50 ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  Reading after;
  group.read(after);
  EXPECT_TRUE(difference(before, after, 0).known);
}

TEST(ThreadGroupTest, GroupHasOneToEightEvents) {
  EXPECT_THROW(ThreadGroup({}), InvalidArgument);
  EXPECT_THROW(ThreadGroup(std::vector<Event>(kMaxEvents + 1)), InvalidArgument);
}

TEST(ThreadGroupTest, FileLimitIsReportedWithTheRemedyAndNoFileStaysOpen) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UndefinedBehaviorSanitizer opens files itself to look at an object";
#endif
  KYMO_NEEDS_EVENTS("page-faults", "task-clock");
  const std::vector<Event> events = find_events(std::vector<std::string>{"page-faults", "task-clock"});
  const int next = dup(0);
  close(next);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit room_for_one{static_cast<rlim_t>(next) + 1, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &room_for_one);
  std::string message;
  try {
    ThreadGroup group(events);
  } catch (const NotAvailable& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(message, HasSubstr("\"task-clock\""));
  EXPECT_THAT(message, HasSubstr("ulimit -n"));
  const int still_next = dup(0);
  close(still_next);
  EXPECT_EQ(still_next, next);
}

TEST(ThreadGroupTest, HardwareCountsALoopOfKnownLength) {
  KYMO_NEEDS_EVENTS("instructions");
  const auto loop = [](uint64_t turns) {
    for (uint64_t i = 0; i < turns; ++i) asm volatile("nop");
  };
  const Count one = count_during({"instructions"}, [&] { loop(100'000); })[0];
  const Count four = count_during({"instructions"}, [&] { loop(400'000); })[0];
  EXPECT_GE(one.value, 200'000);
  EXPECT_NEAR(four.value / one.value, 4, 0.4);
}

TEST(ThreadGroupTest, HardwareAndSoftwareAreCountedTogether) {
  KYMO_NEEDS_EVENTS("page-faults", "cycles", "instructions");
  const std::vector<Count> counts =
      count_during({"page-faults", "cycles", "instructions"}, [] { touch_fresh_pages(200); });
  EXPECT_GE(counts[0].value, 200);
  EXPECT_GT(counts[1].value, counts[0].value);
  EXPECT_GT(counts[2].value, counts[0].value);
}

Reading reading(uint64_t enabled_ns, uint64_t running_ns, uint64_t value) { return {enabled_ns, running_ns, {value}}; }

TEST(CountTest, IsTheDifferenceIfTheGroupAlwaysRan) {
  const Count count = difference(reading(100, 100, 5), reading(1100, 1100, 47), 0);
  EXPECT_EQ(count.value, 42);
  EXPECT_TRUE(count.known);
  EXPECT_FALSE(count.scaled);
}

TEST(CountTest, IsScaledIfTheCountersWereShared) {
  const Count count = difference(reading(1000, 500, 100), reading(5000, 1500, 400), 0);
  EXPECT_EQ(count.value, 300 * 4000. / 1000);
  EXPECT_TRUE(count.known);
  EXPECT_TRUE(count.scaled);
}

TEST(CountTest, IsUnknownIfTheGroupNeverRan) {
  EXPECT_FALSE(difference(reading(100, 100, 5), reading(1100, 100, 5), 0).known);
  EXPECT_FALSE(difference(reading(100, 0, 0), reading(1100, 0, 0), 0).known);
  EXPECT_FALSE(difference({}, {}, 0).known);
}

TEST(CountTest, IsKnownIfNoTimePassed) {
  const Count count = difference(reading(100, 100, 5), reading(100, 100, 5), 0);
  EXPECT_TRUE(count.known);
  EXPECT_EQ(count.value, 0);
}

TEST(CountTest, IsNeverNegative) {
  for (const Reading& end : {reading(1100, 1100, 4), reading(50, 50, 100), reading(1100, 50, 100), Reading{}}) {
    const Count count = difference(reading(100, 100, 5), end, 0);
    EXPECT_FALSE(count.known);
    EXPECT_EQ(count.value, 0);
  }
  EXPECT_FALSE(difference({}, reading(1, 1, 1), kMaxEvents).known);
}

TEST(CountTest, StaysFiniteForTheLargestNumbers) {
  const Count count = difference({}, reading(UINT64_MAX, 1, UINT64_MAX), 0);
  EXPECT_TRUE(count.known);
  EXPECT_GT(count.value, 1e38);
  EXPECT_LT(count.value, 1e39);
}

}  // namespace
}  // namespace kymo::counters
