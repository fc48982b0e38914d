#include "analyze/report/intervals.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace kymo::analyze {
namespace {

std::vector<Interval> list(const Intervals& intervals) { return {intervals.all().begin(), intervals.all().end()}; }

TEST(IntervalsTest, MergesWhatTouches) {
  const Intervals set({{5, 7}, {1, 3}, {3, 4}, {6, 9}, {20, 20}});
  EXPECT_EQ(list(set), (std::vector<Interval>{{1, 4}, {5, 9}}));
  EXPECT_EQ(set.length(), 7u);
}

// Every time one by one.
TEST(IntervalsTest, AgreesWithSetsOfSingleTimes) {
  constexpr int64_t kEnd = 60;
  std::mt19937 random(3);
  const auto some = [&] {
    std::vector<Interval> any;
    for (unsigned i = random() % 12; i > 0; --i) {
      const auto begin = static_cast<int64_t>(random() % kEnd);
      any.push_back({begin, begin + static_cast<int64_t>(random() % 9)});
    }
    return any;
  };
  const auto times = [](const auto& intervals) {
    std::set<int64_t> all;
    for (const Interval& one : intervals)
      for (int64_t t = one.begin; t < one.end; ++t) all.insert(t);
    return all;
  };
  for (int round = 0; round < 2000; ++round) {
    const auto first = some(), second = some();
    const Intervals a(first), b(second);
    const auto in_a = times(first), in_b = times(second);
    std::set<int64_t> both, either = in_a, rest;
    either.insert(in_b.begin(), in_b.end());
    for (const int64_t t : in_a) (in_b.count(t) != 0 ? both : rest).insert(t);
    EXPECT_EQ(times(a.all()), in_a);
    EXPECT_EQ(times(united(a, b).all()), either);
    EXPECT_EQ(times(intersection(a, b).all()), both);
    EXPECT_EQ(times(difference(a, b).all()), rest);
    size_t hint = 0;
    for (int query = 0; query < 20; ++query) {
      const auto from = static_cast<int64_t>(random() % kEnd), to = from + static_cast<int64_t>(random() % 30);
      uint64_t count = 0;
      for (int64_t t = from; t < to; ++t) count += in_a.count(t);
      EXPECT_EQ(a.covered(from, to, hint), count);
    }
  }
}

}  // namespace
}  // namespace kymo::analyze
