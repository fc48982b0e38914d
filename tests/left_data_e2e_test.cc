// Data that a killed program left in shared memory: commands recover it, and remove it when it is of no use.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "counts.h"
#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

class LeftDataTest : public CommandTest {
 protected:
  // Kills a program that recorded itself. Its data is left in shared memory.
  void kill_recorded(const std::string& trace) {
    Process process = start_recorded(Collector::InProgram, trace, {program("open"), "hang"});
    ASSERT_TRUE(wait_until("the program to be stuck", [&] { return process.output() == "stuck\n"; }));
    process.signal(SIGKILL);
    process.wait();
  }
};

TEST_F(LeftDataTest, ReadingACopyKeepsTheDataForTheOriginal) {
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

TEST_F(LeftDataTest, MissingDataIsReported) {
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

TEST_F(LeftDataTest, DataWithoutATraceIsRemoved) {
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

TEST_F(LeftDataTest, DataOfAReplacedTraceIsRemoved) {
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

TEST_F(LeftDataTest, TheFilesOfAFlightRecorderAreRemovedWithItsTrace) {
  for (const Collector collector : {Collector::InProgram, Collector::KymoRecord}) {
    Process process =
        start_recorded(collector, file("a.kymo"), {program("endless"), file("counts")}, {.policy = "overwrite"});
    ASSERT_TRUE(wait_until("a flight recorder's files", [&] {
      const auto left = left_in_memory();
      return std::any_of(left.begin(), left.end(), [](const auto& name) { return name.find("flight-") == 0; }) &&
             fs::exists(file("counts"));
    }));
    process.signal(SIGSTOP);  // so that `kymo record` does not complete the trace when its program ends
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

TEST_F(LeftDataTest, ADumpAndRecoveredDataAreCountedOnce) {
  const Counts* const counts = map_counts(file("counts").c_str());
  ASSERT_NE(counts, nullptr);
  Process process = start_recorded(Collector::InProgram, file("a.kymo"), {program("endless"), file("counts")},
                                   {.policy = "overwrite"});
  ASSERT_TRUE(wait_until("events", [&] { return counts->done[0] > 10'000 && counts->done[1] > 10'000; }));
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

TEST_F(LeftDataTest, ARenamedTraceIsFoundByClean) {
  kill_recorded(file("a.kymo"));
  fs::rename(file("a.kymo"), file("b.kymo"));
  EXPECT_THAT(kymo({"recover", "--clean"}).out, HasSubstr("'kymo recover " + file("b.kymo") + "'"));
  EXPECT_THAT(left_in_memory(), Not(IsEmpty()));
  EXPECT_EQ(kymo({"stats", file("b.kymo"), "--strict"}).code, 0);
  EXPECT_THAT(left_in_memory(), IsEmpty());
}

TEST_F(LeftDataTest, AReadOnlyTraceIsReadCompletely) {
  kill_recorded(file("a.kymo"));
  fs::permissions(file("a.kymo"), fs::perms::owner_read);
  if (access(file("a.kymo").c_str(), W_OK) == 0) GTEST_SKIP() << "root may write everything";
  const Ending stats = kymo({"stats", file("a.kymo"), "--strict"});
  EXPECT_EQ(stats.code, 0) << stats.err;
  EXPECT_THAT(stats.out, HasSubstr("stuck {} (unfinished)"));
}

}  // namespace
}  // namespace kymo::e2e
