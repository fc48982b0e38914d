#include "questions/stragglers.h"

#include <gtest/gtest.h>

#include "kymo/error.h"
#include "questions/straggler_notes.h"

namespace kymo::fleet {
namespace {

const std::vector<std::string> kColumns = {"its_job",    "left_out",      "its_rank",        "steps",
                                           "times_last", "others_waited", "mean_wait",       "waited_itself",
                                           "group_ns",   "its_group",     "worst_iteration", "worst_trace",
                                           "worst_name", "partial_steps", "older_runs",      "period"};

// A rank that made the seven others of its group wait, each for `mean_wait`.
std::vector<std::string> rank_row(int rank, uint64_t mean_wait, uint64_t waited_itself, uint64_t group_ns = 1000) {
  return {"train",
          "0",
          std::to_string(rank),
          "5",
          "4",
          std::to_string(7 * mean_wait),
          std::to_string(mean_wait),
          std::to_string(waited_itself),
          std::to_string(group_ns),
          "tp",
          "3",
          "77",
          "reduce",
          "0",
          "0",
          "0"};
}

TEST(StragglersTest, RowsAreRanksAndWaitsThatDoNotCount) {
  Stragglers found =
      read_stragglers({kColumns,
                       {{"other", "1", "-1", "5", "5", "70", "10", "0", "1000", "dp", "1", "9", "x", "0", "1", "0"},
                        rank_row(2, 10, 1)}});
  ASSERT_EQ(found.left_out.size(), 1u);
  EXPECT_EQ(found.left_out[0].why, LeftOut::MissingRanks);
  EXPECT_EQ(found.left_out[0].steps, 5u);
  EXPECT_EQ(found.with_older_runs, std::set<std::string>{"other"});
  ASSERT_EQ(found.rows.size(), 1u);
  const StragglerRow& row = found.rows[0];
  EXPECT_EQ(row.rank, 2);
  EXPECT_EQ(row.times_last, 4u);
  EXPECT_EQ(row.waited_itself_ns, 1u);
  EXPECT_EQ(row.worst_trace, 77u);
  EXPECT_EQ(row.group, "tp");
  EXPECT_EQ(row.worst_name, "reduce");
  EXPECT_DOUBLE_EQ(row.share, 0.07);
  EXPECT_TRUE(found.has_unknown_job());
  found.left_out[0].job = "train";
  EXPECT_FALSE(found.has_unknown_job());
}

TEST(StragglersTest, ARankThatWaitsItselfIsNotNamed) {
  // Tensor and data parallel groups: rank 5 is slow. Those of its tensor group wait for it, and are then late for their
  // data parallel groups, whose ranks wait as long.
  std::vector<std::vector<std::string>> rows = {rank_row(5, 100, 0)};
  for (const int rank : {0, 1, 2, 3, 4, 6, 7}) rows.push_back(rank_row(rank, 100, 100));
  const Stragglers found = read_stragglers({kColumns, rows});
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0].rank, 5);
  // Each of them is last by chance, sometimes.
  rows.clear();
  for (int rank = 0; rank < 8; ++rank) rows.push_back(rank_row(rank, 10, 70));
  EXPECT_TRUE(read_stragglers({kColumns, rows}).rows.empty());
  EXPECT_EQ(read_stragglers({kColumns, rows}).jobs, std::set<std::string>{"train"});
}

TEST(StragglersTest, TheLargestShareOfAGroupIsFirst) {
  const Stragglers found = read_stragglers({kColumns, {rank_row(1, 100, 0, 10'000), rank_row(2, 50, 0, 1'000)}});
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].rank, 2);
  EXPECT_DOUBLE_EQ(found.rows[0].share, 0.35);
}

TEST(StragglersTest, OtherRowsAreRefused) {
  EXPECT_THROW(read_stragglers({{"a"}, {{"1"}}}), Error);
  auto row = rank_row(1, 1, 1);
  row[1] = "4";
  EXPECT_THROW(read_stragglers({kColumns, {row}}), Error);
  row[1] = "0";
  row[2] = "x";
  EXPECT_THROW(read_stragglers({kColumns, {row}}), Error);
}

}  // namespace
}  // namespace kymo::fleet
