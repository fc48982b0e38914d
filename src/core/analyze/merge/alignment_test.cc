#include "analyze/merge/alignment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kymo::analyze {
namespace {

// Clocks with any offset, up to 200 ppm of drift, noise of some microseconds, and some wrong moments.
TEST(AlignmentTest, FindsOffsetAndDriftWithinTheErrorThatItStates) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    const auto offset = static_cast<int64_t>(random() % 20'000'000'000) - 10'000'000'000;
    const double drift = (static_cast<double>(random() % 400) - 200) * 1e-6;
    const double noise = 1 + static_cast<double>(random() % 20'000);
    const size_t count = 10 + random() % 2000;
    std::vector<SharedMoment> moments;
    int64_t time = 1'000'000'000;
    for (size_t i = 0; i < count; ++i) {
      time += static_cast<int64_t>(1'000'000 + random() % 30'000'000);
      const double jitter = (static_cast<double>(random() % 2001) / 1000 - 1) * noise;
      int64_t reference = time + offset + std::llround(drift * static_cast<double>(time) + jitter);
      if (random() % 50 == 0) reference += 50'000'000;  // a rank that came back late
      moments.push_back({reference, time});
    }
    const Alignment found = align(moments);
    const auto truth = [&](int64_t at) { return at + offset + std::llround(drift * static_cast<double>(at)); };
    for (const int64_t at : {moments.front().other, time / 2 + 500'000'000, time}) {
      EXPECT_LE(std::abs(found.to_reference(at) - truth(at)), static_cast<int64_t>(found.error_ns) + 1)
          << "round " << round << " moments " << count << " noise " << noise;
    }
  }
}

TEST(AlignmentTest, FewMomentsHaveNoDrift) {
  const Alignment found = align({{1100, 100}, {1205, 200}, {1302, 300}});
  EXPECT_EQ(found.drift, 0);
  EXPECT_EQ(found.offset_ns, 1002);
  EXPECT_GE(found.error_ns, 3u);
}

TEST(MatchedTest, FindsTheEventsThatAreMissingAtTheEnds) {
  std::mt19937_64 random(4);
  std::vector<int64_t> all;
  int64_t time = 0;
  for (int i = 0; i < 200; ++i) all.push_back(time += static_cast<int64_t>(1'000'000 + random() % 5'000'000));
  for (int round = 0; round < 50; ++round) {
    const size_t first = random() % 20, last = all.size() - random() % 20;
    std::vector<int64_t> other;
    const auto offset = static_cast<int64_t>(random() % 100'000'000);
    for (size_t i = first; i < last; ++i) other.push_back(all[i] - offset + static_cast<int64_t>(random() % 2000));
    const std::vector<SharedMoment> pairs = matched(all, other);
    ASSERT_EQ(pairs.size(), other.size());
    EXPECT_EQ(pairs.front().reference, all[first]);
  }
}

}  // namespace
}  // namespace kymo::analyze
