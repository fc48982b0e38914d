#include "questions/straggler_notes.h"

#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::fleet {
namespace {

LeftOutDetails members(std::vector<std::vector<std::string>> rows) {
  return {{{"its_job", "its_group", "its_members", "rank", "its_calls"}, std::move(rows)}, {}, {}, {}, {}};
}

TEST(StragglerNotesTest, MissingRanksAreNamed) {
  const LeftOutDetails rows = members({{"train", "tp [0, 1, 2]", "3", "0", "8"},
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

TEST(StragglerNotesTest, ManyMissingRanksAreCounted) {
  const LeftOutDetails rows = members({{"train", "[0, 1, 2, 3, 4, 5, 6, 7]", "8", "7", "8"}});
  EXPECT_EQ(missing_ranks(rows, "train", 0),
            "no trace of ranks 0, 1, 2, 3, 4 and 2 more of process group '[0, 1, 2, 3, 4, 5, 6, 7]'");
}

TEST(StragglerNotesTest, RanksOfAnotherRunAreNotMissing) {
  LeftOutDetails details = members({{"train", "tp [0, 1, 2]", "3", "1", "8"}, {"train", "dp", "4", "1", "8"}});
  details.other_runs.rows = {{"train", "0", "1", "70", "71", "3600000000000"},
                             {"train", "2", "1", "72", "71", "3500000000000"},
                             {"other", "5", "1", "75", "71", "3500000000000"}};
  details.hosts.rows = {{"70", "a"}, {"71", "b"}, {"72", "a"}};
  EXPECT_EQ(
      missing_ranks(details, "train", 0),
      "no trace of 1 of the 4 ranks of process group 'dp', ranks 0, 2 (host a) began their iterations up to 1 h 00 min "
      "before rank 1 (host b) began the same ones, so they are of another run, or a clock is wrong");
  // Those that are not missed do not matter.
  details.members = members({{"train", "[1, 3]", "2", "1", "8"}}).members;
  EXPECT_EQ(missing_ranks(details, "train", 0), "no trace of rank 3 of process group '[1, 3]'");
}

TEST(StragglerNotesTest, TheTraceWithTheLargestClockErrorIsNamed) {
  LeftOutDetails details;
  details.clock_errors.rows = {{"other", "1", "x", "9"}, {"train", "7", "node7", "1500"}};
  EXPECT_EQ(
      notes_of({{"train", LeftOut::ClockError, 2, 1500}}, details, 0),
      std::vector<std::string>{"not counted: 2 calls of job 'train', because the others waited less than the clock "
                               "error of the traces (up to 1.50 µs in the trace of rank 7 on host node7)"});
}

TEST(StragglerNotesTest, OlderRunsAreNamed) {
  const std::vector<std::string> columns{"its_job", "at_once", "its_rank", "steps", "its_trace"};
  EXPECT_EQ(
      notes_of_older_runs(
          {columns, {{"train", "1", "0", "3", "16"}, {"train", "1", "1", "10", "17"}, {"other", "0", "0", "1", "18"}}}),
      (std::vector<std::string>{
          "not counted: older runs of 1 iteration of job 'other', because rank 0 has the same ones in a "
          "newer run",
          "not counted: 10 iterations of job 'train', because ranks 0, 1 have two traces with the same iterations "
          "at nearly the same time (one is 0x0000000000000011), so there are two runs that cannot be told apart; "
          "push each run with its own --job, or set KYMO_RUN in the environment of each"}));
  EXPECT_TRUE(notes_of_older_runs({columns, {}}).empty());
  EXPECT_THROW(notes_of_older_runs({{"a"}, {}}), Error);
}

TEST(StragglerNotesTest, TracesOfDifferentRunsAreSaid) {
  LeftOutDetails details = members({{"train", "tp [0, 1]", "2", "0", "8"}, {"train", "tp [0, 1]", "2", "1", "8"}});
  const auto note = [&] { return notes_of({{"train", LeftOut::MissingRanks, 16, 0}}, details, 0).at(0); };
  EXPECT_NE(note().find("the calls of the ranks are different ones"), std::string::npos);
  details.numbers_of_runs.rows = {{"other", "1"}, {"train", "2"}};
  EXPECT_NE(note().find("the traces are of different runs (KYMO_RUN"), std::string::npos);
}

TEST(StragglerNotesTest, OtherRowsAreRefused) {
  EXPECT_THROW(missing_ranks({{{"a"}, {}}, {}, {}, {}, {}}, "train", 0), Error);
}

}  // namespace
}  // namespace kymo::fleet
