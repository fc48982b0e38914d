#include "questions/stragglers.h"

#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::fleet {
namespace {

const std::vector<std::string> kColumns = {"its_job",    "left_out",      "its_rank",        "steps",
                                           "times_last", "others_waited", "mean_wait",       "waited_itself",
                                           "group_ns",   "its_group",     "worst_iteration", "worst_trace",
                                           "worst_name", "partial_steps", "period",          "worst_host"};

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
          "node1"};
}

TEST(StragglersTest, RowsAreRanksAndWaitsThatDoNotCount) {
  Stragglers found =
      read_stragglers({kColumns,
                       {{"other", "1", "-1", "5", "5", "70", "10", "0", "1000", "dp", "1", "9", "x", "0", "0", ""},
                        rank_row(2, 10, 1)}});
  using Key = std::pair<std::string, LeftOut>;
  EXPECT_EQ(found.left_out, (std::map<Key, uint64_t>{{{"other", LeftOut::MissingRanks}, 5}}));
  ASSERT_EQ(found.rows.size(), 1u);
  const StragglerRow& row = found.rows[0];
  EXPECT_EQ(row.rank, 2);
  EXPECT_EQ(row.times_last, 4u);
  EXPECT_EQ(row.waited_itself_ns, 1u);
  EXPECT_EQ(row.worst_trace, 77u);
  EXPECT_EQ(row.group, "tp");
  EXPECT_EQ(row.worst_name, "reduce");
  EXPECT_EQ(row.worst_host, "node1");
  EXPECT_DOUBLE_EQ(row.share, 0.07);
  EXPECT_TRUE(found.has_unknown_job());
  found.left_out = {{{"train", LeftOut::MissingRanks}, 5}};
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
namespace {

push::Rows members(std::vector<std::vector<std::string>> rows) {
  return {{"its_job", "its_group", "members", "rank", "all_calls", "calls_apart"}, std::move(rows)};
}

TEST(StragglerNotesTest, MissingRanksAreNamed) {
  const push::Rows rows = members({{"train", "tp [0, 1, 2]", "3", "0", "8", "0"},
                                   {"train", "tp [0, 1, 2]", "3", "2", "6", "0"},
                                   {"train", "dp", "64", "0", "4", "4"},
                                   {"train", "", "2", "0", "4", "0"},
                                   {"other", "pp [0, 1]", "2", "0", "4", "4"}});
  EXPECT_EQ(
      missing_ranks(rows, "train"),
      "none of 1 of the 2 ranks of the calls without a process group, none of 63 of the 64 ranks of process "
      "group 'dp', none of rank 1 of process group 'tp [0, 1, 2]', rank 2 has fewer than 8 calls of process group "
      "'tp [0, 1, 2]'");
  EXPECT_EQ(missing_ranks(rows, "other"), "none of rank 1 of process group 'pp [0, 1]'");
}

TEST(StragglerNotesTest, ManyMissingRanksAreCounted) {
  const push::Rows rows = members({{"train", "[0, 1, 2, 3, 4, 5, 6, 7]", "8", "7", "8", "8"}});
  EXPECT_EQ(missing_ranks(rows, "train"), "none of ranks 0-6 of process group '[0, 1, 2, 3, 4, 5, 6, 7]'");
}

TEST(StragglerNotesTest, TheRankWithAWrongClockIsNamedAndNotTheOthers) {
  const push::Rows rows = members({{"train", "[0, 1, 2]", "3", "0", "8", "0"},
                                   {"train", "[0, 1, 2]", "3", "1", "8", "8"},
                                   {"train", "[0, 1, 2]", "3", "2", "8", "0"}});
  EXPECT_EQ(
      missing_ranks(rows, "train"),
      "rank 1 has them more than 10 s before or after the others of process group '[0, 1, 2]', by a wrong clock or "
      "in another run");
}

TEST(StragglerNotesTest, AJobWithoutAllRanksIsPartial) {
  Stragglers found;
  found.partial = {"train"};
  const std::vector<std::string> notes = notes_of(
      found, members({{"train", "tp [0, 1, 2]", "3", "0", "8", "0"}, {"train", "tp [0, 1, 2]", "3", "2", "8", "0"}}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(
      notes[0].starts_with("partial: ranks are missing in job 'train', and one of them may be the late one: none "
                           "of rank 1 of process group 'tp [0, 1, 2]'; push"))
      << notes[0];
}

TEST(StragglerNotesTest, WaitsThatDoNotCountHaveAReason) {
  Stragglers found;
  found.left_out = {{{"train", LeftOut::UnknownMembers}, 1}, {{"train", LeftOut::RunsAtOnce}, 2}};
  const auto notes = notes_of(found, members({}));
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_TRUE(notes[0].starts_with("not counted: waits of 1 iteration of job 'train', because the traces do not say"));
  EXPECT_TRUE(notes[1].starts_with("not counted: waits of 2 iterations of job 'train', because a rank has them more"));
}

TEST(StragglerNotesTest, OtherRowsAreRefused) { EXPECT_THROW(missing_ranks({{"a"}, {}}, "train"), Error); }

}  // namespace

}  // namespace kymo::fleet
