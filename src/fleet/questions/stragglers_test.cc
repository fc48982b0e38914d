#include "questions/stragglers.h"

#include <gtest/gtest.h>

#include "kymo/error.h"
#include "questions/straggler_notes.h"

namespace kymo::fleet {
namespace {

const std::vector<std::string> kColumns = {"its_job",       "left_out",        "its_rank",   "its_calls",
                                           "others_waited", "worst_iteration", "worst_call", "clock_error",
                                           "wall_sum",      "in_calls",        "older_runs"};

TEST(StragglersTest, RowsAreRanksAndCallsThatDoNotCount) {
  Stragglers found = read_stragglers({kColumns,
                                      {{"train", "3", "-1", "5", "70", "1", "9", "1500", "1000", "10", "0"},
                                       {"train", "0", "2", "7", "100", "4", "11", "0", "1000", "400", "0"}}});
  EXPECT_FALSE(found.may_have_older_runs);
  ASSERT_EQ(found.left_out.size(), 1u);
  EXPECT_EQ(found.left_out[0].why, LeftOut::ClockError);
  EXPECT_EQ(found.left_out[0].calls, 5u);
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0].rank, 2);
  EXPECT_DOUBLE_EQ(found.rows[0].share, 0.1);
  EXPECT_FALSE(found.has_unknown_job());
  found.left_out[0].job = "other";
  EXPECT_TRUE(found.has_unknown_job());
  found.left_out[0].job = "train";
  add_worst_calls(found, {{"same_call", "rank", "its_trace", "its_group", "operation"},
                          {{"11", "1", "5", "tp", "reduce"}, {"11", "2", "6", "dp", "gather"}}});
  EXPECT_EQ(found.rows[0].worst_trace, 6u);
  EXPECT_EQ(found.rows[0].worst_group, "dp");
  EXPECT_EQ(found.rows[0].worst_name, "gather");
  add_hosts(found, {{"trace", "its_host"}, {{"5", "a"}, {"6", "b"}}});
  EXPECT_EQ(found.rows[0].worst_host, "b");
  EXPECT_EQ(notes_of(found.left_out, {}, 0),
            std::vector<std::string>{"not counted: 5 calls of job 'train', because the others waited less than the "
                                     "clock error of the traces (up to 1.50 µs)"});
}

TEST(StragglersTest, RanksNeverWaitLongerThanTheyAreInCalls) {
  // The steps of the host are over long before the device ends its work.
  const Stragglers found = read_stragglers({kColumns,
                                            {{"train", "0", "2", "7", "600", "4", "11", "0", "100", "700", "0"},
                                             {"train", "0", "1", "7", "50", "4", "11", "0", "100", "300", "0"},
                                             {"other", "0", "1", "7", "50", "4", "12", "0", "100", "60", "0"}}});
  EXPECT_DOUBLE_EQ(found.rows[0].share, 0.6);
  EXPECT_EQ(found.rows[1].job, "other");
  EXPECT_DOUBLE_EQ(found.rows[1].share, 0.5);
  EXPECT_DOUBLE_EQ(found.rows[2].share, 0.05);
}

TEST(StragglersTest, IterationsWithoutCallsThatCountAreNotInTheShare) {
  Stragglers found = read_stragglers({kColumns,
                                      {{"train", "1", "-1", "5", "0", "1", "9", "0", "1000", "10", "0"},
                                       {"train", "0", "2", "7", "100", "4", "11", "0", "1000", "400", "0"}}});
  EXPECT_DOUBLE_EQ(found.rows[0].share, 0.1);
  set_iteration_times(found, {{"its_job", "wall_sum"}, {{"train", "500"}, {"other", "7"}}});
  EXPECT_DOUBLE_EQ(found.rows[0].share, 0.2);
  EXPECT_THROW(set_iteration_times(found, {{"a"}, {{"1"}}}), Error);
}

TEST(StragglersTest, OlderRunsAreNotKnownWithoutCalls) {
  EXPECT_TRUE(read_stragglers({kColumns, {}}).may_have_older_runs);
  EXPECT_TRUE(
      read_stragglers({kColumns, {{"train", "0", "2", "7", "1", "4", "11", "0", "9", "4", "1"}}}).may_have_older_runs);
}

TEST(StragglersTest, OtherRowsAreRefused) {
  EXPECT_THROW(read_stragglers({{"a"}, {{"1"}}}), Error);
  EXPECT_THROW(read_stragglers({kColumns, {{"train", "4", "-1", "5", "70", "1", "9", "1500", "1000", "10", "0"}}}),
               Error);
  EXPECT_THROW(read_stragglers({kColumns, {{"train", "0", "x", "5", "70", "1", "9", "1500", "1000", "10", "0"}}}),
               Error);
  Stragglers none;
  EXPECT_THROW(add_worst_calls(none, {{"a"}, {}}), Error);
}

}  // namespace
}  // namespace kymo::fleet
