// The heap of programs that were not written for Kymo: what `kymo record --memory` reports about it.
#include <unistd.h>

#include <map>
#include <set>

#include "heap_trace.h"

namespace kymo::e2e {
namespace {

TEST_F(MallocTest, CountsSizesAndStacksAreExact) {
  const Heap heap = record_and_read({program("heap"), "known", "300"});
  EXPECT_EQ(heap.count(kApple), 100u);
  EXPECT_EQ(heap.count(kPear), 100u);
  EXPECT_EQ(heap.count(kPlum), 100u);
  EXPECT_EQ(heap.count(kEarly), 1u) << "allocated before main";
  for (const HeapEvent& event : heap.events) {
    if (event.is_return || started_by_loader(heap, event)) continue;
    EXPECT_EQ(event.root, kRoot) << "every stack is whole";
  }
  expect_stacks(heap, kApple, {"apple", "basket", "picker"});
  expect_stacks(heap, kPear, {"pear", "basket", "picker"}, 1);  // the first frame is operator new
  expect_stacks(heap, kPlum, {"plum", "basket", "picker"});
  const Living living = living_of(heap);
  EXPECT_EQ(living.doubles, 0u);
  std::map<uint64_t, size_t> left;
  for (const auto& [address, bytes] : living.bytes) ++left[bytes];
  EXPECT_EQ(left[kApple], 100u) << "never returned";
  EXPECT_EQ(left[kPear] + left[kPlum] + left[kEarly], 0u);
}

TEST_F(MallocTest, ModulesContainTheCodeAddresses) {
  const Heap heap = record_and_read({program("heap"), "known", "30"});
  std::set<std::string> names;
  for (const Module& module : heap.modules) names.insert(module.path.substr(module.path.rfind('/') + 1));
  EXPECT_TRUE(names.contains("heap"));
  EXPECT_TRUE(names.contains("libc.so.6"));
  for (const Module& module : heap.modules) {
    EXPECT_GT(module.size, 0u);
    EXPECT_TRUE(module.build_id.size() % 2 == 0);
    EXPECT_TRUE(!module.path.ends_with("libc.so.6") || module.build_id.size() >= 16) << module.build_id;
  }
}

TEST_F(MallocTest, ThreadsRecordOnTheirOwnTracks) {
  const Heap heap = record_and_read({program("heap"), "threads", "6000"});
  EXPECT_EQ(heap.count(kApple), 8'000u);
  EXPECT_EQ(heap.count(kPear), 8'000u);
  std::set<uint32_t> tracks;
  for (const HeapEvent& event : heap.events)
    if (event.bytes == kPlum) tracks.insert(event.track);
  EXPECT_EQ(tracks.size(), 4u);
  EXPECT_EQ(living_of(heap).doubles, 0u) << "a return is recorded before the next one may have the place";
}

TEST_F(MallocTest, ThreadsThatStartAndEndAreRecorded) {
  const Heap heap = record_and_read({program("heap"), "many-threads", "200"});
  EXPECT_EQ(heap.count(kApple), 200u);
  EXPECT_EQ(heap.count(kPlum), 200u);
  expect_stacks(heap, kApple, {"apple", "basket", "picker"});
}

TEST_F(MallocTest, ReallocIsAFreeAndAnAllocation) {
  const Heap heap = record_and_read({program("heap"), "grow", "50"});
  EXPECT_EQ(heap.count(200), 50u);
  EXPECT_EQ(heap.count(600 * 3), 50u);
  EXPECT_GE(heap.count(70), 50u);
  const Living living = living_of(heap);
  EXPECT_EQ(living.doubles, 0u);
  for (const auto& [address, bytes] : living.bytes) EXPECT_NE(bytes, 70u) << "returned in the end";
  expect_stacks(heap, 1800, {"grower"});
}

TEST_F(MallocTest, EveryAllocationFunctionIsRecorded) {
  const Heap heap = record_and_read({program("heap"), "all"});
  EXPECT_EQ(heap.count(kCalloc), 1u);
  EXPECT_EQ(heap.count(kAligned), 4u) << "posix_memalign, aligned_alloc, memalign, valloc";
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(heap.count((kAligned + page - 1) / page * page), 1u) << "pvalloc, in whole pages";
}

TEST_F(MallocTest, FramesLeftByLongjmpOrExceptionDoNotAffectStacks) {
  const Heap heap = record_and_read({program("heap"), "leave", "400"});
  EXPECT_EQ(heap.count(kApple), 400u);
  EXPECT_EQ(heap.count(kPear), 200u);
  EXPECT_EQ(heap.count(kPlum), 200u);
  expect_stacks(heap, kApple, {"apple", "leave", "leaver"});
  expect_stacks(heap, kPear, {"pear", "leaver"}, 1);
  expect_stacks(heap, kPlum, {"plum", "leaver"});
}

TEST_F(MallocTest, SampleWeightsAddUpToTheTotal) {
  const Heap heap = record_and_read({program("heap"), "threads", "30000"}, "--memory=sample:512k");
  uint64_t samples = 0, weight = 0, returns = 0;
  for (const HeapEvent& event : heap.events) {
    returns += event.is_return ? 1 : 0;
    if (event.is_return || event.bytes < kApple || event.bytes > kPlum) continue;
    ++samples;
    weight += event.weight;
  }
  const double whole = 4 * 10'000.0 * (kApple + kPear + kPlum);
  EXPECT_GT(samples, 10'000u);
  EXPECT_LT(samples, 24'000u) << "one in seven and a half";
  EXPECT_NEAR(static_cast<double>(weight) / whole, 1, 0.05);
  EXPECT_LT(returns, samples) << "only of what was sampled";
  EXPECT_EQ(living_of(heap).unknown_returns, 0u);
}

TEST_F(MallocTest, RecordingCanBeTurnedOffAndOnAtRunTime) {
  const Heap heap = record_and_read({program("heap"), "switched", "100"});
  EXPECT_EQ(heap.count(kApple), 100u);
  EXPECT_EQ(heap.count(kPear), 0u);
  EXPECT_EQ(heap.count(kPlum), 100u);
}

TEST_F(MallocTest, WithModeOffTheHeapIsNotRecorded) {
  const Ending ending = run({program("kymo"), "record", "-o", trace_file(), "--", program("heap"), "known", "30"},
                            {{{"LD_PRELOAD", library()}, {"KYMO_MALLOC", "off"}}});
  EXPECT_EQ(ending.code, 0);
  EXPECT_TRUE(read_back(trace_file()).points.empty());
}

TEST_F(MallocTest, APreloadedProgramRunsWithoutARecording) {
  const Ending ending = run({program("heap"), "all"}, {{{"LD_PRELOAD", library()}}});
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_EQ(ending.err, "");
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_F(MallocTest, AnInvalidModeIsReportedAndNothingIsRecorded) {
  const Ending ending = run({program("heap"), "known"}, {{{"LD_PRELOAD", library()}, {"KYMO_MALLOC", "some"}}});
  EXPECT_EQ(ending.code, 0);
  EXPECT_THAT(ending.err, ::testing::HasSubstr("KYMO_MALLOC=some: want all, off or sample:BYTES"));
}

}  // namespace
}  // namespace kymo::e2e
