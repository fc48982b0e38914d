#include "analyze/merge/matching.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kymo::analyze {
namespace {

// Steps with some collectives each.
struct Job {
  Job(unsigned seed, size_t steps, int64_t step, int64_t jitter, uint32_t kinds = 2) : random(seed) {
    int64_t time = 1'000'000'000;
    for (size_t i = 0; i < steps; ++i) {
      for (uint32_t kind = 0; kind < kinds; ++kind) {
        const int64_t end = time + 100'000 * (kind + 1);
        all.push_back({end - 60'000, end, kind, {}});
      }
      time += step + (jitter == 0 ? 0 : static_cast<int64_t>(random() % static_cast<uint64_t>(jitter)));
    }
  }

  // What a rank recorded of it, with a clock that is `offset` behind.
  SharedEvents rank(size_t first, size_t last, int64_t offset, int64_t noise, double drift = 0) {
    SharedEvents own;
    for (size_t i = first; i < last; ++i) {
      SharedEvent one = all[i];
      one.end += static_cast<int64_t>(random() % static_cast<uint64_t>(noise));
      for (int64_t* const time : {&one.begin, &one.end})
        *time -= offset + std::llround(drift * static_cast<double>(*time));
      own.push_back(one);
    }
    return own;
  }

  std::mt19937_64 random;
  SharedEvents all;
};

int64_t offset_of(const Matching& matching) {
  return matching.moments.empty() ? 0 : matching.moments[0].reference - matching.moments[0].other;
}

TEST(MatchingTest, FindsTheEventsThatAreMissingAtTheEnds) {
  for (unsigned round = 0; round < 40; ++round) {
    Job run(round, 100, 1'400'000, 3'000'000);
    const size_t size = run.all.size(), first = run.random() % 80, last = size - run.random() % 80;
    const auto offset = static_cast<int64_t>(run.random() % 4'000'000'000) - 2'000'000'000;
    const Matching found = match_events(run.rank(0, size, 0, 5'000), run.rank(first, last, offset, 5'000, 90e-6), 0);
    EXPECT_TRUE(found.is_proven);
    EXPECT_EQ(found.ways, 1u);
    EXPECT_EQ(found.moments.size(), last - first);
    EXPECT_NEAR(static_cast<double>(offset_of(found)), static_cast<double>(offset), 400'000);
  }
}

// Steps of 1.4 ms that differ by 15 us: the wrong ones fit within 15 us, the right ones within 5 us.
TEST(MatchingTest, NearlyRegularStepsMatchByWhatFitsBestAndNotByTheSystemClocks) {
  for (unsigned round = 0; round < 40; ++round) {
    Job run(round, 60, 1'400'000, 30'000);
    const size_t size = run.all.size();
    const auto offset = static_cast<int64_t>(run.random() % 10'000'000) - 5'000'000;
    const Matching found = match_events(run.rank(0, size, 0, 3'000), run.rank(6, size - 2, offset, 3'000), 0);
    ASSERT_FALSE(found.moments.empty());
    EXPECT_LE(std::abs(offset_of(found) - offset), static_cast<int64_t>(found.reach_ns) + 20'000) << round;
    EXPECT_TRUE(found.is_proven);
  }
}

// The whole sequence has changes that are so far apart that a shift of it has none.
TEST(MatchingTest, RegularStepsProveNothingWhateverTheirNumber) {
  for (size_t count = 8; count <= 70; ++count) {
    Job run(1, count + 1, 1'000'000, 0, 1);
    const Matching found = match_events(run.rank(0, count, 0, 1), run.rank(1, count + 1, 0, 1), 0);
    EXPECT_FALSE(found.is_proven) << count;
    EXPECT_GT(found.ways, 1u) << count;
  }
}

TEST(MatchingTest, RegularStepsAreAmbiguousAndTheReachCoversThem) {
  for (unsigned round = 0; round < 20; ++round) {
    Job run(round, 50, 1'400'000, 0);
    const auto offset = static_cast<int64_t>(run.random() % 10'000'000) - 5'000'000;
    const Matching found = match_events(run.rank(0, 90, 0, 3'000), run.rank(10, 100, offset, 3'000), 0);
    EXPECT_GT(found.ways, 1u);
    EXPECT_FALSE(found.is_proven);
    EXPECT_FALSE(found.is_bounded);
    EXPECT_LE(std::abs(offset_of(found) - offset), static_cast<int64_t>(found.reach_ns) + 10'000);
  }
}

TEST(MatchingTest, NumbersDecide) {
  Job run(1, 50, 1'400'000, 0);
  for (size_t i = 0; i < run.all.size(); ++i) run.all[i].number = static_cast<int64_t>(i);
  const Matching found = match_events(run.rank(0, 90, 0, 3'000), run.rank(10, 100, 7'000'000, 3'000), 0);
  EXPECT_EQ(found.ways, 1u);
  EXPECT_EQ(found.moments.size(), 80u);
  EXPECT_NEAR(static_cast<double>(offset_of(found)), 7'000'000, 5'000);
  EXPECT_TRUE(found.fits);
  EXPECT_TRUE(match_events(run.rank(0, 40, 0, 10), run.rank(60, 100, 0, 10), 0).moments.empty());
}

// The same program twice: the steps have similar lengths.
TEST(MatchingTest, AnotherRunIsNotProven) {
  for (unsigned round = 0; round < 40; ++round) {
    Job one(round, 60, 1'400'000, 200'000), two(round + 1000, 60, 1'400'000, 200'000);
    EXPECT_FALSE(match_events(one.rank(0, 120, 0, 3'000), two.rank(0, 120, 0, 3'000), 0).is_proven) << round;
    for (size_t i = 0; i < 120; ++i) one.all[i].number = two.all[i].number = static_cast<int64_t>(i);
    EXPECT_FALSE(match_events(one.rank(0, 120, 0, 3'000), two.rank(0, 120, 0, 3'000), 0).is_proven) << round;
  }
}

TEST(MatchingTest, UnrelatedEventsDoNotFit) {
  for (unsigned round = 0; round < 20; ++round) {
    Job one(round, 10, 1'000'000, 100'000'000, 1), two(round + 1000, 10, 1'000'000, 100'000'000, 1);
    const Matching found = match_events(one.rank(0, 10, 0, 10), two.rank(0, 10, 0, 10), 0);
    EXPECT_FALSE(found.fits) << round;
  }
}

TEST(MatchingTest, PairsAreTheNearestThatOverlap) {
  Job run(3, 50, 1'400'000, 3'000'000);
  const SharedEvents reference = run.rank(0, 100, 0, 1'000);
  SharedEvents other = run.rank(20, 100, 5'000'000, 1'000);
  other.erase(other.begin() + 10, other.begin() + 15);  // lost in the middle
  Alignment alignment;
  alignment.offset_ns = 5'000'000;
  alignment.error_ns = 2'000;
  const auto pairs = pair_events(reference, other, alignment);
  EXPECT_EQ(pairs.size(), other.size());
  for (const auto& [a, b] : pairs) EXPECT_EQ(a, b < 10 ? b + 20 : b + 25);
}

}  // namespace
}  // namespace kymo::analyze
