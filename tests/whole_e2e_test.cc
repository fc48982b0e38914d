// A trace contains everything, or says what is missing.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

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

class WholeTest : public CommandTest {};

class WholeWithEitherCollectorTest : public EitherCollector {};
INSTANTIATE_TEST_SUITE_P(, WholeWithEitherCollectorTest, ::testing::Values(Collector::InProgram, Collector::KymoRecord),
                         collector_name);

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
    EXPECT_EQ(process.wait().signal, SIGKILL) << offset;  // as the program, and not by its own fault
    fs::remove_all(memory());
    fs::create_directory(memory());
  }
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

TEST_P(WholeWithEitherCollectorTest, ForkedChildrenMayStartOnSeveralThreadsAtOnce) {
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

TEST_P(WholeWithEitherCollectorTest, ATraceThatIsMovedDuringTheRecordingIsComplete) {
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

TEST_F(WholeTest, KymoDoesNotRecordItself) {
  const Ending ending =
      kymo({"record", "-o", file("a.kymo"), "--", program("tries")}, {.environment = {{"KYMO_TRACE", file("b.kymo")}}});
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_FALSE(fs::exists(file("b.kymo")));
  EXPECT_EQ(read_back(file("a.kymo")).count("work"), 1000u);
}

}  // namespace
}  // namespace kymo::e2e
