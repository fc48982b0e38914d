// A trace contains everything, or says what is missing.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "collect/recover.h"
#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

class WholeTest : public EndToEnd {
 protected:
  void SetUp() override {
    if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
  }
  Ending kymo(Words words, const StartOptions& options = {}) {
    words.insert(words.begin(), program("kymo"));
    return run(words, options);
  }
  // Kills a program that recorded itself. Its data is left in shared memory.
  void kill_recorded(const std::string& trace) {
    Process process = start_recorded(Collector::InProgram, trace, {program("open"), "hang"});
    ASSERT_TRUE(wait_until("the program to be stuck", [&] { return fs::exists(trace) && !left_in_memory().empty(); }));
    usleep(100'000);
    process.signal(SIGKILL);
    process.wait();
  }
};

class OpenRangesTest : public EitherCollector {};
INSTANTIATE_TEST_SUITE_P(, OpenRangesTest, ::testing::Values(Collector::InProgram, Collector::KymoRecord),
                         collector_name);

TEST_P(OpenRangesTest, AThreadThatNeverEndsItsRangesDoesNotBlockOthers) {
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("open"), "many", "200000"});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_EQ(trace.count("other"), 1000u) << trace.summary();
  const Ending stats = run({program("kymo"), "stats", file("a.kymo"), "--json", "--strict"});
  EXPECT_EQ(stats.code, 0) << stats.err;
  EXPECT_THAT(stats.out, HasSubstr("\"unfinished\": 200000")) << stats.out;
  EXPECT_THAT(left_in_memory(), IsEmpty());
}

TEST_P(OpenRangesTest, OpenRangesWithManyValuesDoNotBlockOthers) {
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("open"), "texts", "20000"});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_EQ(trace.count("other"), 1000u) << trace.summary();
  EXPECT_EQ(trace.lost(), 0u) << trace.summary();
}

TEST_P(OpenRangesTest, RangesAboveTheLimitEndToo) {
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("open"), "pops", "100000"});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Ending stats = run({program("kymo"), "stats", file("a.kymo"), "--json", "--strict"});
  EXPECT_EQ(stats.code, 0) << stats.err;
  EXPECT_THAT(stats.out,
              AllOf(HasSubstr("\"count\": 8192"), HasSubstr("\"count\": 91808"), HasSubstr("\"unfinished\": 0")));
}

TEST_F(WholeTest, TheOpenRangesOfAKilledProgramAreShownByName) {
  Process process = start({program("kymo"), "record", "-o", file("a.kymo"), "--", program("open"), "hang"});
  ASSERT_TRUE(wait_until("a segment", [&] { return !left_in_memory().empty(); }));
  usleep(300'000);
  ASSERT_EQ(run({"/bin/sh", "-c", "pkill -KILL -P " + std::to_string(process.pid())}).code, 0);
  const Ending ending = process.wait();
  EXPECT_THAT(ending.err, HasSubstr("2 unfinished ranges from 1 process"));
  const Ending stats = kymo({"stats", file("a.kymo")});
  EXPECT_THAT(stats.out, AllOf(HasSubstr("outer (unfinished)"), HasSubstr("stuck {} (unfinished)")));
  EXPECT_THAT(kymo({"info", file("a.kymo")}).out, HasSubstr(": outer > stuck 7"));
  ASSERT_EQ(kymo({"export", file("a.kymo"), "-o", file("a.json")}).code, 0);
  const std::string json = contents_of(file("a.json"));
  EXPECT_THAT(json, AllOf(HasSubstr("\"stuck 7\""), HasSubstr("\"finished\":false")));
  // They last until the program was last seen alive; their duration is not zero.
  ASSERT_EQ(kymo({"export", file("a.kymo"), "-o", file("a.csv")}).code, 0);
  const std::string csv = contents_of(file("a.csv"));
  const size_t row = csv.find("range,outer,");
  ASSERT_NE(row, std::string::npos) << csv;
  std::vector<std::string> cells;
  std::stringstream line(csv.substr(row, csv.find('\n', row) - row));
  for (std::string cell; std::getline(line, cell, ',');) cells.push_back(cell);
  EXPECT_GT(std::stoull(cells.at(8)), 100'000'000u) << csv;
}

TEST_P(OpenRangesTest, ATruncatedSegmentDoesNotEndTheProgram) {
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("open"), "cuts"});
  EXPECT_EQ(ending.code, 0) << ending.signal << ending.err;
  EXPECT_THAT(ending.out, HasSubstr("went on"));
  EXPECT_THAT(ending.err, HasSubstr("was cut short"));
  const Ending stats = run({program("kymo"), "stats", file("a.kymo"), "--strict"});
  if (GetParam() == Collector::KymoRecord && stats.out.find("before") != std::string::npos) {  // read in time
    EXPECT_EQ(stats.code, 3) << stats.out;
    EXPECT_THAT(stats.err, HasSubstr("was cut short"));
  }
}

