#include "analyze/memory/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>

#include "analyze/memory/test_trace.h"
#include "kymo/error.h"

namespace kymo::memory {
namespace {

using namespace kymo::memory::tests;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ProfileTest : public ::testing::Test {
 protected:
  Profile read(const ProfileOptions& options = {}) {
    trace_.close();
    return read_profile(trace::Reader(path_), options);
  }
  static uint64_t at_peak(const Profile& profile, Category category) {
    return profile.at_peak[static_cast<size_t>(category)];
  }
  static const Group& range_group(const Profile& profile, const std::string& name) {
    static const Group none;
    for (const Group& group : profile.by_range)
      if (profile.tables.ranges[group.key] == name) return group;
    return none;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_ / "t.kymo";
  MemoryTrace trace_{path_};
};

TEST_F(ProfileTest, TraceWithoutAllocationsIsEmpty) {
  trace_.begin(1, 0, kInner);
  trace_.end(1, 10);
  const Profile profile = read({"", 100});
  EXPECT_TRUE(profile.is_empty());
  EXPECT_THAT(profile.timeline, IsEmpty());
}

TEST_F(ProfileTest, MemoryThatGrowsUntilTheEndIsTold) {
  for (uint64_t i = 0; i < 100; ++i) {
    trace_.take(1, 10 * i, 0x1000 + 2 * i, 20'000);
    trace_.take(1, 10 * i + 1, 0x1001 + 2 * i, 900'000);
    trace_.give_back(1, 10 * i + 2, 0x1001 + 2 * i);
  }
  const Profile profile = read();
  EXPECT_EQ(profile.end_bytes, 2'000'000u);
  EXPECT_TRUE(keeps_growing(trace::Reader(path_), profile));
}

TEST_F(ProfileTest, MemoryThatIsTakenAtTheBeginDoesNotGrow) {
  for (uint64_t i = 0; i < 100; ++i) trace_.take(1, i, 0x1000 + i, 20'000);
  for (uint64_t i = 0; i < 100; ++i) {
    trace_.take(1, 200 + 10 * i, 0x2000, 1'000);
    trace_.give_back(1, 205 + 10 * i, 0x2000);
  }
  const Profile profile = read();
  EXPECT_EQ(profile.end_bytes, 2'000'000u);
  EXPECT_FALSE(keeps_growing(trace::Reader(path_), profile));
}

TEST_F(ProfileTest, ManyProcessesThatHoldAFixedAmountDoNotGrow) {
  for (uint8_t process = 2; process < 40; ++process) {
    MemoryTrace one(path_, process, 100 + process, trace::Writer::Mode::Append);
    one.take(1, 100 * process, 0x1000, 100'000);
    one.close();
  }
  const Profile profile = read();
  EXPECT_EQ(profile.end_bytes, 3'800'000u);
  EXPECT_FALSE(keeps_growing(trace::Reader(path_), profile));
}

TEST_F(ProfileTest, PeakAndBlocksAliveAtThePeakAreFound) {
  trace_.take(1, 10, 0x10, 100);
  trace_.take(1, 20, 0x20, 300);
  trace_.take(1, 30, 0x30, 200);
  trace_.give_back(1, 40, 0x20);
  trace_.take(1, 50, 0x40, 50);
  trace_.give_back(1, 60, 0x30);
  const Profile profile = read();
  EXPECT_EQ(profile.counts.allocations, 4u);
  EXPECT_EQ(profile.counts.returns, 2u);
  EXPECT_EQ(profile.peak_bytes, 600u);
  EXPECT_EQ(profile.peak_ns, static_cast<int64_t>(kRealtimeZero + 30));
  EXPECT_EQ(profile.end_bytes, 150u);
  EXPECT_EQ(profile.left.count, 2u);
  ASSERT_EQ(profile.largest_at_peak.size(), 3u);
  EXPECT_EQ(profile.largest_at_peak[0].address, 0x20u);
  EXPECT_EQ(profile.largest_at_peak[2].address, 0x10u);
  ASSERT_EQ(profile.largest_left.size(), 2u);
  EXPECT_EQ(profile.largest_left[0].address, 0x10u);
}

TEST_F(ProfileTest, FreeOnAnotherThreadIsFoundInAnyFileOrder) {
  trace_.give_back(2, 500, 0x10);
  trace_.cut(2);  // in the file before the allocation that it frees
  trace_.take(1, 100, 0x10, 64);
  trace_.take(1, 600, 0x10, 32);
  const Profile profile = read();
  EXPECT_EQ(profile.counts.unknown_returns, 0u);
  EXPECT_EQ(profile.counts.lost_returns, 0u);
  EXPECT_EQ(profile.end_bytes, 32u);
}

TEST_F(ProfileTest, ChangesOfOneTickAreAppliedInAConsistentOrder) {
  trace_.take(1, 10, 0x10, 64);
  trace_.take(1, 20, 0x10, 32);  // the worker freed it on the same tick
  trace_.give_back(2, 20, 0x10);
  trace_.give_back(1, 30, 0x10);
  trace_.give_back(1, 40, 0x20);
  trace_.take(2, 40, 0x20, 8);
  const Profile profile = read();
  EXPECT_EQ(profile.counts.unknown_returns, 0u);
  EXPECT_EQ(profile.counts.lost_returns, 0u);
  EXPECT_EQ(profile.end_bytes, 0u);
  EXPECT_EQ(profile.peak_bytes, 64u);
}

TEST_F(ProfileTest, AddressesOfDevicesAndProcessesAreSeparate) {
  trace_.take(1, 10, 0x10, 64, "cuda:0");
  trace_.take(1, 20, 0x10, 32, "vulkan:0");
  trace_.give_back(1, 30, 0x10, 0, "cuda:0");
  trace_.close();
  {
    MemoryTrace other(folder_ / "other.kymo", 2, 200);
    other.take(1, 15, 0x10, 16, "cuda:0");
    other.close();
  }
  (void)!std::system(("cat '" + folder_ / "other.kymo" + "' >> '" + path_ + "'").c_str());
  const Profile profile = read_profile(trace::Reader(path_));
  ASSERT_EQ(profile.memories.size(), 3u);
  EXPECT_EQ(profile.counts.lost_returns, 0u);
  EXPECT_EQ(profile.peak_bytes, 112u);
  EXPECT_EQ(profile.end_bytes, 48u);
  EXPECT_EQ(memory_name(profile, 0), "cuda:0 of train (100)");

  const Profile one = read_profile(trace::Reader(path_), {"vulkan:0"});
  ASSERT_EQ(one.memories.size(), 1u);
  EXPECT_EQ(one.peak_bytes, 32u);
}

TEST_F(ProfileTest, ErrorForAnUnknownDeviceListsTheDevicesOfTheTrace) {
  trace_.take(1, 10, 0x10, 64, "cuda:0");
  trace_.close();
  try {
    read_profile(trace::Reader(path_), {"cuda:7"});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("'cuda:7'; the trace has allocations of cuda:0"));
  }
}

TEST_F(ProfileTest, BlockOfOneOutermostRangeIsTemporary) {
  trace_.begin(1, 100, kStep, {int64_t{1}});
  trace_.begin(1, 110, kInner);
  trace_.take(1, 120, 0x10, 64);  // freed in the same step, outside the inner range
  trace_.take(1, 130, 0x20, 32);  // freed in the next step
  trace_.end(1, 140);
  trace_.cut(1);  // the step continues in the next chunk
  trace_.give_back(1, 150, 0x10);
  trace_.end(1, 160);
  trace_.begin(1, 200, kStep, {int64_t{2}});
  trace_.give_back(1, 210, 0x20);
  trace_.take(1, 220, 0x30, 16);
  trace_.end(1, 230);
  trace_.take(1, 300, 0x40, 8);  // not in a range
  trace_.give_back(1, 310, 0x40);
  const Profile profile = read({"", 100});
  EXPECT_EQ(profile.temporaries, (Temporaries{true}));
  EXPECT_EQ(profile.peak_bytes, 96u);
  EXPECT_EQ(at_peak(profile, Category::Temporary), 64u);
  EXPECT_EQ(at_peak(profile, Category::Unknown), 32u);
  EXPECT_EQ(range_group(profile, "inner").taken.bytes, 96u);
  EXPECT_EQ(range_group(profile, "inner").temporary.bytes, 64u);
  EXPECT_EQ(range_group(profile, "step {}").left.bytes, 16u);
  EXPECT_EQ(range_group(profile, "").taken.bytes, 8u);
  ASSERT_EQ(profile.timeline.size(), 7u);  // every change
  EXPECT_EQ(profile.timeline[0].bytes[static_cast<size_t>(Category::Temporary)], 64u);
}

TEST_F(ProfileTest, StatedCategoryIsKept) {
  trace_.begin(1, 100, kInner);
  trace_.told(1, 110, 0x10, 100, "parameter");
  trace_.told(1, 120, 0x20, 10, "OPTIMIZER_STATE");
  trace_.told(1, 130, 0x30, 1, "something else");
  trace_.reported_free(1, 140, 0x10);
  trace_.end(1, 150);
  const Profile profile = read();
  EXPECT_THAT(profile.at_peak, ElementsAre(100, 10, 0, 0, 0, 0, 0, 1));
  EXPECT_THAT(profile.temporaries, IsEmpty());
}

TEST_F(ProfileTest, ScopeGuardProfilerFormatIsRead) {
  trace::Frame run{1, 1, 0, "run()", "/src/b.cc", 3}, main{2, 1, 0, "main", "", 0};
  trace_.file().stacks(trace_.id(), std::vector<trace::Module>{{1, "/bin/x", "", 0, 0}}, std::vector{run, main},
                       std::vector<trace::Stack>{{1, {1, 2}}});
  trace_.begin(1, 100, kInner);
  trace_.point(1, 100, PointKind::Sample, kStack, 1);
  trace_.point(1, 110, PointKind::Allocation, kEdge, 0x10, {int64_t{512}, int64_t{0}, int64_t{-1}});
  trace_.point(1, 120, PointKind::Free, kEdge, 0x10, {int64_t{-512}, int64_t{0}, int64_t{-1}});
  trace_.point(1, 130, PointKind::Free, kEdge, 0x20, {int64_t{-64}, int64_t{10}, int64_t{0}});
  trace_.end(1, 140);
  Profile profile = read();
  ASSERT_EQ(profile.memories.size(), 2u);
  EXPECT_EQ(profile.tables.memories[0].device, "cpu");
  EXPECT_EQ(profile.tables.memories[1].device, "vulkan:0");
  EXPECT_EQ(profile.peak_bytes, 512u);
  EXPECT_EQ(profile.end_bytes, 0u);
  EXPECT_EQ(profile.counts.unknown_returns, 1u);
  ASSERT_EQ(profile.by_stack.size(), 1u);
  const Holder holder = describe(profile, profile.by_stack[0], GroupBy::Stack);
  EXPECT_EQ(holder.name, "run()");
  EXPECT_EQ(holder.where, "b.cc:3");
  ASSERT_EQ(holder.frames.size(), 2u);
  EXPECT_EQ(place_of(holder.frames[1]), "x");
}

TEST_F(ProfileTest, HeapStacksAreTheSameOnAllThreads) {
  trace_.module(1, "/nowhere/libgone.so", 0x1000, 0x1000, "0123");
  for (const uint32_t track : {1u, 2u}) {
    const int64_t first = track == 1 ? 16 : 40;  // each track has its own numbers
    trace_.node(track, first, 1, 0x1100);
    trace_.node(track, first + 1, first, 0x1200);
    trace_.malloc(track, 10 * track, 0x10 * track, 100, first + 1);
  }
  trace_.node(1, 18, 2, 0x9000);
  trace_.malloc(1, 40, 0x50, 1, 18);
  trace_.malloc(1, 50, 0x60, 2, 0);
  trace_.malloc(1, 60, 0x70, 4, 777);  // this stack was never defined
  Profile profile = read();
  EXPECT_EQ(profile.tables.memories.at(0).device, "heap");
  ASSERT_EQ(profile.by_stack.size(), 3u);
  EXPECT_EQ(profile.by_stack[0].at_peak.bytes, 200u);
  const Holder shared = describe(profile, profile.by_stack[0], GroupBy::Stack);
  ASSERT_EQ(shared.frames.size(), 2u);
  EXPECT_EQ(shared.frames[0].function, "libgone.so+0x200");
  EXPECT_EQ(shared.frames[1].function, "libgone.so+0x100");
  EXPECT_EQ(describe(profile, profile.by_stack[1], GroupBy::Stack).name, "(no stack)");
  EXPECT_EQ(profile.by_stack[1].taken.bytes, 6u);
  const Holder cut = describe(profile, profile.by_stack[2], GroupBy::Stack);
  ASSERT_EQ(cut.frames.size(), 2u);
  EXPECT_EQ(cut.frames[0].function, "0x9000");
  EXPECT_THAT(cut.frames[1].function, HasSubstr("without unwind tables"));
}

TEST_F(ProfileTest, NewCodeAtAnOldAddressIsSeparate) {
  trace_.module(1, "/nowhere/liba.so", 0x1000, 0x1000, "");
  trace_.node(1, 16, 1, 0x1100);
  trace_.malloc(1, 10, 0x10, 2, 16);
  trace_.module(1, "/nowhere/libb.so", 0x1000, 0x1000, "");
  trace_.node(1, 16, 1, 0x1100);
  trace_.malloc(1, 20, 0x20, 1, 16);
  Profile profile = read();
  ASSERT_EQ(profile.by_stack.size(), 2u);
  EXPECT_EQ(describe(profile, profile.by_stack[0], GroupBy::Stack).name, "liba.so+0x100");
  EXPECT_EQ(describe(profile, profile.by_stack[1], GroupBy::Stack).name, "libb.so+0x100");
}

TEST_F(ProfileTest, SampleCountsWithItsWeight) {
  trace_.point(1, 10, PointKind::Allocation, kSampled, 0x10, {int64_t{100}, int64_t{0}, int64_t{512'000}});
  trace_.free(1, 20, 0x10);
  const Profile profile = read();
  EXPECT_TRUE(profile.sampled);
  EXPECT_EQ(profile.peak_bytes, 512'000u);
  EXPECT_EQ(profile.end_bytes, 0u);
}

TEST_F(ProfileTest, SizesWithoutAddressesAreAddedUp) {
  trace_.take(1, 10, 0, 64);
  trace_.take(1, 20, 0, 64);
  trace_.give_back(1, 30, 0, 96);
  trace_.give_back(1, 40, 0, 96);
  const Profile profile = read({"", 10});
  EXPECT_EQ(profile.peak_bytes, 128u);
  EXPECT_EQ(profile.end_bytes, 0u);
  EXPECT_EQ(profile.counts.unknown_returns, 1u);
  EXPECT_EQ(at_peak(profile, Category::Unknown), 128u);
  EXPECT_EQ(profile.timeline.back().bytes, BytesByCategory{});
}

TEST_F(ProfileTest, HugeSizesDoNotOverflow) {
  for (uint64_t i = 1; i < 5; ++i) trace_.take(1, i, i, INT64_MAX);
  for (uint64_t i = 1; i < 5; ++i) trace_.give_back(1, 10 + i, i);
  const Profile profile = read({"", 10});
  EXPECT_EQ(profile.peak_bytes, UINT64_MAX);
}

TEST_F(ProfileTest, DamagedChunkIsReportedAndTheRestIsRead) {
  trace_.take(1, 10, 0x10, 64);
  trace_.cut(1);
  trace_.take(1, 20, 0x20, 32);
  trace_.close();
  const trace::EventChunk chunk = trace::Reader(path_).event_chunks().at(0);
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(chunk.offset + chunk.length - 24));
    file.put('!');
  }
  const Profile profile = read_profile(trace::Reader(path_));
  EXPECT_EQ(profile.taken.bytes, 32u);
  EXPECT_EQ(profile.problems.size(), 1u);
}

// Compares random changes on two threads with a map of what is alive.
TEST_F(ProfileTest, RandomChangesMatchAMap) {
  std::mt19937_64 random(5);
  std::map<uint64_t, uint64_t> alive;
  std::vector<uint64_t> sums;
  uint64_t peak = 0, sum = 0;
  std::map<uint64_t, uint64_t> at_peak_blocks;
  for (uint64_t time = 1; time <= 20'000; ++time) {
    const auto track = static_cast<uint32_t>(1 + random() % 2);
    const uint64_t address = 16 * (1 + random() % 300);
    if (alive.contains(address)) {
      sum -= alive[address];
      alive.erase(address);
      trace_.give_back(track, time, address);
    } else {
      const uint64_t bytes = random() % 5000;
      alive[address] = bytes;
      sum += bytes;
      trace_.take(track, time, address, static_cast<int64_t>(bytes));
    }
    if (random() % 500 == 0) trace_.cut(track);
    sums.push_back(sum);
    if (sum <= peak) continue;
    peak = sum;
    at_peak_blocks = alive;
  }
  const Profile profile = read({"", 50});
  EXPECT_EQ(profile.peak_bytes, peak);
  EXPECT_EQ(profile.end_bytes, sum);
  EXPECT_EQ(profile.left.count, alive.size());
  std::map<uint64_t, uint64_t> found;
  for (const Block& block : profile.largest_at_peak) found[block.address] = block.bytes;
  EXPECT_EQ(found, at_peak_blocks);

  ASSERT_GT(profile.timeline.size(), 40u);
  ASSERT_LE(profile.timeline.size(), 51u);
  uint64_t most = 0;
  for (const TimelinePoint& point : profile.timeline) {
    const uint64_t bytes = point.bytes[static_cast<size_t>(Category::Unknown)];
    EXPECT_EQ(bytes, sums[static_cast<uint64_t>(point.time_ns) - kRealtimeZero - 1]);
    EXPECT_EQ(bytes, point.by_range[0]);
    most = std::max(most, bytes);
  }
  EXPECT_EQ(most, peak);
  EXPECT_EQ(profile.timeline.back().bytes[static_cast<size_t>(Category::Unknown)], sum);
}

TEST(CategoryTest, NamesAreCaseInsensitive) {
  EXPECT_EQ(category_named("PARAMETER"), Category::Parameter);
  EXPECT_EQ(category_named("optimizer state"), Category::OptimizerState);
  EXPECT_EQ(category_named("Autograd-Detail"), Category::AutogradDetail);
  EXPECT_EQ(category_named("unknown"), Category::Unknown);
  EXPECT_EQ(category_named(""), Category::Unknown);
  for (size_t i = 0; i < kCategories; ++i)
    EXPECT_EQ(category_named(category_name(static_cast<Category>(i))), static_cast<Category>(i));
}

TEST(FirstMeaningfulFrameTest, SkipsTheStandardLibrary) {
  const auto first = [](std::vector<std::string> functions) {
    std::vector<symbols::Frame> frames;
    for (std::string& function : functions) frames.emplace_back().function = std::move(function);
    return first_informative_frame(frames);
  };
  EXPECT_EQ(first({}), 0u);
  EXPECT_EQ(first({"operator new(unsigned long)", "std::vector<int>::reserve(unsigned long)", "load()"}), 2u);
  EXPECT_EQ(first({"void std::vector<int>::emplace_back<int>(int&&)", "f(std::vector<int>)"}), 1u);
  EXPECT_EQ(first({"Pool<std::string>::get()", "main"}), 0u);
  EXPECT_EQ(first({"operator new(unsigned long)"}), 0u);
}

// The frames of a memory snapshot of PyTorch.
TEST(FirstMeaningfulFrameTest, IsTheUsersPythonFrame) {
  std::vector<symbols::Frame> frames;
  const auto add = [&](const char* function, const char* file) {
    frames.emplace_back().function = function;
    frames.back().file = file;
  };
  add("c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(signed char)", "");
  add("at::TensorBase at::detail::_empty_generic<long>(c10::ArrayRef<long>)", "");
  add("at::(anonymous namespace)::wrapper_CUDA__empty_memory_format()", "");
  add("at::native::add(at::Tensor const&)", "Add.cpp");
  EXPECT_EQ(first_informative_frame(frames), 3u);
  add("_call_impl", "/usr/lib/python3/site-packages/torch/nn/modules/module.py");
  EXPECT_EQ(first_informative_frame(frames), 4u);
  add("fit", "/usr/lib/python3/dist-packages/sklearn/base.py");
  EXPECT_EQ(first_informative_frame(frames), 5u);
  add("run", "/usr/lib/python3.11/threading.py");
  add("forward", "/home/me/model.py");
  add("main", "/home/me/train.py");
  EXPECT_EQ(first_informative_frame(frames), 7u);
}

}  // namespace
}  // namespace kymo::memory
