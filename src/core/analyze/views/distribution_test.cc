#include "analyze/views/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analyze/durations.h"
#include "base/clock_map.h"
#include "base/quantile.h"
#include "trace/test_recorder.h"

namespace kymo::views {
namespace {

using trace::PointKind;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

class DistributionTest : public ::testing::Test {
 protected:
  TestRecorder make() {
    TestRecorder recorder(path);
    recorder.add_thread(1, 101, "main");
    trace::Track queue;
    queue.id = 2;
    queue.kind = trace::TrackKind::DeviceQueue;
    queue.clock = TestRecorder::kClock;
    recorder.add_track(queue);
    recorder.add_class(1, "load");
    recorder.add_class(2, "step {}", "", {{"", trace::FieldType::Int}});
    recorder.add_class(3, "request {}", "", {{"", trace::FieldType::Int}});
    recorder.add_class(4, "loader");
    return recorder;
  }
  Distributions find(const std::string& pattern) { return find_durations(trace::Reader(path), pattern); }

  TemporaryFolder folder;
  std::string path = folder / "t.kymo";
};

TEST_F(DistributionTest, QuantilesAreBetweenTheTwoNearestValues) {
  TestRecorder recorder = make();
  for (uint64_t i = 1; i <= 200; ++i) recorder.complete(1, 1'000 * i, 1'000 * i + i, 1);
  recorder.complete(1, 900'000, 900'400, 4);
  recorder.close();
  const Distributions found = find("load");
  EXPECT_EQ(found.names, (std::map<std::string, uint64_t>{{"load", 200}}));
  ASSERT_EQ(found.places.size(), 1u);
  const Distribution& row = found.places[0];
  EXPECT_EQ(row.place, RangePlace::Thread);
  EXPECT_EQ(row.count, 200u);
  EXPECT_EQ(row.total_ns, 200u * 201 / 2);
  EXPECT_EQ(row.min_ns, 1u);
  EXPECT_EQ(row.p50_ns, 101u);  // 100.5
  EXPECT_EQ(row.p90_ns, 180u);
  EXPECT_EQ(row.p99_ns, 198u);
  EXPECT_EQ(row.max_ns, 200u);
  EXPECT_FALSE(row.approximate);
  uint64_t sum = 0;
  for (const DurationBucket& bucket : row.buckets) sum += bucket.count;
  EXPECT_EQ(sum, 200u);
}

TEST_F(DistributionTest, PatternDescribesSeveralNames) {
  TestRecorder recorder = make();
  recorder.complete(1, 0, 10, 1);
  recorder.complete(1, 20, 25, 4);
  recorder.close();
  EXPECT_EQ(find("load*").names, (std::map<std::string, uint64_t>{{"load", 1}, {"loader", 1}}));
  EXPECT_EQ(find("load*").places.at(0).count, 2u);
}

TEST_F(DistributionTest, NameIsOfTheClassOrTheText) {
  TestRecorder recorder = make();
  for (int64_t i = 0; i < 4; ++i) {
    recorder.begin(1, static_cast<uint64_t>(100 * i), 2, {i});
    recorder.begin(1, static_cast<uint64_t>(100 * i), trace::kInlineName, {"made up"});
    recorder.end(1, static_cast<uint64_t>(100 * i + 3));
    recorder.end(1, static_cast<uint64_t>(100 * i + 10 * (i + 1)));
  }
  recorder.close();
  EXPECT_EQ(find("step {}").places.at(0).count, 4u);
  EXPECT_EQ(find("step 2").places.at(0).total_ns, 30u);
  EXPECT_EQ(find("?tep 2").places.at(0).total_ns, 30u);
  EXPECT_EQ(find("made up").places.at(0).count, 4u);
  EXPECT_EQ(find("*").places.at(0).count, 8u);
}

TEST_F(DistributionTest, ThreadsDevicesAndRangesAcrossThreadsAreSeparate) {
  TestRecorder recorder = make();
  recorder.complete(1, 0, 10, 1);
  recorder.complete(2, 0, 300, 1);
  recorder.complete(2, 100, 250, 1, 0, 1);
  recorder.point(1, 5, PointKind::AsyncBegin, 3, 77, {int64_t{9}});
  recorder.point(1, 1'005, PointKind::AsyncEnd, 3, 77, {int64_t{9}});
  recorder.point(1, 2'000, PointKind::AsyncBegin, 3, 78, {int64_t{8}});
  recorder.close();
  const Distributions load = find("load");
  ASSERT_EQ(load.places.size(), 2u);
  EXPECT_EQ(load.places[1].place, RangePlace::Device);
  EXPECT_EQ(load.places[1].total_ns, 450u);
  const Distributions request = find("request 9");
  ASSERT_EQ(request.places.size(), 1u);
  EXPECT_EQ(request.places[0].place, RangePlace::AcrossThreads);
  EXPECT_EQ(request.places[0].max_ns, 1'000u);
  EXPECT_EQ(find("request {}").places.at(0).unfinished, 1u);
}

TEST_F(DistributionTest, UnfinishedRangesAreOnlyCounted) {
  TestRecorder recorder = make();
  recorder.complete(1, 0, 10, 1);
  recorder.begin(1, 100, 1);
  recorder.close();
  const Distribution row = find("load").places.at(0);
  EXPECT_EQ(row.count, 1u);
  EXPECT_EQ(row.unfinished, 1u);
  EXPECT_EQ(row.max_ns, 10u);
}

TEST_F(DistributionTest, WithoutAMatchTheOtherNamesAreListed) {
  TestRecorder recorder = make();
  recorder.complete(1, 0, 10, 4);
  recorder.begin(1, 20, trace::kInlineName, {"made up"});
  recorder.end(1, 30);
  recorder.close();
  const Distributions found = find("laod");
  EXPECT_TRUE(found.names.empty());
  EXPECT_TRUE(found.places.empty());
  EXPECT_EQ(found.other_names, (std::vector<std::string>{"loader", "made up"}));
}

TEST_F(DistributionTest, RandomDurationsFollowTheDefinition) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 30; ++round) {
    TestRecorder recorder = make();
    std::vector<uint64_t> expected;
    uint64_t time = 0;
    for (size_t i = 1 + random() % 500; i > 0; --i) {
      const uint64_t duration = random() % (uint64_t{1} << random() % 30);
      const bool wanted = random() % 3 != 0;
      recorder.complete(1, time, time + duration, wanted ? 1 : 4);
      time += duration + 1;
      if (wanted) expected.push_back(duration);
      if (random() % 50 == 0) recorder.cut(1);
    }
    recorder.close();
    if (expected.empty()) continue;
    std::sort(expected.begin(), expected.end());
    for (const uint64_t exact : {uint64_t{1'000'000}, uint64_t{1}}) {
      const Distributions found = find_durations(trace::Reader(path), "load", 20, exact);
      const Distribution& row = found.places.at(0);
      EXPECT_EQ(row.count, expected.size());
      EXPECT_EQ(row.min_ns, expected.front());
      EXPECT_EQ(row.max_ns, expected.back());
      EXPECT_EQ(row.approximate, exact < expected.size());
      const auto quantile = [&](uint64_t percent) {
        if (row.approximate) return expected[analyze::LogHistogram::nearest_rank(expected.size(), percent)];
        return base::round_ns(base::quantile_of_sorted(expected, static_cast<double>(percent) / 100));
      };
      const auto near = [&](uint64_t actual, uint64_t wanted) {
        const double error = row.relative_error * static_cast<double>(wanted) + (row.approximate ? 1 : 0);
        EXPECT_NEAR(static_cast<double>(actual), static_cast<double>(wanted), error);
      };
      near(row.p50_ns, quantile(50));
      near(row.p90_ns, quantile(90));
      near(row.p99_ns, quantile(99));
      uint64_t sum = 0;
      for (const DurationBucket& bucket : row.buckets) sum += bucket.count;
      EXPECT_EQ(sum, expected.size());
    }
  }
}

}  // namespace
}  // namespace kymo::views
