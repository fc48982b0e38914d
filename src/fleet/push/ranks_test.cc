#include "push/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

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

enum class Events : uint8_t { None, One, Steps, Repeats, Device };  // Device: steps, and work on a device

struct Process {
  uint64_t pid = 0, parent = 0;
  std::vector<std::pair<std::string, std::string>> metadata{};
  std::string session = "one", boot = "boot";
  uint64_t start = 0;  // its events are in the 100 ticks after it
  Events events = Events::None;
};

void add_events(const std::string& path, uint8_t id, const Process& process) {
  constexpr uint32_t kMain = 1, kStream = 2, kClass = 1, kInner = 2;
  trace::testing::TestRecorder recorder(path, id, 0, trace::Writer::Mode::Append, 0, "", {});
  const bool has_steps = process.events == Events::Steps || process.events == Events::Device;
  recorder.add_class(kClass, has_steps ? "step 1" : "launch");
  recorder.add_class(kInner, "inner");
  recorder.add_thread(kMain, 7, "main");
  for (uint64_t i = 0; i < (process.events == Events::Repeats ? 3 : 1); ++i) {
    recorder.begin(kMain, process.start + 30 * i, kClass);
    recorder.complete(kMain, process.start + 30 * i + 5, process.start + 30 * i + 10, kInner, 1);
    recorder.end(kMain, process.start + 30 * i + 30);
  }
  if (process.events == Events::Device) {
    recorder.add_queue(kStream, "GPU 0", "stream");
    recorder.complete(kStream, process.start + 10, process.start + 20, kInner);
  }
  recorder.close();
}

void write_processes(const std::string& path, const std::vector<Process>& processes) {
  trace::Writer writer(path, trace::Writer::Mode::Create);
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
  for (id = 0; const Process& process : processes)
    if (++id; process.events != Events::None) add_events(path, id, process);
}

RanksOfFile ranks_of_file(const std::string& path) {
  trace::Reader reader(path);
  const size_t processes = reader.writers().size();
  RanksOfFile ranks = find_ranks(reader, kNumber);
  EXPECT_EQ(reader.writers().size(), processes);  // it shows all of them again
  return ranks;
}

