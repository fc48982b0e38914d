#include "questions/straggler_notes.h"

#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::fleet {
namespace {

push::Rows members(std::vector<std::vector<std::string>> rows) {
  return {{"its_job", "its_group", "its_members", "rank", "its_calls"}, std::move(rows)};
}

TEST(StragglerNotesTest, MissingRanksAreNamed) {
  const push::Rows rows = members({{"train", "tp [0, 1, 2]", "3", "0", "8"},
                                   {"train", "tp [0, 1, 2]", "3", "2", "6"},
                                   {"train", "dp", "64", "0", "4"},
                                   {"train", "", "0", "0", "4"},
                                   {"other", "pp [0, 1]", "2", "0", "4"}});
  EXPECT_EQ(missing_ranks(rows, "train", 0),
            "none of 63 of the 64 ranks of process group 'dp', none of rank 1 of process group 'tp [0, 1, 2]', "
            "rank 2 has 6 of 8 calls of process group 'tp [0, 1, 2]'");
  EXPECT_EQ(missing_ranks(rows, "other", 0), "none of rank 1 of process group 'pp [0, 1]'");
  EXPECT_TRUE(
      missing_ranks(rows, "train", 2).starts_with("none of 1 of the 2 ranks of the calls without a process group, "));
}

TEST(StragglerNotesTest, ManyMissingRanksAreCounted) {
  const push::Rows rows = members({{"train", "[0, 1, 2, 3, 4, 5, 6, 7]", "8", "7", "8"}});
  EXPECT_EQ(missing_ranks(rows, "train", 0),
            "none of ranks 0, 1, 2, 3, 4 and 2 more of process group '[0, 1, 2, 3, 4, 5, 6, 7]'");
}

TEST(StragglerNotesTest, CallsThatRanksLackArePartial) {
  const push::Rows rows = members({{"train", "tp [0, 1, 2]", "3", "0", "8"}, {"train", "tp [0, 1, 2]", "3", "2", "8"}});
  const std::vector<std::string> notes = notes_of_partial({{"train", 10}}, rows, 0);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with(
      "partial: ranks lack 10 iterations of job 'train', and one of them may be the late one: none "
      "of rank 1 of process group 'tp [0, 1, 2]'; push"))
      << notes[0];
}

TEST(StragglerNotesTest, WaitsThatDoNotCountHaveAReason) {
  const auto notes = notes_of({{"train", LeftOut::UnknownMembers, 1}, {"train", LeftOut::RunsAtOnce, 2}}, {}, 0);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_TRUE(
      notes[0].starts_with("not counted: the waits of 1 iteration of job 'train', because the traces do not say"));
  EXPECT_TRUE(
      notes[1].starts_with("not counted: the waits of 2 iterations of job 'train', because a rank has them in"));
  EXPECT_EQ(
      notes_of_older_runs({"train"}),
      std::vector<std::string>{"not counted: older runs of job 'train', because ranks have the same iterations in a "
                               "newer run"});
}

TEST(StragglerNotesTest, OtherRowsAreRefused) { EXPECT_THROW(missing_ranks({{"a"}, {}}, "train", 0), Error); }

}  // namespace
}  // namespace kymo::fleet
