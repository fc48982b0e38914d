#include "profiler/entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace kymo::profiler {
namespace {

using ::testing::Each;

TEST(SignpostEntriesTest, KernelKeepsItsEntryAndNumber) {
  Entries entries;
  static constexpr std::string_view kName = "scale";
  int one = 0, two = 0;
  EXPECT_EQ(entries.find_kernel(&one, kName), nullptr);
  Entry& first = entries.kernel(&one, kName);
  Entry& second = entries.kernel(&two, kName);
  EXPECT_EQ(first.id(), "K1");
  EXPECT_EQ(second.id(), "K2");
  EXPECT_EQ(entries.find_kernel(&one, kName), &first);
  EXPECT_EQ(&entries.kernel(&one, kName), &first);
  EXPECT_EQ(&entries.at(second.index), &second);
}

TEST(SignpostEntriesTest, ReusedAddressIsAnotherKernel) {
  Entries entries;
  static constexpr std::string_view kBefore = "before", kAfter = "after";
  int handle = 0;
  Entry& before = entries.kernel(&handle, kBefore);
  Entry& after = entries.kernel(&handle, kAfter);
  EXPECT_NE(&before, &after);
  EXPECT_EQ(after.name, "after");
  EXPECT_EQ(entries.find_kernel(&handle, kBefore), &before);
}

TEST(SignpostEntriesTest, NamesAreNumberedByKind) {
  Entries entries;
  EXPECT_EQ(entries.named(EntryKind::Operation, "conv").id(), "G1");
  EXPECT_EQ(entries.named(EntryKind::Fallback, "conv").id(), "1");
  EXPECT_EQ(entries.named(EntryKind::Operation, "pool").id(), "G2");
  EXPECT_EQ(entries.named(EntryKind::Operation, "conv").id(), "G1");
  EXPECT_EQ(entries.all().size(), 3u);
}

TEST(SignpostEntriesTest, ResettingCountsKeepsNumbersAndRuns) {
  Entries entries;
  Entry& entry = entries.named(EntryKind::Operation, "conv");
  entry.next_run();
  entry.runs = 3;
  entry.flops = 2;
  entries.reset_counts();
  EXPECT_EQ(entry.runs, 0u);
  EXPECT_EQ(entry.flops, 0);
  EXPECT_EQ(entry.next_run(), 2u);
}

TEST(SignpostEntriesTest, KeyIsFromTheFirstRunAndMarksOtherSizes) {
  Entries entries;
  Entry& entry = entries.named(EntryKind::Operation, "conv");
  EXPECT_EQ(entries.key_of(entry), "conv");
  const auto run = [&](uint64_t bytes, const char* key) { entries.note_tensors(entry, bytes, [&] { return key; }); };
  run(64, "conv:f32[16]");
  run(64, "never asked for");
  EXPECT_EQ(entries.key_of(entry), "conv:f32[16]");
  run(128, "never asked for");
  EXPECT_EQ(entries.key_of(entry), "conv:f32[16] and other sizes");
  entries.reset_counts();
  run(128, "conv:f32[32]");
  EXPECT_EQ(entries.key_of(entry), "conv:f32[32]");
}

TEST(SignpostEntriesTest, ThreadsGetTheSameEntryForANewKernel) {
  constexpr size_t kKernels = 3000, kThreads = 4;
  Entries entries;
  static constexpr std::string_view kName = "k";
  std::vector<char> handles(kKernels);
  std::vector<std::vector<Entry*>> seen(kThreads, std::vector<Entry*>(kKernels));
  {
    std::vector<std::jthread> threads;
    for (auto& mine : seen)
      threads.emplace_back([&] {
        for (size_t i = 0; i < kKernels; ++i) {
          Entry* found = entries.find_kernel(&handles[i], kName);
          mine[i] = found != nullptr ? found : &entries.kernel(&handles[i], kName);
          mine[i]->next_run();
        }
      });
  }
  for (size_t i = 0; i < kKernels; ++i)
    for (const auto& mine : seen) ASSERT_EQ(mine[i], seen[0][i]);
  std::vector<uint64_t> began;
  for (const Entry* entry : entries.all()) began.push_back(entry->began);
  EXPECT_EQ(began.size(), kKernels);
  EXPECT_THAT(began, Each(kThreads));
}

}  // namespace
}  // namespace kymo::profiler
