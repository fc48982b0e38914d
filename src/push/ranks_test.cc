#include "push/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/test_recorder.h"
#include "trace/test_support.h"
#include "trace/writer.h"

namespace kymo::push {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using trace::testing::TemporaryFolder;
using trace::testing::writer_id;

constexpr uint64_t kNumber = 77;

struct Process {
  uint64_t pid = 0, parent = 0;
  std::vector<std::pair<std::string, std::string>> metadata{};
  std::string session = "one", boot = "boot";
  uint64_t start = 0;
};

// The ranks of a file with these processes, whose writers are numbered from 1.
RanksOfFile ranks_of(const std::vector<Process>& processes) {
  const TemporaryFolder folder;
  trace::Writer writer(folder / "trace.kymo", trace::Writer::Mode::Create);
  uint8_t id = 0;
  for (const Process& process : processes) {
    trace::Origin origin;
    origin.session = process.session;
    origin.pid = process.pid;
    origin.parent_pid = process.parent;
    origin.boot_id = process.boot;
    origin.start_realtime_ns = process.start;
    origin.metadata = process.metadata;
    writer.origin(writer_id(++id), origin);
  }
  writer.close();
  return find_ranks(trace::Reader(folder / "trace.kymo"), kNumber);
}

// "JOB RANK: writers", one for each.
std::vector<std::string> text_of_all(const RanksOfFile& ranks) {
  std::vector<std::string> texts;
  for (const RankOfFile& one : ranks.list) {
    std::string text = one.job + " " + std::to_string(one.rank) + ":";
    for (const trace::WriterId& id : one.processes) text += " " + std::to_string(id.bytes[0]);
    texts.push_back(text);
  }
  return texts;
}

TEST(RanksTest, OneRankIsTheWholeFileWithItsNumber) {
  for (const auto& [processes, rank] : std::vector<std::pair<std::vector<Process>, int32_t>>{
           {{{1, 0, {}}}, -1},
           {{{1, 0, {{"RANK", "3"}}}, {2, 1, {{"RANK", "3"}}}}, 3},
           {{{1, 0, {}}, {2, 1, {{"RANK", "3"}}}}, 3},
           {{{1, 0, {{"SLURM_PROCID", "0"}}}, {2, 1, {{"SLURM_PROCID", "0"}, {"RANK", "5"}}}}, 5},
           {{{1, 0, {{"RANK", "5"}}}, {2, 0, {}, "other recording"}}, 5}}) {
    const RanksOfFile ranks = ranks_of(processes);
    ASSERT_FALSE(ranks.has_several());
    EXPECT_EQ(ranks.list[0].rank, rank);
    EXPECT_EQ(ranks.list[0].number, kNumber);
    EXPECT_THAT(ranks.list[0].processes, IsEmpty());
  }
}

TEST(RanksTest, ChildrenBelongToTheirNearestAncestorAndTheLauncherToNone) {
  const RanksOfFile ranks = ranks_of({{10, 1, {{"SLURM_PROCID", "0"}}},  // torchrun
                                      {11, 10, {}},                      // its child before exec
                                      {11, 10, {{"RANK", "0"}}, "one", "boot", 5},
                                      {12, 10, {{"RANK", "1"}}},
                                      {13, 11, {}, "one", "boot", 6},
                                      {14, 13, {}, "one", "boot", 7},
                                      {15, 12, {}},
                                      {15, 11, {}, "one", "other boot", 6},
                                      {16, 10, {}}});
  EXPECT_THAT(text_of_all(ranks), ElementsAre(" 0: 3 5 6", " 1: 4 7"));
  EXPECT_NE(ranks.list[0].number, kNumber);
  EXPECT_NE(ranks.list[0].number, ranks.list[1].number);
  EXPECT_EQ(text_of(ranks), "0, 1");
}

TEST(RanksTest, ProcessesThatAreTheirOwnAncestorsHaveNoRank) {
  EXPECT_THAT(
      text_of_all(ranks_of({{1, 2, {}}, {2, 1, {}}, {3, 3, {}}, {4, 0, {{"RANK", "0"}}}, {5, 4, {{"RANK", "1"}}}})),
      ElementsAre(" 0: 4", " 1: 5"));
}

TEST(RanksTest, EachJobOfAMergedFileHasItsRanks) {
  const auto of = [](const char* job, const char* rank) {
    return std::vector<std::pair<std::string, std::string>>{{"KYMO_JOB", job}, {"RANK", rank}};
  };
  const RanksOfFile ranks = ranks_of({{1, 0, of("a", "0"), "first"},
                                      {2, 0, of("a", "1"), "first"},
                                      {3, 0, of("b", "0"), "second"},
                                      {4, 0, {}, "second"},
                                      {5, 0, {{"SLURM_JOB_NAME", "c"}, {"SLURM_PROCID", "0"}}, "third"},
                                      {6, 0, {}, "fourth"}});
  EXPECT_THAT(text_of_all(ranks), ElementsAre(" -1: 6", "a 0: 1", "b 0: 3 4", "c 0: 5", "a 1: 2"));
}

TEST(RanksTest, AProcessWithoutAJobHasTheOnlyOneOfItsRecording) {
  EXPECT_THAT(text_of_all(ranks_of({{1, 0, {{"KYMO_JOB", "a"}, {"RANK", "0"}}}, {2, 0, {{"RANK", "1"}}}})),
              ElementsAre("a 0: 1", "a 1: 2"));
}

// Each process of an imported file has a session of its own.
TEST(RanksTest, ProcessesOfOneImportedFileBelongTogether) {
  const auto of = [](const char* file) { return std::pair<std::string, std::string>("imported from", file); };
  EXPECT_THAT(text_of_all(ranks_of({{1, 0, {of("a.json"), {"distributedInfo", "{\"rank\": 7}"}}, "1"},
                                    {2, 0, {of("a.json")}, "2"},
                                    {3, 0, {of("b.json"), {"distributedInfo", "{\"rank\": 8}"}}, "3"},
                                    {4, 0, {of("b.json")}, "4"}})),
              ElementsAre(" 7: 1 2", " 8: 3 4"));
}

TEST(RanksTest, AValueThatIsNotARankIsKeptForAWarning) {
  EXPECT_EQ(ranks_of({{1, 0, {{"KYMO_RANK", "x"}, {"RANK", "1"}}}}).not_a_rank, "KYMO_RANK=x");
  EXPECT_EQ(ranks_of({{1, 0, {{"KYMO_RANK", "x"}, {"RANK", "1"}}}}).list[0].rank, 1);
}

}  // namespace
}  // namespace kymo::push
