#include <gtest/gtest.h>

#include <random>

#include "analyze/views/distribution.h"

namespace kymo::views {
namespace {

std::vector<uint64_t> starts_of(const std::vector<DurationBucket>& buckets) {
  std::vector<uint64_t> starts;
  for (const DurationBucket& bucket : buckets) starts.push_back(bucket.from_ns);
  return starts;
}

TEST(LogBucketsTest, WideDistributionsHaveFewBucketsForEachPowerOfTen) {
  EXPECT_EQ(starts_of(make_log_buckets(500, 9'000'000, 20)),
            (std::vector<uint64_t>{500, 1'000, 2'000, 5'000, 10'000, 20'000, 50'000, 100'000, 200'000, 500'000,
                                   1'000'000, 2'000'000, 5'000'000}));
  EXPECT_EQ(starts_of(make_log_buckets(1, 3'000'000'000, 20)).size(), 20u);
}

TEST(LogBucketsTest, NarrowDistributionsHaveMany) {
  EXPECT_EQ(starts_of(make_log_buckets(1'000, 1'100, 20)), (std::vector<uint64_t>{1'000, 1'020, 1'050, 1'070, 1'100}));
}

TEST(LogBucketsTest, ZeroAndTheLongestDurationHaveABucket) {
  EXPECT_EQ(starts_of(make_log_buckets(0, 0, 20)), std::vector<uint64_t>{0});
  const auto all = make_log_buckets(0, UINT64_MAX, 20);
  EXPECT_EQ(all.front().from_ns, 0u);
  EXPECT_EQ(all.back().to_ns, UINT64_MAX);
}

TEST(LogBucketsTest, EveryDurationIsInItsBucketAndBucketsHaveNoGaps) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 2'000; ++round) {
    uint64_t low = random() >> random() % 64, high = random() >> random() % 64;
    if (low > high) std::swap(low, high);
    auto buckets = make_log_buckets(low, high, 20);
    ASSERT_FALSE(buckets.empty());
    ASSERT_LE(buckets.size(), 21u);
    ASSERT_LE(buckets.front().from_ns, low);
    ASSERT_TRUE(high < buckets.back().to_ns || buckets.back().to_ns == UINT64_MAX);
    for (size_t i = 1; i < buckets.size(); ++i) ASSERT_EQ(buckets[i].from_ns, buckets[i - 1].to_ns);
    const uint64_t value = low + (high == low ? 0 : random() % (high - low));
    add_to_buckets(buckets, value);
    for (const DurationBucket& bucket : buckets)
      ASSERT_EQ(bucket.count, bucket.from_ns <= value && value < bucket.to_ns ? 1u : 0u) << value;
  }
}

}  // namespace
}  // namespace kymo::views
