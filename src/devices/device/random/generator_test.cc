#include "device/random/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kymo/error.h"

namespace kymo::device::random {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(GeneratorTest, StateHasTheDocumentedBytes) {
  Generator generator(42);
  std::vector<uint8_t> expected;
  for (int word = 0; word < 5; ++word) expected.insert(expected.end(), {1, 0, 0, 0});
  expected.insert(expected.end(), {42, 0, 0, 0, 0, 0, 0, 0});
  expected.insert(expected.end(), {42, 0, 0, 0, 0, 0, 0, 0});
  expected.insert(expected.end(), {0, 0, 0, 0, 0, 0, 0, 0});
  const auto state = generator.state();
  ASSERT_EQ(state.size(), expected.size());
  EXPECT_EQ(std::memcmp(state.data(), expected.data(), state.size()), 0);
}

TEST(GeneratorTest, RestoredStateContinuesWhereItWasSaved) {
  Generator generator(0x123456789abcdef0);
  generator.reserve(1000);
  const auto state = generator.state();
  const Reservation next = generator.reserve(5);
  Generator other;
  other.set_state(state);
  EXPECT_EQ(other.reserve(5), next);
  EXPECT_EQ(other.state(), generator.state());
  EXPECT_EQ(next, (Reservation{0x123456789abcdef0, 1000}));
}

TEST(GeneratorTest, WordsOfAForeignStateAreKept) {
  Generator::State state;
  for (size_t i = 0; i < state.size(); ++i) state[i] = static_cast<std::byte>(i);
  Generator generator;
  generator.set_state(state);
  EXPECT_EQ(generator.state(), state);
  EXPECT_EQ(generator.current_seed(), 0x232221201f1e1d1cu);
  EXPECT_EQ(generator.offset(), 0x2b2a292827262524u);
}

TEST(GeneratorTest, StateOfAnotherSizeIsRefusedWithItsSize) {
  Generator generator(7);
  generator.reserve(3);
  for (const size_t size : {0, 16, 36, 43, 45}) {
    const std::vector<std::byte> state(size);
    EXPECT_THAT([&] { generator.set_state(state); },
                ThrowsMessage<InvalidArgument>(HasSubstr("this one has " + std::to_string(size))));
  }
  EXPECT_EQ(generator.reserve(1), (Reservation{7, 3}));
}

TEST(GeneratorTest, SeedingResetsTheOffsetAndReservingAdvancesIt) {
  Generator generator;
  EXPECT_EQ(generator.reserve(0), (Reservation{67280421310721, 0}));
  generator.manual_seed(5);
  EXPECT_EQ(generator.reserve(10), (Reservation{5, 0}));
  EXPECT_EQ(generator.reserve(1), (Reservation{5, 10}));
  EXPECT_EQ(generator.offset(), 11u);
  generator.set_offset(~uint64_t{0});
  EXPECT_EQ(generator.reserve(2), (Reservation{5, ~uint64_t{0}}));
  EXPECT_EQ(generator.offset(), 1u);
  generator.manual_seed(5);
  EXPECT_EQ(generator.offset(), 0u);
}

TEST(GeneratorTest, SeedsFromTheSystemDiffer) {
  Generator generator{Generator::FromSystem{}};
  const uint64_t first = generator.current_seed(), second = generator.seed();
  EXPECT_NE(first, second);
  EXPECT_EQ(generator.current_seed(), second);
  EXPECT_NE(first, Generator::kDefaultSeed);
}

TEST(GeneratorTest, ThreadsNeverGetTheSameBlocks) {
  constexpr int kThreads = 4, kCalls = 5000;
  Generator generator(1);
  std::vector<std::vector<uint64_t>> taken(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : taken)
    threads.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) mine.push_back(generator.reserve(3).offset);
    });
  for (auto& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& mine : taken) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), size_t{kThreads * kCalls});
  EXPECT_EQ(generator.offset(), uint64_t{3 * kThreads * kCalls});
}

}  // namespace
}  // namespace kymo::device::random