TEST_F(WholeTest, ASecondProgramAppendsToTheTrace) {
  const std::string both = program("tries") + "; " + program("tries");
  const Ending ending = run({"/bin/sh", "-c", both}, {.environment = {{"KYMO_TRACE", file("a.kymo")}}});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.origins.size(), 2u);
  EXPECT_EQ(trace.count("work"), 2000u);
}

TEST_F(WholeTest, AFileThatIsNotATraceIsNotChanged) {
  write_file(file("notes.txt"), "mine");
  const Ending by_environment = run({program("tries")}, {.environment = {{"KYMO_TRACE", file("notes.txt")}}});
  EXPECT_EQ(by_environment.code, 0);
  EXPECT_THAT(by_environment.err, HasSubstr("notes.txt: it is there and is not a Kymo trace"));
  EXPECT_NE(kymo({"record", "-o", file("notes.txt"), "--", program("tries")}).code, 0);
  EXPECT_EQ(contents_of(file("notes.txt")), "mine");
}

TEST_F(WholeTest, AnExportDoesNotReplaceATrace) {
  ASSERT_EQ(kymo({"record", "-o", file("run.json"), "--", program("tries")}).code, 0);
  fs::create_symlink("run.json", file("link.csv"));
  for (const char* name : {"run.json", "link.csv"}) {
    const Ending ending = kymo({"export", file("run.json"), "-o", file(name)});
    EXPECT_EQ(ending.code, 1) << name;
    EXPECT_THAT(ending.err, HasSubstr("it is the trace that is read; name another file"));
  }
  EXPECT_EQ(read_back(file("run.json")).count("work"), 1000u);
}

TEST_F(WholeTest, AFileSizeLimitDoesNotEndTheProgram) {
  for (const std::string limit : {"0", "100"}) {
    const std::string set = "ulimit -f " + limit + "; exec ";
    const Ending by_itself = run({"/bin/sh", "-c", set + program("open") + " many 300000"},
                                 {.environment = {{"KYMO_TRACE", file("a" + limit + ".kymo")}}});
    EXPECT_EQ(by_itself.code, 0) << by_itself.signal << by_itself.err;
    if (limit != "0") {  // a limit of 0 applies to its messages too
      EXPECT_THAT(by_itself.err, HasSubstr("kymo: "));
    }
    const Ending recorded = run({"/bin/sh", "-c",
                                 set + program("kymo") + " record -o " + file("b" + limit + ".kymo") + " -- " +
                                     program("open") + " many 300000"});
    EXPECT_NE(recorded.code, -1) << recorded.signal << recorded.err;
  }
}

TEST_F(WholeTest, AProgramThatCannotRecordIsInTheLedger) {
  const Ending ending = kymo(
      {"record", "--strict", "-o", file("a.kymo"), "--", "/bin/sh", "-c", "ulimit -f 1000; exec " + program("tries")});
  EXPECT_EQ(ending.code, 3) << ending.err;
  EXPECT_THAT(ending.err, AllOf(HasSubstr("not recording: "), HasSubstr("could not record"),
                                HasSubstr("though 1 program linked with Kymo ran")));
  EXPECT_EQ(kymo({"stats", "--strict", file("a.kymo")}).code, 3);
  EXPECT_THAT(left_in_memory(), IsEmpty());
}

