// The heap of difficult programs: they fork, are killed, allocate in signal handlers, unload their code.
#include <signal.h>
#include <unistd.h>

#include <set>

#include "collect/recover.h"
#include "counts.h"
#include "heap_trace.h"

namespace kymo::e2e {
namespace {

class HardHeapTest : public MallocTest {};

TEST_F(HardHeapTest, ForkedChildrenContinueInTheSameTrace) {
  const Heap heap = record_and_read({program("heap"), "forks", "300"});
  std::set<uint64_t> pids;
  for (const HeapEvent& event : heap.events)
    if (event.bytes == kApple) pids.insert(event.pid);
  ASSERT_EQ(pids.size(), 2u);
  EXPECT_EQ(heap.count(kApple), 400u);
  EXPECT_EQ(heap.count(kApple, *pids.begin()), 200u);
  expect_stacks(heap, kApple, {"apple", "basket", "picker"});
}

TEST_F(HardHeapTest, AKilledProgramLosesNothing) {
  Process recorder = start({program("kymo"), "record", "--quiet", "-o", trace_file(), "--memory", "--", program("heap"),
                            "endless", "0", file("counts")});
  Counts* counts = map_counts(file("counts").c_str());
  ASSERT_NE(counts, nullptr);
  wait_until("allocations", [&] { return counts->done[0] >= 50'000; });
  kill(static_cast<pid_t>(counts->pid), SIGKILL);
  EXPECT_EQ(recorder.wait().signal, SIGKILL);  // kymo ends as the program did
  const uint64_t done = counts->done[0];
  const Heap heap = read();
  EXPECT_GE(heap.count(kApple), done);
  EXPECT_LE(heap.count(kApple), done + 1);
}

// The threads do it first, before they allocate. The C library then allocates under a lock.
TEST_F(HardHeapTest, ThreadsMayQueryTheirStacks) {
  const Heap heap = record_and_read({program("early"), "20"});
  EXPECT_GT(heap.events.size(), 20u);
}

TEST_F(HardHeapTest, AllocationsOfLibrariesBeforeMainAreRecorded) {
  const Heap heap = record_and_read({program("early")});
  EXPECT_EQ(heap.count(50 << 20), 1u);
}

TEST_F(HardHeapTest, AllocationsOfKymoAreNotInTheHeap) {
  const Heap heap = record_and_read({program("early")});
  EXPECT_EQ(heap.count(72'704), 0u) << "the C++ library's memory for exceptions";
}

TEST_F(HardHeapTest, AProgramWithASanitizerIsRefusedWithTheReason) {
  write_file(file("a.c"), "int main(void) { return 0; }\n");
  if (run({"/usr/bin/env", "cc", "-fsanitize=address", "-o", file("a"), file("a.c")}).code != 0)
    GTEST_SKIP() << "no compiler with AddressSanitizer here";
  const Ending ending = run({program("kymo"), "record", "--memory", "-o", trace_file(), "--", file("a")});
  EXPECT_NE(ending.code, 0);
  EXPECT_THAT(ending.err, ::testing::HasSubstr("is built with AddressSanitizer"));
}

TEST_F(HardHeapTest, HandlersMayAllocate) {
  const Heap heap = record_and_read({program("heap"), "signals", "300"});
  EXPECT_EQ(heap.count(kPlum), 300u);
  EXPECT_GT(heap.count(kApple), 0u);
  EXPECT_EQ(living_of(heap).doubles, 0u);
}

TEST_F(HardHeapTest, LibrariesMayBeLoadedAndUnloaded) {
  const Heap heap = record_and_read({program("heap"), "loads", "20", program("heap_plugin.so")});
  EXPECT_EQ(heap.count(kApple), 20u);
  EXPECT_EQ(heap.count(70'051), 20u) << "allocated by the library's own constructor";
  for (const HeapEvent& event : heap.events) {
    if (event.is_return || started_by_loader(heap, event)) continue;
    EXPECT_EQ(event.root, kRoot) << event.bytes;
    EXPECT_GE(event.stack.size(), 3u) << event.bytes;
  }
}

TEST_F(HardHeapTest, AStaticProgramRunsUnrecordedAndThisIsReported) {
  if (access(program("heap_static").c_str(), X_OK) != 0) GTEST_SKIP() << "no static C library here";
  const Ending ending = run({program("kymo"), "record", "-o", trace_file(), "--memory", "--", program("heap_static")});
  EXPECT_EQ(ending.code, 7) << "its own";
  EXPECT_THAT(ending.err, ::testing::HasSubstr("no program loaded the library of Kymo"));
}

TEST_F(HardHeapTest, AProgramWithItsOwnCollectorIsRecordedByIt) {
  const Ending ending =
      run({program("threads"), "at-once", "60"}, {{{"LD_PRELOAD", library()}, {"KYMO_TRACE", trace_file()}}});
  EXPECT_EQ(ending.code, 0) << ending.err << ending.signal;
  const Heap heap = read();
  EXPECT_GT(heap.events.size(), 10u);
  EXPECT_EQ(readback_.count("short"), 60u) << readback_.summary();
  for (const TrackInfo& track : readback_.tracks) EXPECT_NE(track.track.name, "kymo-collector") << "Kymo's own thread";
}

TEST_F(HardHeapTest, ForkedChildrenWithTheirOwnCollectorsAreRecorded) {
  for (const char* how : {"nested", "exec"}) {
    const Ending ending = run({program("forks"), how, "100"}, {{{"LD_PRELOAD", library()}, {"KYMO_TRACE", file(how)}}});
    EXPECT_EQ(ending.code, 0) << how << ending.err << ending.signal;
    collect::recover(file(how));
    EXPECT_THAT(left_in_memory(), ::testing::IsEmpty()) << how;
    const Readback trace = read_back(file(how), Detail::Arguments);
    EXPECT_TRUE(sound_and_complete(trace)) << how << ": what a collector allocates as it starts is nobody's business";
    EXPECT_EQ(heap_of(trace).unknown_nodes, 0u) << how;
  }
}

TEST_F(HardHeapTest, EachTraceOfSeveralSessionsHasItsOwnStacks) {
  constexpr int kSessions = 8;
  const Ending ending = run({program("threads"), "toggling", std::to_string(kSessions), folder(), file("counts")},
                            {{{"LD_PRELOAD", library()}}});
  EXPECT_EQ(ending.code, 0) << ending.err << ending.signal;
  for (int i = 0; i < kSessions; ++i) {
    const Readback trace = read_back(file(std::to_string(i) + ".kymo"), Detail::Arguments);
    EXPECT_TRUE(sound(trace)) << i;
    const Heap heap = heap_of(trace);
    EXPECT_EQ(heap.code_of_no_module, 0u) << i;
    EXPECT_LE(heap.unknown_nodes, 2u) << i << ": at most of an allocation that the session began in";
  }
}

TEST_F(HardHeapTest, SmallRingsAndAllPoliciesKeepStacksComplete) {
  for (const char* policy : {"block", "drop", "overwrite"}) {
    const Ending ending = run({program("kymo"), "record", "--quiet", "--policy", policy, "--ring-size", "64KiB", "-o",
                               trace_file(), "--memory", "--", program("heap"), "threads", "3000"});
    EXPECT_EQ(ending.code, 0) << policy;
    const Heap heap = heap_of(read_back(trace_file(), Detail::Arguments));
    EXPECT_GT(heap.events.size(), 100u) << policy;
    EXPECT_TRUE(heap.unknown_nodes == 0 || std::string(policy) == "overwrite") << policy << heap.unknown_nodes;
    size_t with_stack = 0, allocations = 0;
    for (const HeapEvent& event : heap.events) {
      allocations += event.is_return ? 0 : 1;
      with_stack += !event.is_return && event.root == kRoot ? 1 : 0;
    }
    EXPECT_GT(with_stack * 2, allocations) << policy;
  }
}

TEST_F(HardHeapTest, FibersHaveTheirInnermostFrame) {
  const Heap heap = record_and_read({program("heap"), "fibers", "50"});
  EXPECT_EQ(heap.count(kApple), 50u);
  EXPECT_EQ(heap.count(kPear), 50u);
  for (const HeapEvent& event : heap.events) {
    if (event.is_return || (event.bytes != kApple && event.bytes != kPear)) continue;
    ASSERT_EQ(event.root, event.bytes == kApple ? kRoot : kCutElsewhere);
    ASSERT_EQ(event.stack.size() == 1, event.bytes == kPear);
  }
}

TEST_F(HardHeapTest, ThreadsWithTheMinStackSizeAreRecorded) {
  const Heap heap = record_and_read({program("heap"), "small-stacks", "50"});
  EXPECT_EQ(heap.count(kPlum), 50u);
  expect_stacks(heap, kPlum, {"plum"});
}

}  // namespace
}  // namespace kymo::e2e