// The ranks of a file with these processes, whose writers are numbered from 1.
RanksOfFile ranks_of(const std::vector<Process>& processes) {
  const TemporaryFolder folder;
  write_processes(folder / "trace.kymo", processes);
  return ranks_of_file(folder / "trace.kymo");
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
  ASSERT_THAT(text_of_all(ranks), ElementsAre(" 0: 3 5 6", " 1: 4 7"));
  EXPECT_NE(ranks.list[0].number, kNumber);
  EXPECT_NE(ranks.list[0].number, ranks.list[1].number);
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
  ASSERT_THAT(text_of_all(ranks), ElementsAre(" -1: 6", "a 0: 1", "b 0: 3 4", "c 0: 5", "a 1: 2"));
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

// As after a restart: each of them has iterations, and a trace has those of one process.
TEST(RanksTest, EachProcessOfARankWithItsOwnIterationsIsATrace) {
  const RanksOfFile ranks = ranks_of({{10, 1, {}, "one", "boot", 100, Events::One},  // the launcher
                                      {11, 10, {{"RANK", "0"}}, "one", "boot", 200, Events::Steps},
                                      {12, 11, {{"RANK", "0"}}, "one", "boot", 300, Events::One},
                                      {13, 10, {{"RANK", "0"}}, "one", "boot", 400, Events::Steps},
                                      {14, 13, {}, "one", "boot", 500, Events::One},
                                      {15, 9, {{"RANK", "0"}}, "one", "boot", 600, Events::One},
                                      {11, 1, {{"RANK", "0"}}, "appended", "boot", 700, Events::Steps}});
  ASSERT_THAT(text_of_all(ranks), ElementsAre(" 0: 1 2 3 6", " 0: 4 5", " 0: 7"));
  EXPECT_THAT(ranks.list[0].helpers, ElementsAre(writer_id(1)));
  EXPECT_EQ(ranks.left_out, 0U);
  std::set<uint64_t> numbers{kNumber};
  for (const RankOfFile& one : ranks.list) numbers.insert(one.number);
  EXPECT_EQ(numbers.size(), 4U);
}

TEST(RanksTest, AProcessThatRepeatsARangeHasIterationsIfItsChildrenNameNone) {
  EXPECT_THAT(text_of_all(ranks_of({{1, 0, {{"RANK", "0"}}, "one", "boot", 100, Events::Repeats},
                                    {2, 1, {{"RANK", "0"}}, "one", "boot", 110, Events::Repeats},
                                    {3, 0, {{"RANK", "0"}}, "appended", "boot", 300, Events::Repeats},
                                    {4, 3, {{"RANK", "0"}}, "appended", "boot", 400, Events::Steps}})),
              ElementsAre(" 0: 1 2", " 0: 3 4"));
}

// Their operations are those of one main thread, so the others would be lost.
TEST(RanksTest, RecordingsAfterEachOtherAreTracesWithoutIterationsToo) {
  for (const auto& [second_start, expected] :
       std::vector<std::pair<uint64_t, std::vector<std::string>>>{{300, {" 0: 1 2", " 0: 3"}}, {90, {" 0:"}}})
    for (const Events first : {Events::One, Events::Steps})
      EXPECT_EQ(text_of_all(ranks_of({{1, 0, {{"RANK", "0"}}, "one", "boot", 80, first},
                                      {2, 1, {{"RANK", "0"}}, "one", "boot", 90, Events::One},
                                      {1, 0, {{"RANK", "0"}}, "appended", "boot", second_start, Events::One}})),
                expected);
}

TEST(RanksTest, ARankWithOneProcessKeepsItsNumberBesideARankThatRestarted) {
  const RanksOfFile before = ranks_of({{11, 0, {{"RANK", "0"}}}, {12, 0, {{"RANK", "1"}}}});
  const RanksOfFile ranks = ranks_of({{11, 0, {{"RANK", "0"}}, "one", "boot", 100, Events::Steps},
                                      {13, 0, {{"RANK", "0"}}, "one", "boot", 200, Events::Steps},
                                      {12, 0, {{"RANK", "1"}}, "one", "boot", 300, Events::Steps}});
  ASSERT_THAT(text_of_all(ranks), ElementsAre(" 0: 1", " 0: 2", " 1: 3"));
  EXPECT_EQ(ranks.list[2].number, before.list[1].number);
}

TEST(RanksTest, AProcessWithIterationsBesideTheOnlyRankIsATraceOfAnUnknownRank) {
  const RanksOfFile ranks = ranks_of({{1, 0, {}, "one", "boot", 100, Events::Steps},
                                      {2, 1, {{"RANK", "1"}}, "one", "boot", 100, Events::Steps},
                                      {3, 0, {}, "one", "boot", 100, Events::One},
                                      {4, 1, {}, "one", "boot", 100, Events::One},
                                      {5, 0, {}, "two", "boot", 100, Events::One},
                                      {6, 0, {}, "two", "boot", 100, Events::Repeats}});
  ASSERT_THAT(text_of_all(ranks), ElementsAre(" -1: 1 4", " -1: 6", " 1: 2 3 5"));
  EXPECT_THAT(ranks.list[2].helpers, ElementsAre(writer_id(3), writer_id(5)));
  EXPECT_EQ(ranks.left_out, 0U);
}

TEST(RanksTest, ProcessesWithoutARankBesideSeveralAreCounted) {
  const RanksOfFile ranks = ranks_of({{1, 0, {}, "one", "boot", 100, Events::One},
                                      {2, 1, {{"RANK", "0"}}, "one", "boot", 100, Events::Steps},
                                      {3, 1, {{"RANK", "1"}}, "one", "boot", 100, Events::Steps},
                                      {4, 0, {}, "one", "boot", 100, Events::None},
                                      {5, 0, {}, "one", "boot", 100, Events::Steps}});
  ASSERT_THAT(text_of_all(ranks), ElementsAre(" -1: 5", " 0: 2", " 1: 3"));
  EXPECT_EQ(ranks.left_out, 1U);
}

// What Kymo samples of a process is another writer, whose environment may be unknown.
TEST(RanksTest, SamplesBelongToTheirProcess) {
  const std::vector<std::pair<std::string, std::string>> sampled{{"sampling", "1 kHz"}};
  const RanksOfFile ranks = ranks_of({{1, 0, {}, "one", "boot", 100, Events::One},
                                      {2, 1, {{"RANK", "0"}}, "one", "boot", 200, Events::Steps},
                                      {3, 1, {{"RANK", "0"}}, "one", "boot", 300, Events::Steps},
                                      {4, 1, {{"RANK", "1"}}, "one", "boot", 400, Events::Steps},
                                      {5, 3, {}, "one", "boot", 500, Events::One},
                                      {3, 1, sampled, "one", "boot", 210, Events::One},
                                      {2, 1, sampled, "one", "boot", 310, Events::One},
                                      {1, 0, sampled, "one", "boot", 110, Events::One},
                                      {6, 4, sampled, "one", "boot", 110, Events::One}});
  ASSERT_THAT(text_of_all(ranks), ElementsAre(" 0: 2 7", " 0: 3 5 6", " 1: 4 9"));
  EXPECT_EQ(ranks.left_out, 1U);
}

// A loader of data that names its iterations too must not be a second run of the rank.
TEST(RanksTest, OfProcessesAtTheSameTimeOneIsTheRank) {
  const auto processes = [](Events of_child) {
    return std::vector<Process>{{1, 0, {{"RANK", "3"}}, "one", "boot", 100, Events::Steps},
                                {2, 1, {{"RANK", "3"}}, "one", "boot", 110, of_child},
                                {3, 0, {{"RANK", "3"}}, "one", "boot", 300, Events::Steps}};
  };
  EXPECT_THAT(text_of_all(ranks_of(processes(Events::Steps))), ElementsAre(" -1: 2", " 3: 1", " 3: 3"));
  EXPECT_THAT(text_of_all(ranks_of(processes(Events::Device))), ElementsAre(" -1: 1", " 3: 2", " 3: 3"));
}

TEST(RanksTest, RunsAndRecordingsAtTheSameTimeAreAllRanks) {
  const RanksOfFile ranks = ranks_of({{1, 0, {{"RANK", "3"}, {"KYMO_RUN", "a"}}, "one", "boot", 100, Events::Steps},
                                      {2, 0, {{"RANK", "3"}, {"KYMO_RUN", "b"}}, "one", "boot", 100, Events::Steps},
                                      {3, 0, {{"RANK", "3"}, {"KYMO_RUN", "a"}}, "two", "boot", 100, Events::Steps},
                                      {4, 0, {{"RANK", "3"}, {"KYMO_RUN", "c"}}, "one", "boot", 100, Events::One}});
  ASSERT_THAT(text_of_all(ranks), ElementsAre(" 3: 1 4", " 3: 2", " 3: 3"));
  EXPECT_EQ(ranks.list[0].run, "a");
  EXPECT_EQ(ranks.list[1].run, "b");
}

TEST(RanksTest, EachProcessWithIterationsOfAFileWithoutRanksIsATrace) {
  const RanksOfFile ranks = ranks_of({{1, 0, {}, "one", "boot", 100, Events::Steps},
                                      {2, 1, {}, "one", "boot", 120, Events::Steps},
                                      {3, 0, {{"KYMO_JOB", "a"}}, "two", "boot", 300, Events::Steps}});
  ASSERT_THAT(text_of_all(ranks), ElementsAre(" -1: 1", " -1: 2", "a -1: 3"));
}

TEST(RanksTest, AValueThatIsNotARankIsKeptForAWarning) {
  EXPECT_EQ(ranks_of({{1, 0, {{"KYMO_RANK", "x"}, {"RANK", "1"}}}}).not_a_rank, "KYMO_RANK=x");
  EXPECT_EQ(ranks_of({{1, 0, {{"KYMO_RANK", "x"}, {"RANK", "1"}}}}).list[0].rank, 1);
}

}  // namespace
}  // namespace kymo::push
