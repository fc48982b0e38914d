#include "analyze/innermost.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace kymo::analyze {
namespace {

struct Range {
  int64_t begin, end;
  size_t owner;
};

std::vector<int64_t> self_times(std::vector<Range> ranges) {
  std::stable_sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.end > b.end; });
  std::vector<int64_t> self(ranges.size());
  Innermost<size_t> innermost;
  const auto take = [&](size_t owner, int64_t begin, int64_t end) {
    EXPECT_LT(begin, end);
    self[owner] += end - begin;
  };
  for (const Range& range : ranges) innermost.add(range.begin, range.end, range.owner, take);
  innermost.finish(take);
  return self;
}

TEST(InnermostTest, WhatIsInsideDoesNotCountForTheRangeAround) {
  EXPECT_EQ(self_times({{0, 100, 0}, {10, 30, 1}, {15, 20, 2}, {40, 50, 3}}), (std::vector<int64_t>{70, 15, 5, 10}));
}

TEST(InnermostTest, WhereTwoOverlapTheOneThatBeganLaterCounts) {
  EXPECT_EQ(self_times({{0, 100, 0}, {99, 200, 1}}), (std::vector<int64_t>{99, 101}));
  EXPECT_EQ(self_times({{0, 300, 0}, {10, 100, 1}, {50, 150, 2}, {60, 70, 3}}),
            (std::vector<int64_t>{160, 40, 90, 10}));
}

TEST(InnermostTest, AnyDepthIsCorrect) {
  constexpr int64_t kDepth = 200'000;
  std::vector<Range> ranges;
  for (int64_t i = 0; i < kDepth; ++i) ranges.push_back({i, 3 * kDepth - i, static_cast<size_t>(i)});
  const std::vector<int64_t> self = self_times(ranges);
  for (size_t i = 0; i + 1 < self.size(); ++i) ASSERT_EQ(self[i], 2) << i;
}

TEST(InnermostTest, TheInnermostRangeThatContainsAnother) {
  const auto ignore = [](char, int64_t, int64_t) {};
  Innermost<char> open;
  EXPECT_EQ(open.around(5), nullptr);
  open.add(0, 1000, 's', ignore);
  open.add(99, 200, 'b', ignore);
  EXPECT_EQ(*open.around(99), 'b');
  EXPECT_EQ(*open.around(50), 's');
  open.add(50, 100, 'a', ignore);  // crosses b
  EXPECT_EQ(*open.around(60), 'a');
  EXPECT_EQ(*open.around(10), 's');
}

// Random ranges that overlap in any way, against a look at each nanosecond.
TEST(InnermostTest, AgreesWithALookAtEachNanosecond) {
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    std::vector<Range> ranges;
    const size_t count = 1 + random() % 20;
    for (size_t i = 0; i < count; ++i) {
      const int64_t begin = random() % 60;
      ranges.push_back({begin, begin + static_cast<int64_t>(random() % 30), i});
    }
    // Of two with the same begin and end, the first is outside.
    std::vector<int64_t> expected(count);
    for (int64_t time = 0; time < 100; ++time) {
      const Range* best = nullptr;
      for (const Range& range : ranges) {
        if (range.begin > time || range.end <= time) continue;
        if (best == nullptr || range.begin > best->begin || (range.begin == best->begin && range.end <= best->end))
          best = &range;
      }
      if (best != nullptr) ++expected[best->owner];
    }
    ASSERT_EQ(self_times(ranges), expected) << round;
  }
}

TEST(InnermostTest, RangesInAnyOrderNeverCountTwice) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> taken(200);
    Innermost<int> innermost;
    const auto take = [&](int, int64_t begin, int64_t end) {
      for (int64_t time = begin; time < end; ++time) ++taken.at(static_cast<size_t>(time));
    };
    for (int i = 0; i < 30; ++i) innermost.add(random() % 200, random() % 200, i, take);
    innermost.finish(take);
    EXPECT_LE(*std::max_element(taken.begin(), taken.end()), 1);
  }
}

}  // namespace
}  // namespace kymo::analyze
