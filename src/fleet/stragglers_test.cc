#include "fleet/stragglers.h"

#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::fleet {
namespace {

const std::vector<std::string> kColumns = {"its_job",         "left_out",   "its_rank",    "its_calls", "others_waited",
                                           "worst_iteration", "worst_call", "clock_error", "wall_sum"};

push::Rows members(std::vector<std::vector<std::string>> rows) {
  return {{"its_job", "its_group", "its_members", "rank", "its_calls"}, std::move(rows)};
}

TEST(StragglersTest, RowsAreRanksAndCallsThatDoNotCount) {
  Stragglers found = read_stragglers({kColumns,
                                      {{"train", "3", "-1", "5", "70", "1", "9", "1500", "1000"},
                                       {"train", "0", "2", "7", "100", "4", "11", "0", "1000"}}});
  ASSERT_EQ(found.left_out.size(), 1u);
  EXPECT_EQ(found.left_out[0].why, LeftOut::ClockError);
  EXPECT_EQ(found.left_out[0].calls, 5u);
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0].rank, 2);
  EXPECT_DOUBLE_EQ(found.rows[0].share, 0.1);
  add_worst_calls(found, {{"same_call", "rank", "its_trace", "its_group", "operation"},
                          {{"11", "1", "5", "tp", "reduce"}, {"11", "2", "6", "dp", "gather"}}});
  EXPECT_EQ(found.rows[0].worst_trace, 6u);
  EXPECT_EQ(found.rows[0].worst_group, "dp");
  EXPECT_EQ(found.rows[0].worst_name, "gather");
  EXPECT_EQ(notes_of(found, {}, 0),
            std::vector<std::string>{"not counted: 5 calls of job 'train', because the others waited less than the "
                                     "clock error of the traces (up to 1.50 µs)"});
}

TEST(StragglersTest, OtherRowsAreRefused) {
  EXPECT_THROW(read_stragglers({{"a"}, {{"1"}}}), Error);
  EXPECT_THROW(read_stragglers({kColumns, {{"train", "4", "-1", "5", "70", "1", "9", "1500", "1000"}}}), Error);
  EXPECT_THROW(read_stragglers({kColumns, {{"train", "0", "x", "5", "70", "1", "9", "1500", "1000"}}}), Error);
  Stragglers none;
  EXPECT_THROW(add_worst_calls(none, {{"a"}, {}}), Error);
  EXPECT_THROW(missing_ranks({{"a"}, {}}, "train", 0), Error);
}

TEST(StragglersTest, MissingRanksAreNamed) {
  const push::Rows rows = members({{"train", "tp [0, 1, 2]", "3", "0", "8"},
                                   {"train", "tp [0, 1, 2]", "3", "2", "6"},
                                   {"train", "dp", "64", "0", "4"},
                                   {"train", "", "0", "0", "4"},
                                   {"other", "pp [0, 1]", "2", "0", "4"}});
  EXPECT_EQ(missing_ranks(rows, "train", 0),
            "no trace of 63 of the 64 ranks of process group 'dp', no trace of rank 1 of process group 'tp [0, 1, 2]', "
            "rank 2 has 6 of 8 calls of process group 'tp [0, 1, 2]'");
  EXPECT_EQ(missing_ranks(rows, "other", 0), "no trace of rank 1 of process group 'pp [0, 1]'");
  EXPECT_TRUE(missing_ranks(rows, "train", 2)
                  .starts_with("no trace of 1 of the 2 ranks of the calls without a process group, "));
}

TEST(StragglersTest, ManyMissingRanksAreCounted) {
  const push::Rows rows = members({{"train", "[0, 1, 2, 3, 4, 5, 6, 7]", "8", "7", "8"}});
  EXPECT_EQ(missing_ranks(rows, "train", 0),
            "no trace of ranks 0, 1, 2, 3, 4 and 2 more of process group '[0, 1, 2, 3, 4, 5, 6, 7]'");
}

}  // namespace
}  // namespace kymo::fleet
