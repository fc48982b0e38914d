#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analyze/memory/profile.h"

namespace kymo::memory {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TimelineTest, NoChangesGiveAnEmptyTimeline) {
  const Timeline timeline = make_timeline({});
  EXPECT_THAT(timeline.in_use, IsEmpty());
  EXPECT_EQ(timeline.peak_bytes, 0u);
  EXPECT_THAT(timeline.alive_at_peak, IsEmpty());
}

TEST(TimelineTest, PeakAndAllocationsAliveAtThePeakAreFound) {
  const std::vector<Change> changes = {{1, 0x10, 100},  {2, 0x20, 300}, {3, 0x30, 200},
                                       {4, 0x20, -300}, {5, 0x40, 50},  {6, 0x30, -200}};
  const Timeline timeline = make_timeline(changes);
  EXPECT_THAT(timeline.in_use, ElementsAre(100, 400, 600, 300, 350, 150));
  EXPECT_EQ(timeline.peak_bytes, 600u);
  EXPECT_EQ(timeline.peak_at, 2u);
  EXPECT_THAT(timeline.alive_at_peak, ElementsAre(1, 2, 0));
  EXPECT_THAT(timeline.never_freed, ElementsAre(0, 4));
  EXPECT_EQ(timeline.unknown_frees, 0u);
}

TEST(TimelineTest, FirstOfEqualPeaksIsUsed) {
  const std::vector<Change> changes = {{1, 0x10, 8}, {2, 0x10, -8}, {3, 0x20, 8}};
  const Timeline timeline = make_timeline(changes);
  EXPECT_EQ(timeline.peak_at, 0u);
  EXPECT_THAT(timeline.alive_at_peak, ElementsAre(0));
  EXPECT_THAT(timeline.never_freed, ElementsAre(2));
}

TEST(TimelineTest, FreeOfAnUnknownAddressChangesNothing) {
  const std::vector<Change> changes = {{1, 0x10, -64}, {2, 0x20, 32}, {3, 0x30, -16}};
  const Timeline timeline = make_timeline(changes);
  EXPECT_THAT(timeline.in_use, ElementsAre(0, 32, 32));
  EXPECT_EQ(timeline.unknown_frees, 2u);
}

TEST(TimelineTest, ReusedAddressCountsAsFreed) {
  const std::vector<Change> changes = {{1, 0x10, 64}, {2, 0x10, 32}, {3, 0x10, -32}, {4, 0x10, -64}};
  const Timeline timeline = make_timeline(changes);
  EXPECT_THAT(timeline.in_use, ElementsAre(64, 32, 0, 0));
  EXPECT_EQ(timeline.lost_frees, 1u);
  EXPECT_EQ(timeline.unknown_frees, 1u);
  EXPECT_THAT(timeline.never_freed, IsEmpty());
}

TEST(TimelineTest, FreeReturnsTheAllocatedSizeWhateverItStates) {
  const std::vector<Change> changes = {{1, 0x10, 64}, {2, 0x10, -1000}};
  EXPECT_THAT(make_timeline(changes).in_use, ElementsAre(64, 0));
}

TEST(TimelineTest, SizesWithoutAddressesAreAddedUp) {
  const std::vector<Change> changes = {{1, 0, 64}, {2, 0, 64}, {3, 0, -96}, {4, 0, -96}};
  const Timeline timeline = make_timeline(changes);
  EXPECT_THAT(timeline.in_use, ElementsAre(64, 128, 32, 0));
  EXPECT_EQ(timeline.unknown_frees, 1u);
  EXPECT_THAT(timeline.alive_at_peak, IsEmpty());
}

TEST(TimelineTest, HugeSizesDoNotOverflow) {
  const std::vector<Change> changes = {{1, 1, INT64_MAX}, {2, 2, INT64_MAX}, {3, 3, INT64_MAX},
                                       {4, 4, INT64_MIN}, {5, 0, INT64_MIN}, {6, 1, INT64_MIN}};
  const Timeline timeline = make_timeline(changes);
  EXPECT_EQ(timeline.peak_bytes, UINT64_MAX);
  EXPECT_EQ(timeline.unknown_frees, 2u);
}

TEST(TimelineTest, RandomChangesMatchAMapOfLiveAllocations) {
  std::mt19937_64 random(7);
  std::vector<Change> changes;
  for (uint64_t time = 0; time < 20'000; ++time) {
    const int64_t bytes = static_cast<int64_t>(random() % 4096) - 2048;
    changes.push_back({time, 1 + random() % 500, bytes});
  }
  const Timeline timeline = make_timeline(changes);
  std::map<uint64_t, size_t> alive;
  std::vector<size_t> at_peak;
  uint64_t peak = 0;
  for (size_t at = 0; at < changes.size(); ++at) {
    if (changes[at].bytes > 0) alive[changes[at].address] = at;
    if (changes[at].bytes < 0) alive.erase(changes[at].address);
    uint64_t sum = 0;
    for (const auto& [address, which] : alive) sum += static_cast<uint64_t>(changes[which].bytes);
    ASSERT_EQ(timeline.in_use[at], sum) << at;
    if (sum <= peak) continue;
    peak = sum;
    at_peak.clear();
    for (const auto& [address, which] : alive) at_peak.push_back(which);
  }
  EXPECT_EQ(timeline.peak_bytes, peak);
  EXPECT_THAT(timeline.alive_at_peak, testing::UnorderedElementsAreArray(at_peak));
  EXPECT_EQ(timeline.never_freed.size(), alive.size());
}

}  // namespace
}  // namespace kymo::memory
