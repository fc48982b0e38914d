#include "questions/answers.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::fleet {
namespace {

TEST(FleetAnswersTest, ASlowerOperationIsFoundWithTheStatisticsOfDiff) {
  std::vector<std::string> minutes, before, after, wall, counts;
  for (int i = 0; i < 12; ++i) {
    minutes.push_back(std::to_string(i));
    before.push_back(std::to_string(1'000 + i));
    after.push_back(std::to_string(1'500 + i));
    wall.push_back("20000");
    counts.push_back("10");
  }
  const auto list = [](const std::vector<std::string>& items) { return "[" + base::join(items, ",") + "]"; };
  push::Rows rows{{"side", "operation", "device", "samples", "sums", "counts"}, {}};
  for (const std::string side : {"0", "1"}) {
    rows.rows.push_back({side, "", "2", list(minutes), list(wall), list(counts)});
    rows.rows.push_back({side, "gemm", "1", list(minutes), list(side == "0" ? before : after), list(counts)});
  }
  const analyze::Diff diff = read_diff(rows);
  EXPECT_EQ(diff.replicate, analyze::Replicate::Minute);
  EXPECT_EQ(diff.replicates_a, 12u);
  EXPECT_DOUBLE_EQ(diff.iteration.median_a, 2'000);
  ASSERT_EQ(diff.rows.size(), 1u);
  EXPECT_TRUE(diff.rows[0].significant);
  EXPECT_NEAR(diff.rows[0].change.shift, 50, 1);
}

TEST(FleetAnswersTest, FewSamplesDecideAboutTheIterationAndNotAboutOneOfManyOperations) {
  push::Rows rows{{"side", "operation", "device", "samples", "sums", "counts"}, {}};
  for (const std::string side : {"0", "1"}) {
    const std::string values = side == "0" ? "[10,11,12,13]" : "[20,21,22,23]";
    rows.rows.push_back({side, "", "2", "[0,1,2,3]", values, "[1,1,1,1]"});
    rows.rows.push_back({side, "slower", "1", "[0,1,2,3]", values, "[1,1,1,1]"});
    for (int i = 0; i < 9; ++i)
      rows.rows.push_back({side, "same" + std::to_string(i), "0", "[0,1,2,3]", "[5,6,7,8]", "[1,1,1,1]"});
  }
  const analyze::Diff diff = read_diff(rows);
  EXPECT_TRUE(diff.iteration.significant);
  EXPECT_NEAR(diff.iteration.q, 2.0 / 70, 1e-12);
  ASSERT_EQ(diff.rows.size(), 10u);
  EXPECT_EQ(diff.rows[0].key, "slower");
  EXPECT_NEAR(diff.rows[0].q, 20.0 / 70, 1e-12);
  for (const analyze::DiffRow& row : diff.rows) {
    EXPECT_FALSE(row.significant);
    EXPECT_EQ(row.undecided, &row == &diff.rows[0]);
  }
}

TEST(FleetAnswersTest, SoManySamplesDecideAboutOneOfManyOperations) {
  EXPECT_EQ(analyze::fewest_replicates(0), 4u);
  EXPECT_EQ(analyze::fewest_replicates(1), 4u);   // 2 of 70 orders
  EXPECT_EQ(analyze::fewest_replicates(6), 5u);   // 2 of 252
  EXPECT_EQ(analyze::fewest_replicates(7), 6u);   // 2 of 924
  EXPECT_EQ(analyze::fewest_replicates(53), 7u);  // 2 of 3,432
}

TEST(FleetAnswersTest, SamplesMayComeInAnyOrderAndCountIfTheyHaveIterations) {
  std::string minutes = "[", sums = "[", counts = "[", wall = "[";
  for (int i = 0; i < 199; ++i) {
    const char* const comma = i == 0 ? "" : ",";
    minutes += comma + std::to_string(198 - i);
    sums += comma + std::to_string(100);
    wall += comma + std::to_string(1'000);
    counts += std::string(comma) + "2";
  }
  push::Rows rows{{"side", "operation", "device", "samples", "sums", "counts"}, {}};
  for (const std::string side : {"0", "1"}) {
    rows.rows.push_back({side, "gemm", "0", minutes + "]", sums + "]", counts + "]"});
    rows.rows.push_back({side, "", "2", minutes + "]", wall + "]", counts + "]"});
    rows.rows.push_back({side, "without iterations", "0", "[199]", "[1]", "[1]"});
  }
  const analyze::Diff diff = read_diff(rows);
  EXPECT_EQ(diff.replicates_a, 199u);
  EXPECT_DOUBLE_EQ(diff.iteration.median_a, 500);
  EXPECT_DOUBLE_EQ(diff.iteration.median_b, 500);
  ASSERT_EQ(diff.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(diff.rows[0].median_b, 50);
}

TEST(FleetAnswersTest, HistoryHasItsChangeAndItsTrace) {
  push::Rows rows{{"counted", "sample", "sum_ns", "iterations", "usual_ns", "shown_by", "ranks"}, {}};
  for (int i = 0; i < 24; ++i)
    rows.rows.push_back({"1", std::to_string(100 + i), std::to_string((i < 12 ? 1'000 : 1'300) + i % 3), "10", "1000",
                         std::to_string(i), "[-1]"});
  const History history = read_history(rows);
  ASSERT_EQ(history.changes.size(), 1u);
  EXPECT_EQ(history.changes[0].at, 12u);
  EXPECT_EQ(history.points.at(history.changes[0].at).shown_by, 12u);
  EXPECT_EQ(history.points[history.changes[0].at].seconds, 112 * 60);
  EXPECT_EQ(history.points[0].seconds, 6'000);
}

// The place that the test finds may be a sample away from the first one of the new level.
TEST(FleetAnswersTest, AChangeBeginsWithItsFirstSample) {
  for (const int outlier : {11, 12}) {
    push::Rows rows{{"counted", "sample", "sum_ns", "iterations", "usual_ns", "shown_by", "ranks"}, {}};
    for (int i = 0; i < 24; ++i) {
      int ns = (i < 12 ? 1'000 : 1'300) + i % 3;
      if (i == outlier) ns = outlier < 12 ? 1'120 : 1'180;  // between the levels, and nearer to its own
      rows.rows.push_back({"1", std::to_string(100 + i), std::to_string(ns), "10", "1000", std::to_string(i), "[-1]"});
    }
    const History history = read_history(rows);
    ASSERT_EQ(history.changes.size(), 1u);
    EXPECT_EQ(history.points.at(history.changes[0].at).seconds, 112 * 60);
    EXPECT_EQ(history.points[history.changes[0].at].shown_by, 12u);
  }
}

TEST(FleetAnswersTest, SamplesOfSlowerRanksAreNotAChange) {
  // A row that is not counted has the ranks that were not recorded throughout.
  push::Rows rows{{"counted", "sample", "sum_ns", "iterations", "usual_ns", "shown_by", "ranks"}, {}};
  rows.rows.push_back({"0", "0", "1", "1", "1", "1", "[9,-1,8]"});
  for (int i = 0; i < 24; ++i)
    rows.rows.push_back({"1", std::to_string(100 + i), std::to_string((i < 12 ? 1'000 : 1'300) + i % 3), "10",
                         i < 12 ? "1000" : "1300", std::to_string(i), "[-1]"});
  const History history = read_history(rows);
  EXPECT_TRUE(history.changes.empty());
  EXPECT_DOUBLE_EQ(history.points[1].ns, 115.1);
  EXPECT_EQ(history.left_out, (std::vector<int64_t>{-1, 8, 9}));
}

TEST(FleetAnswersTest, RanksThatAreNotComparedHaveAReason) {
  analyze::Diff diff;
  diff.replicates_a = 10, diff.replicates_b = 5;
  const DiffRanks ranks = read_diff_ranks(
      {{"rank", "earlier", "later"}, {{"-1", "3", "0"}, {"0", "10", "5"}, {"1", "9", "5"}, {"2", "0", "7"}}}, diff);
  EXPECT_EQ(ranks.earlier, 10u);
  EXPECT_EQ(ranks.later, 7u);
  EXPECT_EQ(ranks.only_a, std::vector<int64_t>{-1});
  EXPECT_EQ(ranks.only_b, std::vector<int64_t>{2});
  EXPECT_EQ(ranks.too_few, std::vector<int64_t>{1});
}

TEST(FleetAnswersTest, RanksAreNamedAsRuns) {
  EXPECT_EQ(rank_names({7}), "rank 7");
  EXPECT_EQ(rank_names({0, 1, 2, 5, 7, 8}), "ranks 0-2, 5, 7-8");
  EXPECT_EQ(rank_names({-1}), "traces without a rank");
  EXPECT_EQ(rank_names({-1, 0, 1}), "ranks 0-1 and traces without a rank");
  EXPECT_EQ(rank_names({0, 2, 4, 6, 8, 10, 12}), "ranks 0, 2, 4, 6, 8, …");
}

TEST(FleetAnswersTest, AChangeInALongHistoryIsFound) {
  push::Rows rows{{"counted", "sample", "sum_ns", "iterations", "usual_ns", "shown_by", "ranks"}, {}};
  for (size_t i = 0; i < 3 * kMostHistory; ++i)
    rows.rows.push_back({"1", std::to_string(i), std::to_string((i < 1'000 ? 1'000 : 1'300) + i % 3), "10", "1000",
                         std::to_string(i), "[-1]"});
  const History history = read_history(rows);
  ASSERT_EQ(history.points.size(), kMostHistory);
  ASSERT_EQ(history.changes.size(), 1u);
  EXPECT_NEAR(static_cast<double>(history.points.at(history.changes[0].at).seconds), 60'000, 180);
  EXPECT_NEAR(static_cast<double>(history.points[history.changes[0].at].shown_by), 1'002, 3);
}

TEST(FleetAnswersTest, WrongRowsAreErrors) {
  EXPECT_THROW(read_history({{"a", "b", "c", "d", "e", "f", "g"}, {{"1", "x", "1", "1", "1", "1", "[]"}}}), Error);
  EXPECT_THROW(read_diff({{"a", "b", "c", "d", "e", "f"}, {{"0", "x", "1", "[1,2]", "[1]", "[1]"}}}), Error);
  for (const char* const sample : {"[200]", "[-1]", "[nan]", "[1e300]"})
    EXPECT_THROW(read_diff({{"a", "b", "c", "d", "e", "f"}, {{"0", "x", "1", sample, "[1]", "[1]"}}}), Error) << sample;
}

}  // namespace
}  // namespace kymo::fleet
