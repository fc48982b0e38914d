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
    const Alignment found = align(moments, moments.front().other, time);
    const auto truth = [&](int64_t at) { return at + offset + std::llround(drift * static_cast<double>(at)); };
    for (const int64_t at : {moments.front().other, time / 2 + 500'000'000, time}) {
      EXPECT_LE(std::abs(found.to_reference(at) - truth(at)), static_cast<int64_t>(found.error_ns) + 1)
          << "round " << round << " moments " << count << " noise " << noise;
    }
  }
}

TEST(AlignmentTest, FewMomentsHaveNoDrift) {
  const Alignment found = align({{1100, 100}, {1205, 200}, {1302, 300}}, 100, 300);
  EXPECT_EQ(found.drift, 0);
  EXPECT_EQ(found.offset_ns, 1002);
  EXPECT_GE(found.error_ns, 3u);
}

TEST(AlignmentTest, TimesFarFromTheMomentsHaveALargerError) {
  std::mt19937_64 random(5);
  std::vector<SharedMoment> moments;
  for (int64_t i = 0; i < 50; ++i) {
    const int64_t time = i * 10'000'000;
    moments.push_back({time + static_cast<int64_t>(random() % 5000), time});
  }
  const uint64_t inside = align(moments, 0, 490'000'000).error_ns;
  const uint64_t outside = align(moments, 0, 49'000'000'000).error_ns;
  EXPECT_LT(inside, 6'000u);
  EXPECT_GT(outside, 10 * inside);
  EXPECT_LT(outside, inside + 10'000'000);  // at most 200 ppm
}

TEST(AlignmentTest, ADriftIsAtMostThatOfAClock) {
  std::vector<SharedMoment> moments;
  for (int64_t i = 0; i < 50; ++i) moments.push_back({i * 11'000'000, i * 10'000'000});
  EXPECT_LE(std::abs(align(moments, 0, 490'000'000).drift), kMostDrift);
}

// A double has no nanoseconds of a time since 1970.
TEST(AlignmentTest, TimesSince1970AreExact) {
  constexpr int64_t kNow = 1'700'000'000'123'456'789;
  std::vector<SharedMoment> moments;
  for (int64_t i = 0; i < 20; ++i) moments.push_back({kNow + i * 1'000'001, i * 1'000'001});
  const Alignment found = align(moments, 0, 20'000'000);
  EXPECT_EQ(found.to_reference(7), kNow + 7);
  EXPECT_LT(found.error_ns, 3u);
}

TEST(AlignmentTest, TwoStepsAreOne) {
  const Alignment first{100'000, 5'000, 1e-4, 10, 9}, second{2'000'000, -700, -2e-5, 7, 9};
  const Alignment both = first.then(second);
  for (const int64_t time : {int64_t{0}, int64_t{100'000}, int64_t{90'000'000}})
    EXPECT_NEAR(static_cast<double>(both.to_reference(time)),
                static_cast<double>(second.to_reference(first.to_reference(time))), 2);
  EXPECT_EQ(both.error_ns, 17u);
}

TEST(AlignmentTest, ForgedTimesDoNotOverflow) {
  const Alignment found = align({{INT64_MAX, INT64_MIN}, {INT64_MIN, INT64_MAX}, {0, 0}, {1, 1}}, INT64_MIN, INT64_MAX);
  found.to_reference(INT64_MIN);
  found.to_reference(INT64_MAX);
  EXPECT_GT(found.error_ns, 0u);
}

}  // namespace
}  // namespace kymo::analyze
