#include "edge/blocks.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace kymo::edge {
namespace {

TEST(BlocksTest, ElementsKeepTheirNumbersAndAddresses) {
  Blocks<uint64_t> list;
  std::vector<uint64_t*> places;
  const uint32_t count = Blocks<uint64_t>::kLongestRun * 3;
  for (uint32_t i = 0; i < count; ++i) {
    places.push_back(list.append(i));
    ASSERT_NE(places.back(), nullptr);
  }
  ASSERT_EQ(list.size(), count);
  for (uint32_t i = 0; i < count; ++i) {
    ASSERT_EQ(list[i], i);
    ASSERT_EQ(&list[i], places[i]);
  }
}

TEST(BlocksTest, ElementSizesThatAreNotPowersOfTwoWork) {
  struct Odd {
    std::array<uint32_t, 33> words{};
  };
  Blocks<Odd> list;
  for (uint32_t i = 0; i < 40'000; ++i) list.append()->words[32] = i;
  for (uint32_t i = 0; i < 40'000; ++i) ASSERT_EQ(list[i].words[32], i);
}

TEST(BlocksTest, RunsOfAnyLengthAreContiguous) {
  Blocks<uint32_t> list;
  struct Run {
    uint32_t at, length, first;
  };
  std::vector<Run> runs;
  uint32_t next = 0, seed = 1;
  for (int i = 0; i < 3'000; ++i) {
    seed = seed * 1'664'525 + 1'013'904'223;
    const uint32_t length = i % 100 == 0 ? seed % Blocks<uint32_t>::kLongestRun : seed % 700;
    std::vector<uint32_t> values(length);
    std::iota(values.begin(), values.end(), next);
    const uint32_t at = list.append_run(values);
    ASSERT_NE(at, Blocks<uint32_t>::kFull);
    runs.push_back({at, length, next});
    next += length;
  }
  for (const Run& run : runs) {
    const auto values = list.run(run.at, run.length);
    ASSERT_EQ(values.size(), run.length);
    for (uint32_t i = 0; i < run.length; ++i) ASSERT_EQ(values[i], run.first + i);
  }
}

TEST(BlocksTest, RunOfMaxLengthIsKeptAndLongerRunChangesNothing) {
  Blocks<std::byte> list;
  const std::vector<std::byte> longest(Blocks<std::byte>::kLongestRun, std::byte{7});
  const uint32_t at = list.append_run(longest);
  ASSERT_NE(at, Blocks<std::byte>::kFull);
  EXPECT_EQ(list.run(at, longest.size()).size(), longest.size());
  const uint32_t before = list.size();
  EXPECT_EQ(list.append_run(std::vector<std::byte>(longest.size() + 1)), Blocks<std::byte>::kFull);
  EXPECT_EQ(list.size(), before);
}

TEST(BlocksTest, RunsThatWereNeverAppendedAreEmpty) {
  Blocks<std::byte> list;
  EXPECT_TRUE(list.run(0, 1).empty());
  EXPECT_TRUE(list.run(UINT32_MAX, 1).empty());
  const std::array<std::byte, 10> ten{};
  const uint32_t at = list.append_run(ten);
  EXPECT_EQ(list.run(at, 10).size(), 10u);
  EXPECT_TRUE(list.run(at, 11).empty());
  EXPECT_TRUE(list.run(at + 9, 2).empty());
  EXPECT_TRUE(list.run(at, SIZE_MAX).empty());
  EXPECT_TRUE(list.run(at, 0).empty());
}

TEST(BlocksTest, ElementsAreDestroyedOnceAndMoveWithTheList) {
  const auto counted = std::make_shared<int>(0);
  {
    Blocks<std::shared_ptr<int>> list;
    for (int i = 0; i < 1'000; ++i) list.append(counted);
    Blocks<std::shared_ptr<int>> moved(std::move(list));
    EXPECT_EQ(moved.size(), 1'000u);
    EXPECT_EQ(list.size(), 0u);  // NOLINT(bugprone-use-after-move): a moved-from list is guaranteed to be empty
    EXPECT_NE(list.append(counted), nullptr);
    EXPECT_EQ(counted.use_count(), 1'002);
    moved = std::move(list);
    EXPECT_EQ(counted.use_count(), 2);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(BlocksTest, ElementWhoseConstructorThrowsIsNotAdded) {
  struct Refuses {
    explicit Refuses(bool refuse) {
      if (refuse) throw 1;
    }
  };
  Blocks<Refuses> list;
  list.append(false);
  EXPECT_THROW(list.append(true), int);
  EXPECT_EQ(list.size(), 1u);
}

}  // namespace
}  // namespace kymo::edge