// The process, or another one, changes the header while it is read.
TEST_F(WholeTest, ASegmentHeaderMayContainAnything) {
  for (const int offset : {16, 24, 32, 40, 44, 120}) {
    Process process = start({program("kymo"), "record", "-o", file("a.kymo"), "--", program("open"), "hang"});
    ASSERT_TRUE(wait_until("a segment", [&] { return !left_in_memory().empty(); }));
    usleep(50'000);
    for (const auto& entry : fs::recursive_directory_iterator(memory())) {
      if (!entry.is_regular_file()) continue;
      std::fstream segment(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      segment.seekp(offset);
      segment.write("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    }
    usleep(50'000);
    EXPECT_FALSE(process.ended()) << offset;
    run({"/bin/sh", "-c", "pkill -KILL -P " + std::to_string(process.pid())});
    EXPECT_NE(process.wait().code, -1) << offset;
    fs::remove_all(memory());
    fs::create_directory(memory());
  }
}

TEST_F(WholeTest, OpenRangesOfARunningProgramLastUntilNow) {
  Process process = start_recorded(Collector::InProgram, file("a.kymo"), {program("open"), "hang"});
  ASSERT_TRUE(wait_until("a segment", [&] { return fs::exists(file("a.kymo")) && !left_in_memory().empty(); }));
  sleep(2);
  const Ending stats = kymo({"stats", file("a.kymo"), "--json"});
  const size_t row = stats.out.find("\"outer\"");
  ASSERT_NE(row, std::string::npos) << stats.out;
  const size_t total = stats.out.find("\"total_ns\": ", row);
  EXPECT_GT(std::stoull(stats.out.substr(total + 12)), 1'000'000'000u) << stats.out;
}

TEST_F(WholeTest, ARelativePathStaysValidAfterAChangeOfFolder) {
  const std::string command = "cd " + folder() + " && exec " + program("open") + " moves " + program("tries");
  const Ending ending = run({"/bin/sh", "-c", command}, {.environment = {{"KYMO_TRACE", "a.kymo"}}});
  ASSERT_EQ(ending.code, 0) << ending.err;
  EXPECT_FALSE(fs::exists("/a.kymo"));
  collect::recover(file("a.kymo"));
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_EQ(trace.count("moving"), 1u);
  EXPECT_EQ(trace.count("work"), 1000u);
}

TEST_P(OpenRangesTest, ForkedChildrenMayStartOnSeveralThreadsAtOnce) {
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("forks"), "racing", "10"});
  EXPECT_EQ(ending.code, 0) << ending.signal << ending.err;
  const Ending stats = run({program("kymo"), "stats", file("a.kymo"), "--strict", "--json"});
  EXPECT_EQ(stats.code, 0) << stats.err;
  EXPECT_THAT(stats.out, Not(HasSubstr("\"unfinished\": true"))) << stats.out;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_EQ(trace.count("child"), 20u * 3 * 10) << trace.summary();
  EXPECT_THAT(stats.out, HasSubstr("across"));
  EXPECT_THAT(left_in_memory(), IsEmpty());
}

TEST_P(OpenRangesTest, ATraceThatIsMovedDuringTheRecordingIsComplete) {
  const Ending ending =
      run_recorded(GetParam(), file("a.kymo"), {program("forks"), "moved", "100", file("a.kymo"), file("b.kymo")});
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_THAT(ending.err, HasSubstr("was moved, replaced or deleted while it was written"));
  EXPECT_FALSE(fs::exists(file("a.kymo")));
  const Ending stats = run({program("kymo"), "stats", file("b.kymo"), "--strict"});
  EXPECT_EQ(stats.code, 0) << stats.err;
  const Readback trace = read_back(file("b.kymo"));
  EXPECT_EQ(trace.count("parent"), 200u) << trace.summary();
  EXPECT_EQ(trace.count("child"), 400u) << trace.summary();
  EXPECT_THAT(left_in_memory(), IsEmpty());
}

TEST_F(WholeTest, ATraceThatIsBeingWrittenIsNotReplaced) {
  Process first = start_recorded(Collector::KymoRecord, file("a.kymo"), {program("open"), "hang"});
  ASSERT_TRUE(wait_until("a segment", [&] { return !left_in_memory().empty(); }));
  const Ending second = kymo({"record", "-o", file("a.kymo"), "--", program("tries")});
  EXPECT_NE(second.code, 0);
  EXPECT_THAT(second.err, HasSubstr("another recording is writing it"));
  const Ending appended = kymo({"record", "--append", "-o", file("a.kymo"), "--", program("tries")});
  EXPECT_EQ(appended.code, 0) << appended.err;
  EXPECT_THAT(kymo({"stats", file("a.kymo")}).err, HasSubstr("still recording into this file"));
  ASSERT_EQ(run({"/bin/sh", "-c", "pkill -KILL -P " + std::to_string(first.pid())}).code, 0);
  first.wait();
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_EQ(trace.count("work"), 1000u);
  EXPECT_EQ(trace.origins.size(), 2u);

  const Ending third = kymo({"record", "-o", file("a.kymo"), "--", program("tries")});
  EXPECT_THAT(third.err, HasSubstr("replacing " + file("a.kymo")));
  EXPECT_EQ(read_back(file("a.kymo")).origins.size(), 1u);
}

TEST_F(WholeTest, ReadingACopyKeepsTheDataForTheOriginal) {
  kill_recorded(file("a.kymo"));
  fs::copy_file(file("a.kymo"), file("b.kymo"));
  const Ending copy = kymo({"stats", file("b.kymo"), "--strict"});
  EXPECT_EQ(copy.code, 0) << copy.err;
  EXPECT_THAT(copy.err, HasSubstr("this is a copy"));
  EXPECT_THAT(copy.out, HasSubstr("stuck {} (unfinished)"));
  EXPECT_THAT(left_in_memory(), Not(IsEmpty()));
  const Ending original = kymo({"stats", file("a.kymo"), "--strict"});
  EXPECT_EQ(original.code, 0) << original.err;
  EXPECT_THAT(original.err, HasSubstr("recovered"));
  EXPECT_THAT(original.out, HasSubstr("stuck {} (unfinished)"));
  EXPECT_THAT(left_in_memory(), IsEmpty());
}

TEST_F(WholeTest, MissingDataIsReported) {
  kill_recorded(file("a.kymo"));
  fs::remove_all(memory());
  fs::create_directory(memory());
  const Ending stats = kymo({"stats", file("a.kymo"), "--strict"});
  EXPECT_EQ(stats.code, 3) << stats.out;
  EXPECT_THAT(stats.err, HasSubstr("missing: the last events of process"));
  EXPECT_THAT(kymo({"info", file("a.kymo"), "--json"}).out, HasSubstr("it did not close the trace"));
  const Ending recover = kymo({"recover", file("a.kymo"), "--strict"});
  EXPECT_EQ(recover.code, 3) << recover.out;
  EXPECT_THAT(recover.err, HasSubstr("missing: the last events of process"));
}

TEST_F(WholeTest, DataWithoutATraceIsRemoved) {
  kill_recorded(file("a.kymo"));
  const Ending kept = kymo({"recover", "--clean"});
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("'kymo recover " + file("a.kymo") + "'"));
  EXPECT_THAT(left_in_memory(), Not(IsEmpty()));
  fs::remove(file("a.kymo"));
  const Ending removed = kymo({"recover", "--clean"});
  EXPECT_THAT(removed.out, Not(HasSubstr(file("a.kymo"))));
  EXPECT_THAT(left_in_memory(), IsEmpty());
}

TEST_F(WholeTest, DataOfAReplacedTraceIsRemoved) {
  kill_recorded(file("a.kymo"));
  const Ending second = kymo({"record", "-o", file("a.kymo"), "--", program("tries")});
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(left_in_memory(), IsEmpty());
  const Ending info = kymo({"info", file("a.kymo"), "--strict"});
  EXPECT_EQ(info.code, 0) << info.err;

  // Replaced by a file that is not a recording.
  fs::remove(file("a.kymo"));
  kill_recorded(file("a.kymo"));
  write_file(file("a.kymo"), "");
  const Ending removed = kymo({"recover", "--clean"});
  EXPECT_THAT(removed.out, Not(HasSubstr("kept")));
  EXPECT_THAT(left_in_memory(), IsEmpty());
}

TEST_F(WholeTest, TheFilesOfAFlightRecorderAreRemovedWithItsTrace) {
  for (const Collector collector : {Collector::InProgram, Collector::KymoRecord}) {
    Process process =
        start_recorded(collector, file("a.kymo"), {program("endless"), file("counts")}, {.policy = "overwrite"});
    ASSERT_TRUE(wait_until("a flight recorder's files", [&] {
      const auto left = left_in_memory();
      return std::any_of(left.begin(), left.end(), [](const auto& name) { return name.find("flight-") == 0; }) &&
             fs::exists(file("counts"));
    }));
    if (collector == Collector::KymoRecord) run({"/bin/sh", "-c", "pkill -KILL -P " + std::to_string(process.pid())});
    process.signal(SIGKILL);
    process.wait();
    const Ending kept = kymo({"recover", "--clean"});
    EXPECT_THAT(kept.out, HasSubstr("kept the flight recorder of " + file("a.kymo"))) << to_string(collector);
    fs::remove(file("a.kymo"));
    const Ending removed = kymo({"recover", "--clean"});
    EXPECT_THAT(removed.out, Not(HasSubstr("kept"))) << to_string(collector);
    EXPECT_THAT(left_in_memory(), IsEmpty()) << to_string(collector);
    fs::remove(file("counts"));
  }
}

TEST_F(WholeTest, ATruncatedTraceReportsItAndKeepsItsNames) {
  for (const Collector collector : {Collector::InProgram, Collector::KymoRecord}) {
    Process process = start_recorded(collector, file("a.kymo"), {program("endless"), file("counts")});
    ASSERT_TRUE(wait_until("events in the file",
                           [&] { return fs::exists(file("a.kymo")) && fs::file_size(file("a.kymo")) > 20'000; }));
    fs::resize_file(file("a.kymo"), 0);
    ASSERT_TRUE(wait_until("new events in the file", [&] { return fs::file_size(file("a.kymo")) > 500'000; }));
    process.signal(SIGTERM);
    process.wait();
    const Ending stats = kymo({"stats", file("a.kymo"), "--strict"});
    EXPECT_EQ(stats.code, 3) << to_string(collector) << stats.err;
    EXPECT_THAT(stats.err, HasSubstr("because the trace was truncated while it was written")) << to_string(collector);
    EXPECT_THAT(stats.err, Not(HasSubstr("damaged"))) << to_string(collector);
    EXPECT_THAT(stats.out, HasSubstr("numbered")) << to_string(collector);
    fs::remove(file("a.kymo"));
    fs::remove(file("counts"));
  }
}

TEST_F(WholeTest, NoProgramRecordsAfterTheEndOfTheRecording) {
  // The recording must not end before the other session exists: what is left of this one is killed then.
  const std::string later = "setsid sh -c ': > " + file("ready") + "; while [ ! -e " + file("go") +
                            " ]; do sleep 0.01; done; " + program("tries") + "; echo > " + file("done") +
                            "' & while [ ! -e " + file("ready") + " ]; do sleep 0.01; done";
  const Ending ending = kymo({"record", "-o", file("a.kymo"), "--", "/bin/sh", "-c", program("tries") + "; " + later});
  ASSERT_EQ(ending.code, 0) << ending.err;
  write_file(file("go"), "");
  ASSERT_TRUE(wait_until("the program to end", [&] { return fs::exists(file("done")); }));
  EXPECT_THAT(left_in_memory(), IsEmpty());
  const Ending stats = kymo({"stats", file("a.kymo"), "--strict"});
  EXPECT_EQ(stats.code, 0) << stats.err;
  EXPECT_EQ(read_back(file("a.kymo")).count("work"), 1000u);
}

TEST_F(WholeTest, ADumpAndRecoveredDataAreCountedOnce) {
  Process process = start_recorded(Collector::InProgram, file("a.kymo"), {program("endless"), file("counts")},
                                   {.policy = "overwrite"});
  ASSERT_TRUE(wait_until("a flight recorder", [&] { return fs::exists(file("counts")); }));
  usleep(200'000);
  process.signal(SIGKILL);
  process.wait();
  const Ending once = kymo({"recover", file("a.kymo"), "--json"});
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_THAT(left_in_memory(), IsEmpty());

  // Restores the files of the recorder, as if the trace had been a dump of them.
  const auto events = [&] {
    const Readback trace = read_back(file("a.kymo"));
    return trace.ranges.size() + trace.points.size();
  };
  const size_t before = events();
  const std::string folder = memory() + "/kymo-" + std::to_string(geteuid());
  const Ending info = kymo({"info", file("a.kymo"), "--json"});
  const size_t at = info.out.find("\"session\": \"");
  ASSERT_NE(at, std::string::npos) << info.out;
  fs::copy_file(file("a.kymo"), folder + "/flight-" + info.out.substr(at + 12, 32) + "-1-1-00000000");
  kymo({"recover", file("a.kymo")});
  EXPECT_THAT(left_in_memory(), IsEmpty());
  EXPECT_EQ(events(), before);
}

TEST_F(WholeTest, ADeletedFlightRecordingIsReported) {
  const std::string command = program("tries") + "; rm " + file("a.kymo");
  const Ending ending =
      kymo({"record", "--strict", "--flight", "30s", "-o", file("a.kymo"), "--", "/bin/sh", "-c", command});
  EXPECT_EQ(ending.code, 3) << ending.err;
  EXPECT_THAT(ending.err, HasSubstr("was moved, replaced or deleted while it was written"));
}

TEST_F(WholeTest, ABusErrorSentByAnotherProcessEndsTheProgram) {
  Process process = start_recorded(Collector::InProgram, file("a.kymo"), {program("endless"), file("counts")});
  ASSERT_TRUE(wait_until("the program to record", [&] { return fs::exists(file("counts")); }));
  process.signal(SIGBUS);
  EXPECT_EQ(process.wait().signal, SIGBUS);
}

TEST_F(WholeTest, ARenamedTraceIsFoundByClean) {
  kill_recorded(file("a.kymo"));
  fs::rename(file("a.kymo"), file("b.kymo"));
  EXPECT_THAT(kymo({"recover", "--clean"}).out, HasSubstr("'kymo recover " + file("b.kymo") + "'"));
  EXPECT_THAT(left_in_memory(), Not(IsEmpty()));
  EXPECT_EQ(kymo({"stats", file("b.kymo"), "--strict"}).code, 0);
  EXPECT_THAT(left_in_memory(), IsEmpty());
}

TEST_F(WholeTest, TruncatedSegmentsAreRemovedByClean) {
  kill_recorded(file("a.kymo"));
  const std::string folder = memory() + "/kymo-" + std::to_string(geteuid());
  for (const std::string& name : left_in_memory()) fs::resize_file(folder + "/" + name, 4096);
  EXPECT_THAT(kymo({"recover", "--clean"}).out, HasSubstr("removed 1 file"));
  EXPECT_THAT(left_in_memory(), IsEmpty());
}

TEST_F(WholeTest, KymoDoesNotRecordItself) {
  const Ending ending =
      kymo({"record", "-o", file("a.kymo"), "--", program("tries")}, {.environment = {{"KYMO_TRACE", file("b.kymo")}}});
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_FALSE(fs::exists(file("b.kymo")));
  EXPECT_EQ(read_back(file("a.kymo")).count("work"), 1000u);
}

TEST_F(WholeTest, AReadOnlyTraceIsReadCompletely) {
  kill_recorded(file("a.kymo"));
  fs::permissions(file("a.kymo"), fs::perms::owner_read);
  if (access(file("a.kymo").c_str(), W_OK) == 0) GTEST_SKIP() << "root may write everything";
  const Ending stats = kymo({"stats", file("a.kymo"), "--strict"});
  EXPECT_EQ(stats.code, 0) << stats.err;
  EXPECT_THAT(stats.out, HasSubstr("stuck {} (unfinished)"));
}

}  // namespace
}  // namespace kymo::e2e
