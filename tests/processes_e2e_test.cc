// More than one process in a recording: fork, exec, posix_spawn; with either collector.
#include <signal.h>

#include <algorithm>
#include <set>

#include "collect/recover.h"
#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

constexpr size_t kCount = 300;

class ProcessesTest : public EitherCollector {
 protected:
  Readback record(const std::string& how) {
    const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("forks"), how, std::to_string(kCount)});
    EXPECT_EQ(ending.code, 0) << ending.err;
    EXPECT_EQ(ending.err, "");
    collect::recover(file("a.kymo"));
    EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
    return read_back(file("a.kymo"));
  }
};
INSTANTIATE_TEST_SUITE_P(, ProcessesTest, ::testing::Values(Collector::InProgram, Collector::KymoRecord),
                         collector_name);

std::set<uint64_t> pids_of(const Readback& trace, const std::string& name) {
  std::set<uint64_t> pids;
  for (const Event* event : trace.ranges_named(name)) pids.insert(trace.pid_of(*event));
  return pids;
}

TEST_P(ProcessesTest, ForkedChildrenAndGrandchildrenContinueRecording) {
  const Readback trace = record("nested");
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.origins.size(), 4u) << trace.summary();
  EXPECT_EQ(trace.count("before"), kCount);
  EXPECT_EQ(trace.count("parent"), kCount);
  EXPECT_EQ(trace.count("child"), kCount + 1);
  EXPECT_EQ(trace.count("grandchild"), 2 * kCount + 1);
  EXPECT_EQ(trace.count("family"), 2u) << "the parent's; a child does not end what it did not begin";
  EXPECT_EQ(trace.points_count("beat"), 5 * kCount);
  EXPECT_EQ(trace.count("site"), 5 * kCount);
  EXPECT_EQ(pids_of(trace, "before"), pids_of(trace, "parent"));
  EXPECT_EQ(pids_of(trace, "child").size(), 1u);
  EXPECT_EQ(pids_of(trace, "grandchild").size(), 2u);
  for (const Event* event : trace.ranges_named("parent")) ASSERT_EQ(event->depth, 2);
  std::set<std::string> sessions;
  for (const trace::Origin& origin : trace.origins) sessions.insert(origin.session);
  EXPECT_EQ(sessions.size(), 1u);
  const uint64_t parent = *pids_of(trace, "parent").begin(), child = *pids_of(trace, "child").begin();
  for (const trace::Origin& origin : trace.origins)
    EXPECT_TRUE(origin.pid != child || origin.parent_pid == parent) << origin.parent_pid;
}

TEST_P(ProcessesTest, ForkWhileOtherThreadsRecordLosesNothing) {
  const Readback trace = record("threads");
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.origins.size(), 21u);
  EXPECT_EQ(trace.count("child"), 20 * kCount);
  EXPECT_EQ(trace.count("site"), 25 * kCount);
  EXPECT_EQ(pids_of(trace, "child").size(), 20u);
  EXPECT_EQ(trace.count("parent"), 5 * kCount);
  EXPECT_EQ(pids_of(trace, "thread"), pids_of(trace, "parent")) << "threads are not in a forked child";
  std::map<uint32_t, uint64_t> next;  // by track: none is missing, none is there twice
  for (const Event* event : trace.ranges_named("thread")) ASSERT_EQ(event->number, next[event->track]++);
  EXPECT_EQ(next.size(), 3u);
}

TEST_P(ProcessesTest, ChildrenThatRecordNothingChangeNothing) {
  const Readback trace = record("silent");
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("parent"), 10 * kCount);
  EXPECT_EQ(pids_of(trace, "parent").size(), 1u);
}

TEST_P(ProcessesTest, ManyShortChildrenAreRecorded) {
  const Readback trace = record("many");
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("child"), 60 * kCount);
  EXPECT_EQ(pids_of(trace, "child").size(), 60u);
}

TEST_P(ProcessesTest, ForkAndExecAreRecorded) {
  const Readback trace = record("exec");
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("parent"), 2 * kCount);
  EXPECT_EQ(trace.count("leaf"), kCount);
  EXPECT_NE(pids_of(trace, "leaf"), pids_of(trace, "parent"));
}

TEST_P(ProcessesTest, ExecWithoutForkIsAnotherProgramWithTheSamePid) {
  const Readback trace = record("in-place");
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("parent"), kCount);
  EXPECT_EQ(trace.count("leaf"), kCount);
  EXPECT_EQ(pids_of(trace, "leaf"), pids_of(trace, "parent"));
  EXPECT_EQ(trace.origins.size(), 2u);
}

TEST_P(ProcessesTest, SpawnedProgramsAreRecorded) {
  const Readback trace = record("spawn");
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("parent"), 2 * kCount);
  EXPECT_EQ(trace.count("leaf"), kCount);
  EXPECT_NE(pids_of(trace, "leaf"), pids_of(trace, "parent"));
}

class ForkTest : public EndToEnd {};

TEST_F(ForkTest, TheEndOfARangeFromAnEndedSessionIsIgnoredInAChild) {
  const Ending ending = run({program("forks"), "after-session", "100", file("a.kymo")});
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("parent"), 100u);
  EXPECT_EQ(trace.count("child"), 0u);
}

TEST_F(ForkTest, AForkHandlerOfTheProgramMayRecord) {
  const Ending ending = run({program("forks"), "handler", "100", file("a.kymo")});
  EXPECT_EQ(ending.code, 0) << ending.signal << ending.err;
  collect::recover(file("a.kymo"));
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("parent"), 100u);
  EXPECT_EQ(trace.count("handler"), 100u);
  EXPECT_EQ(trace.count("child"), 100u);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace kymo::e2e
