// However a process or its collector ends, everything that was recorded before is in the file, exactly once.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <thread>
#include <tuple>

#include "collect/recover.h"
#include "counts.h"
#include "kymo/error.h"
#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

constexpr size_t kCount = 20000;  // with the default size, more than one piece of a ring

class EndsTest : public EndToEnd, public ::testing::WithParamInterface<std::tuple<Collector, std::string>> {
 protected:
  void SetUp() override {
    if (std::get<0>(GetParam()) == Collector::KymoRecord && !have_kymo())
      GTEST_SKIP() << "the kymo command is not built";
  }
};

TEST_P(EndsTest, EverythingRecordedBeforeTheEndIsInTheFile) {
  const auto& [collector, how] = GetParam();
  const Ending ending = run_recorded(collector, file("a.kymo"), {program("ends"), how, std::to_string(kCount)});
  const bool orderly = how == "return" || how == "exit";
  EXPECT_EQ(ending.code == 0, orderly || how == "_exit") << ending.err;

  if (orderly || collector == Collector::KymoRecord) {
    EXPECT_THAT(left_in_memory(), ::testing::IsEmpty()) << "a complete file leaves nothing to bring home";
    EXPECT_EQ(collect::recover(file("a.kymo")).processes, 0u);
  } else {
    EXPECT_EQ(collect::recover(file("a.kymo")).processes, 1u);
    EXPECT_THAT(left_in_memory(), ::testing::IsEmpty()) << "what was brought home is gone from memory";
    EXPECT_EQ(collect::recover(file("a.kymo")).processes, 0u) << "a second time there is nothing";
  }
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.origins.size(), 1u);
  EXPECT_EQ(trace.tracks.size(), 2u);
  EXPECT_EQ(trace.count("work"), kCount);
  EXPECT_EQ(trace.count("inner"), kCount);
  EXPECT_TRUE(numbered_in_order(trace, "inner"));
  EXPECT_EQ(trace.count("thread work"), kCount);
  EXPECT_EQ(trace.count("main"), how == "return" ? 1u : 0u);
  EXPECT_EQ(trace.open_count("main"), how == "return" ? 0u : 1u);
  for (const Event* event : trace.ranges_named("work")) ASSERT_EQ(event->depth, 1);
  for (const Event* event : trace.ranges_named("inner")) ASSERT_EQ(event->depth, 2);
  for (const Event* event : trace.ranges_named("thread work")) ASSERT_EQ(event->depth, 0);
}

std::string ends_name(const ::testing::TestParamInfo<EndsTest::ParamType>& info) {
  std::string how = std::get<1>(info.param);
  if (how == "_exit") how = "ExitAtOnce";
  how[0] = static_cast<char>(std::toupper(how[0]));
  return to_string(std::get<0>(info.param)) + how;
}
INSTANTIATE_TEST_SUITE_P(, EndsTest,
                         ::testing::Combine(::testing::Values(Collector::InProgram, Collector::KymoRecord),
                                            ::testing::Values("return", "exit", "_exit", "abort", "throw", "segv",
                                                              "kill")),
                         ends_name);

class BusyEndTest : public EndToEnd, public ::testing::WithParamInterface<const char*> {};
std::string busy_end_name(const ::testing::TestParamInfo<const char*>& info) {
  return info.param == std::string("busy") ? "Return" : "ExitInThread";
}
INSTANTIATE_TEST_SUITE_P(, BusyEndTest, ::testing::Values("busy", "exit_in_thread"), busy_end_name);

TEST_P(BusyEndTest, ThreadsThatNeverStopRecordingDoNotDelayTheEnd) {
  for (int round = 0; round < 5; ++round) {
    std::filesystem::remove(file("a.kymo"));
    const Ending ending = run_traced(file("a.kymo"), {program("ends"), GetParam(), "1000"});
    EXPECT_EQ(ending.code, 0) << ending.signal << ending.err;
    EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
    const Readback trace = read_back(file("a.kymo"));
    EXPECT_TRUE(sound(trace));
    EXPECT_EQ(trace.count("work"), 1000u);
    EXPECT_EQ(trace.count("thread work"), 1000u);
    EXPECT_TRUE(numbered_in_order(trace, "inner"));
  }
}

// ---- Killed at any moment ------------------------------------------------------------------------------------------

