// Recording a program without changing it, and recording from code: on and off, into one file and then another.
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "collect/recording.h"
#include "collect/recover.h"
#include "counts.h"
#include "kymo/error.h"
#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

class SessionTest : public EndToEnd {};

TEST_F(SessionTest, KymoTraceRecordsAnUnchangedProgram) {
  const Ending ending = run_traced(file("a.kymo"), {program("ends"), "return", "100"});
  EXPECT_EQ(ending.code, 0);
  EXPECT_EQ(ending.err, "") << "the library never prints";
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("main"), 1u);
  EXPECT_EQ(trace.count("work"), 100u);
  EXPECT_EQ(trace.count("thread work"), 100u);
  EXPECT_TRUE(numbered_in_order(trace, "inner"));
  ASSERT_EQ(trace.origins.size(), 1u);
  EXPECT_EQ(trace.origins[0].executable, program("ends"));
  EXPECT_EQ(trace.origins[0].command_line, (Words{program("ends"), "return", "100"}));
  EXPECT_EQ(trace.origins[0].policy, "block");
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_F(SessionTest, ThePlaceholderInThePathIsTheProcessId) {
  auto process = start({program("ends"), "return", "10"}, {.environment = {{"KYMO_TRACE", file("%p.kymo")}}});
  const auto pid = process.pid();
  EXPECT_EQ(process.wait().code, 0);
  const Readback trace = read_back(file(std::to_string(pid) + ".kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("work"), 10u);
}

TEST_F(SessionTest, WithoutARequestNothingIsRecordedAndNothingIsLeft) {
  EXPECT_EQ(run({program("ends"), "return", "100"}).code, 0);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_F(SessionTest, EachRunAppendsToTheFile) {
  run_traced(file("a.kymo"), {program("ends"), "return", "100"});
  run_traced(file("a.kymo"), {program("ends"), "return", "10"});
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("work"), 110u);
  EXPECT_EQ(trace.origins.size(), 2u);
}

TEST_F(SessionTest, ASessionInTheCodeIsIgnoredIfTheEnvironmentStartedOne) {
  const Ending ending = run_traced(file("outside.kymo"), {program("tries"), file("inside.kymo")});
  EXPECT_EQ(ending.code, 0) << ending.signal << ending.err;
  EXPECT_EQ(ending.out, "done, still recording\n");
  const Readback trace = read_back(file("outside.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("work"), 1000u);
  EXPECT_FALSE(std::filesystem::exists(file("inside.kymo")));
}

TEST_F(SessionTest, FilesAreAccessibleOnlyToTheUser) {
  run_traced(file("a.kymo"), {program("ends"), "kill", "10"});
  struct stat status {};
  ASSERT_EQ(stat(file("a.kymo").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const std::string memory_folder = memory() + "/kymo-" + std::to_string(geteuid());
  ASSERT_EQ(stat(memory_folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(left_in_memory().size(), 1u);
  ASSERT_EQ(stat((memory_folder + "/" + left_in_memory()[0]).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(SessionTest, EachSessionFromCodeHasItsOwnEvents) {
  constexpr int kSessions = 20;
  const Ending ending = run({program("sessions"), folder(), std::to_string(kSessions)});
  ASSERT_EQ(ending.code, 0) << ending.err;
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(file("second.kymo")));
  for (int i = 0; i < kSessions; ++i) {
    SCOPED_TRACE(i);
    const Readback trace = read_back(file(std::to_string(i) + ".kymo"));
    EXPECT_TRUE(sound_and_complete(trace));
    EXPECT_EQ(trace.count("inside"), static_cast<size_t>(i) + 1);
    EXPECT_EQ(trace.count("nested"), static_cast<size_t>(i) + 1);
    EXPECT_EQ(trace.ranges.size(), 2 * (static_cast<size_t>(i) + 1));
    for (const Event* event : trace.ranges_named("inside")) EXPECT_EQ(event->depth, 0);
    for (const Event* event : trace.ranges_named("nested")) EXPECT_EQ(event->depth, 1);
    EXPECT_EQ(trace.points_count("outside"), 0u);
    EXPECT_EQ(trace.points_count("across"), 1u);
    EXPECT_EQ(trace.open_count("cut off"), 1u);
    EXPECT_EQ(trace.open_count("half"), 1u);
    EXPECT_EQ(trace.open_count("before"), 0u);
  }
}

TEST_F(SessionTest, TheDataOfAKilledProcessGoesToItsLastSession) {
  EXPECT_EQ(run({program("sessions"), folder(), "2", "killed"}).signal, SIGKILL);
  EXPECT_EQ(collect::recover(file("0.kymo")).processes, 0u);
  EXPECT_EQ(collect::recover(file("1.kymo")).processes, 1u);
  const Readback first = read_back(file("0.kymo")), second = read_back(file("1.kymo"));
  EXPECT_TRUE(sound_and_complete(first));
  EXPECT_TRUE(sound_and_complete(second));
  EXPECT_EQ(first.count("inside"), 1u);
  EXPECT_EQ(second.count("inside"), 2u);
  EXPECT_EQ(second.open_count("cut off"), 1u);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

// ---- Concatenated files, and files that are read while they grow ---------------------------------------------------

TEST_F(SessionTest, ConcatenatedTracesAreATrace) {
  run_traced(file("a.kymo"), {program("ends"), "return", "100"});
  run_traced(file("b.kymo"), {program("ends"), "return", "50"});
  write_file(file("c.kymo"), contents_of(file("a.kymo")) + contents_of(file("b.kymo")));
  const Readback both = read_back(file("c.kymo"));
  EXPECT_TRUE(sound_and_complete(both));
  EXPECT_EQ(both.origins.size(), 2u);
  EXPECT_EQ(both.count("work"), 150u);
  EXPECT_EQ(both.count("main"), 2u);
}

TEST_F(SessionTest, ConcatenatedTracesOfOneProcessAreATrace) {
  ASSERT_EQ(run({program("sessions"), folder(), "6"}).code, 0);
  write_file(file("both.kymo"), contents_of(file("4.kymo")) + contents_of(file("5.kymo")));
  const Readback both = read_back(file("both.kymo"));
  EXPECT_TRUE(sound_and_complete(both));
  EXPECT_EQ(both.count("inside"), 5u + 6u);
  EXPECT_EQ(both.tracks.size(), 4u) << "two threads in each session";
}

TEST_F(SessionTest, AReaderFollowsAFileThatGrows) {
  Counts* counts = map_counts(file("counts").c_str());
  auto process = start({program("endless"), file("counts")}, {.environment = {{"KYMO_TRACE", file("a.kymo")}}});
  ASSERT_TRUE(wait_until("a first chunk of events", [&] {
    try {
      return !trace::Reader(file("a.kymo")).event_chunks().empty();
    } catch (const Error&) {
      return false;
    }
  }));
  trace::Reader reader(file("a.kymo"));
  size_t grown = 0, last = reader.event_chunks().size();
  ASSERT_TRUE(wait_until("the file to grow", [&] {
    if (!reader.refresh()) return false;
    for (const trace::Problem& problem : reader.problems())
      EXPECT_EQ(problem.offset, reader.trace_size()) << "only its end may be torn: " << problem.what;
    grown += reader.event_chunks().size() > last ? 1 : 0;
    last = reader.event_chunks().size();
    return grown >= 10;
  }));
  const collect::Recovered nothing = collect::recover(file("a.kymo"));
  EXPECT_EQ(nothing.processes, 0u) << "whoever runs is left alone";
  EXPECT_EQ(nothing.live_processes, 1u);
  const Readback meanwhile = read_back(reader);
  for (const std::string& fault : meanwhile.faults) EXPECT_NE(fault.find("unfinished"), std::string::npos) << fault;
  EXPECT_TRUE(numbered_in_order(meanwhile, "numbered"));
  EXPECT_LE(meanwhile.count("numbered"), counts->done[1] + 1);

  counts->stop = 1;
  EXPECT_EQ(process.wait().code, 0);
  reader.refresh();
  const Readback followed = read_back(reader), afresh = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(followed));
  EXPECT_TRUE(sound_and_complete(afresh));
  EXPECT_EQ(followed.count("numbered"), counts->done[1]);
  EXPECT_EQ(followed.count("plain"), counts->done[0]);
  EXPECT_EQ(afresh.count("numbered"), counts->done[1]);
  EXPECT_EQ(afresh.count("plain"), counts->done[0]);
}

}  // namespace
}  // namespace kymo::e2e
