#include "trace/async_pairs.h"

#include <gtest/gtest.h>

#include <vector>

namespace kymo::trace {
namespace {

struct AsyncBegin {
  int64_t ns;
};
struct AsyncEnd {
  int64_t ns;
};
struct Seen {
  uint64_t id;
  int64_t from, to;
  bool operator==(const Seen&) const = default;
};

class AsyncPairsTest : public ::testing::Test {
 protected:
  void finish() {
    pairs.finish([this](const AsyncHandle& handle, const AsyncBegin& begin) {
      open.push_back({handle.id, begin.ns, 0});
    });
  }
  std::vector<Seen> seen, open;
  AsyncPairs<AsyncBegin, AsyncEnd> pairs{[this](uint64_t id, const AsyncBegin& begin, const AsyncEnd& end) {
                                           seen.push_back({id, begin.ns, end.ns});
                                         },
                                         {.waiting = 10, .pairs = 5}};
};

TEST_F(AsyncPairsTest, BeginAndEndMayComeInAnyOrder) {
  EXPECT_TRUE(pairs.begin({0, 1}, {10}));
  pairs.end({0, 1}, {20});
  pairs.end({0, 2}, {40});
  EXPECT_TRUE(pairs.begin({0, 2}, {30}));
  finish();
  EXPECT_EQ(seen, (std::vector<Seen>{{1, 10, 20}, {2, 30, 40}}));
  EXPECT_EQ(pairs.unmatched_ends(), 0u);
}

TEST_F(AsyncPairsTest, EarlierOfTwoEndsIsUsedInAnyReadOrder) {
  pairs.begin({0, 1}, {10});
  pairs.end({0, 1}, {50});
  pairs.end({0, 1}, {20});
  pairs.end({0, 1}, {30});
  pairs.end({0, 2}, {50});
  pairs.end({0, 2}, {20});
  pairs.begin({0, 2}, {10});
  finish();
  EXPECT_EQ(seen, (std::vector<Seen>{{1, 10, 20}, {2, 10, 20}}));
  EXPECT_EQ(pairs.unmatched_ends(), 3u);
}

TEST_F(AsyncPairsTest, ProcessesHaveTheirOwnHandles) {
  pairs.begin({0, 1}, {10});
  pairs.end({1, 1}, {20});
  finish();
  EXPECT_TRUE(seen.empty());
  EXPECT_EQ(open, (std::vector<Seen>{{1, 10, 0}}));
  EXPECT_EQ(pairs.unmatched_ends(), 1u);
}

TEST_F(AsyncPairsTest, SecondBeginIsRefusedUntilTheRangeHasEnded) {
  EXPECT_TRUE(pairs.begin({0, 1}, {10}));
  EXPECT_FALSE(pairs.begin({0, 1}, {11}));
  pairs.end({0, 1}, {20});
  EXPECT_TRUE(pairs.begin({0, 1}, {30}));
  pairs.end({0, 1}, {40});
  finish();
  EXPECT_EQ(seen, (std::vector<Seen>{{1, 10, 20}, {1, 30, 40}}));
}

TEST_F(AsyncPairsTest, PairsAreHandedOutWhenManyArePending) {
  for (uint64_t i = 0; i < 20; ++i) {
    pairs.begin({0, i}, {1});
    pairs.end({0, i}, {2});
  }
  EXPECT_EQ(seen.size(), 15u);
  finish();
  EXPECT_EQ(seen.size(), 20u);
}

TEST_F(AsyncPairsTest, NumberOfPendingBeginsIsLimited) {
  for (uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(pairs.begin({0, i}, {1}));
  EXPECT_FALSE(pairs.begin({0, 10}, {1}));
  pairs.end({0, 10}, {1});
  EXPECT_EQ(pairs.unmatched_ends(), 1u);
  pairs.end({0, 7}, {2});
  EXPECT_TRUE(pairs.begin({0, 10}, {1})) << "a pair waits for nothing";
}

}  // namespace
}  // namespace kymo::trace