class KillTest : public EitherCollector {
 protected:
  // Starts `endless`, and returns when both of its threads record.
  Process start_endless(const std::string& trace, const std::string& counts_path, const RecordOptions& options = {}) {
    counts_ = map_counts(counts_path.c_str());
    auto process = start_recorded(GetParam(), trace, {program("endless"), counts_path}, options);
    wait_until("both threads to record", [&] { return counts_->done[0] > 0 && counts_->done[1] > 0; });
    return process;
  }
  Counts* counts_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(, KillTest, ::testing::Values(Collector::InProgram, Collector::KymoRecord), collector_name);

TEST_P(KillTest, KillingAtAnyTimeLosesNothingAndCountsNothingTwice) {
  std::mt19937 random(1);
  for (int round = 0; round < 15; ++round) {
    SCOPED_TRACE(round);
    const std::string trace_path = file(std::to_string(round) + ".kymo");
    auto process = start_endless(trace_path, file("counts-" + std::to_string(round)),
                                 {.policy = "block", .ring_bytes = round % 2 == 0 ? 1u << 20 : 1u << 16});
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 25000));
    kill(static_cast<pid_t>(counts_->pid), SIGKILL);
    const Ending ending = process.wait();
    EXPECT_TRUE(ending.signal == SIGKILL || ending.code == 128 + SIGKILL) << ending.code << ending.err;
    EXPECT_EQ(collect::recover(trace_path).live_processes, 0u);
    EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());

    const Readback trace = read_back(trace_path);
    EXPECT_TRUE(sound_and_complete(trace));
    EXPECT_TRUE(numbered_in_order(trace, "numbered"));
    for (const auto& [name, thread] : {std::pair{"plain", 0}, std::pair{"numbered", 1}}) {
      EXPECT_GE(trace.count(name), counts_->done[thread]) << name;
      EXPECT_LE(trace.count(name), counts_->done[thread] + 1) << name;
      for (const Event* event : trace.ranges_named(name)) ASSERT_EQ(event->depth, 1);
    }
    EXPECT_EQ(trace.open_count("outer"), 2u);
    if (HasFailure()) return;
  }
}

TEST_P(KillTest, KillingWithALargeRingFullOfArgumentsLosesNothing) {
  Counts* counts = map_counts(file("counts").c_str());
  run_recorded(GetParam(), file("a.kymo"), {program("burst"), file("counts"), "60000", "10", "killed"},
               {.policy = "block", .ring_bytes = 64 << 20});
  collect::recover(file("a.kymo"));
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.ranges.size(), counts->done[0]);
  EXPECT_EQ(trace.points_count("top"), counts->done[1]);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_P(KillTest, KillingWhileThreadsStartAndEndLosesNothing) {
  std::mt19937 random(2);
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    const std::string trace_path = file(std::to_string(round) + ".kymo");
    const std::string counts_path = file("counts-" + std::to_string(round));
    Counts* counts = map_counts(counts_path.c_str());
    auto process = start_recorded(GetParam(), trace_path, {program("threads"), "many", "1000000", counts_path});
    ASSERT_TRUE(wait_until("the first threads", [&] { return counts->done[0] > 20; }));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30000));
    kill(static_cast<pid_t>(counts->pid), SIGKILL);
    process.wait();
    collect::recover(trace_path);
    EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
    const Readback trace = read_back(trace_path);
    EXPECT_TRUE(sound_and_complete(trace));
    EXPECT_GE(trace.count("short"), counts->done[0]);
    EXPECT_LE(trace.count("short"), counts->done[0] + 8) << "of those that lived";
    std::map<uint32_t, size_t> by_thread;
    for (const Event* event : trace.ranges_named("short")) ASSERT_EQ(++by_thread[event->track], 1u);
    if (HasFailure()) return;
  }
}

// Kills all processes at the same time: parents, children, and the collector if it is a process.
TEST_P(KillTest, KillingAllProcessesAtOnceLosesNothing) {
  std::mt19937 random(3);
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    const std::string trace_path = file(std::to_string(round) + ".kymo");
    auto process = start_recorded(GetParam(), trace_path, {program("forks"), "threads", "2000"});
    ASSERT_TRUE(wait_until("the first chunk", [&] { return contents_of(trace_path).size() > 3000; }));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40000));
    kill(-process.pid(), SIGKILL);
    process.wait();
    // Only the first process is our child, so only it can be waited for. The others end at their own time.
    EXPECT_TRUE(wait_until("all of them gone", [&] {
      collect::recover(trace_path);
      return left_in_memory().empty();
    }));
    const Readback trace = read_back(trace_path);
    EXPECT_TRUE(sound_and_complete(trace));
    std::map<uint32_t, uint64_t> next;
    for (const Event* event : trace.ranges_named("thread")) ASSERT_EQ(event->number, next[event->track]++);
    std::map<uint64_t, size_t> children;
    for (const Event* event : trace.ranges_named("child")) ASSERT_LE(++children[trace.pid_of(*event)], 2000u);
    if (HasFailure()) return;
  }
}

// ---- Several processes that recover --------------------------------------------------------------------------------

TEST_F(EndToEnd, RecoveringSeveralTimesAtOnceCountsNothingTwice) {
  if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    std::filesystem::remove(file("a.kymo"));
    EXPECT_EQ(run_traced(file("a.kymo"), {program("ends"), "kill", "5000"}).signal, SIGKILL);
    std::vector<Process> readers;
    for (int i = 0; i < 4; ++i) readers.push_back(start({program("kymo"), "recover", file("a.kymo")}));
    for (Process& reader : readers) EXPECT_EQ(reader.wait().code, 0);
    EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
    const Readback trace = read_back(file("a.kymo"));
    EXPECT_TRUE(sound_and_complete(trace));
    EXPECT_EQ(trace.count("work"), 5000u);
    EXPECT_EQ(trace.count("thread work"), 5000u);
    if (HasFailure()) return;
  }
}

// `kymo info` on a file that grows recovers what it can, as `kymo record` does. Both must not count a dead child twice.
TEST_F(EndToEnd, RecoveringAFileThatIsBeingRecordedCountsNothingTwice) {
  if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
  auto process = start_recorded(Collector::KymoRecord, file("a.kymo"), {program("forks"), "many", "200"});
  wait_until("the end of the programs", [&] {
    try {
      collect::recover(file("a.kymo"));
    } catch (const Error&) {  // the file is still empty
    }
    return process.ended();
  });
  EXPECT_EQ(process.wait().code, 0);
  collect::recover(file("a.kymo"));
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("child"), 60u * 200u);
}

TEST_F(EndToEnd, AProgramContinuesAfterItsCollectorIsKilled) {
  if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
  Counts* counts = map_counts(file("counts").c_str());
  auto process = start_recorded(Collector::KymoRecord, file("a.kymo"), {program("endless"), file("counts")});
  ASSERT_TRUE(wait_until("both threads to record", [&] { return counts->done[0] > 1000 && counts->done[1] > 1000; }));
  process.signal(SIGKILL);
  process.wait();
  const uint64_t plain = counts->done[0], numbered = counts->done[1];
  constexpr uint64_t kMoreThanARing = 200000;
  ASSERT_TRUE(wait_until("the program to go on without its collector", [&] {
    return counts->done[0] > plain + kMoreThanARing && counts->done[1] > numbered + kMoreThanARing;
  }));
  EXPECT_EQ(collect::recover(file("a.kymo")).live_processes, 1u) << "it is alive, and left alone";
  counts->stop = 1;
  const auto pid = static_cast<pid_t>(counts->pid);
  ASSERT_TRUE(wait_until("the program's end", [&] { return kill(pid, 0) != 0; }));

  EXPECT_EQ(collect::recover(file("a.kymo")).processes, 1u);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound(trace));
  EXPECT_GE(trace.count("plain"), plain) << "what was made before is there";
  EXPECT_EQ(trace.lost(), trace.lost(trace::LossCause::CollectorStalled)) << trace.summary();
  EXPECT_EQ(trace.count("plain") + trace.count("numbered") + trace.lost(), counts->done[0] + counts->done[1])
      << "every range is in the file or in the ledger\n"
      << trace.summary();
  EXPECT_TRUE(numbered_in_order(trace, "numbered"));
}

TEST_F(EndToEnd, AProgramThatIsKilledAfterItsSessionLeavesNothing) {
  ASSERT_EQ(run({program("sessions"), folder(), "1"}).code, 0);
  // A normal end, then the same with a process that is killed between sessions.
  auto process = start({program("forks"), "after-session", "100", file("a.kymo")});
  EXPECT_EQ(process.wait().code, 0);
  collect::recover(file("a.kymo"));
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace kymo::e2e
