// What happens if a ring is full: wait, drop or overwrite; and if nobody reads it at all.
#include <signal.h>

#include <set>

#include "collect/recover.h"
#include "counts.h"
#include "readback.h"
#include "support.h"
#include "trace/clock.h"

namespace kymo::e2e {
namespace {

using trace::LossCause;
constexpr uint64_t kSmallRing = 64 << 10;

class PolicyTest : public EitherCollector {};
INSTANTIATE_TEST_SUITE_P(, PolicyTest, ::testing::Values(Collector::InProgram, Collector::KymoRecord), collector_name);

// "level 7" is at depth 7: a range is in the file with all ranges around it, or not at all.
void expect_levels_at_their_depth(const Readback& trace) {
  for (const Event& event : trace.ranges) {
    const std::string& name = trace.name_of(event);
    if (!name.starts_with("level ")) continue;
    ASSERT_EQ(event.depth, std::stoi(name.substr(6)));
  }
}

size_t levels(const Readback& trace) {
  size_t count = 0;
  for (const Event& event : trace.ranges) count += trace.name_of(event).starts_with("level ") ? 1 : 0;
  return count;
}

// The stated cost of recording has the waits that are in the trace.
void expect_cost_of_waits(const Readback& trace, const std::string& path) {
  uint64_t ticks = 0, stated = 0;
  for (const Event* wait : trace.ranges_named("waiting for the collector")) ticks += wait->end - wait->start;
  ASSERT_GT(ticks, 0u);
  const trace::Reader reader(path);
  double waited = 0;
  for (const auto& [id, writer] : reader.writers()) {
    for (const auto& [track, cost] : writer.costs) {
      if (cost.blocked_ns == 0) continue;
      stated += cost.blocked_ns;
      waited = trace::clock_map(writer.clocks.at(trace::kHostClock)).to_ns(ticks);
    }
  }
  EXPECT_GT(stated, 0u);
  EXPECT_NEAR(static_cast<double>(stated), waited, 0.05 * waited);
}

TEST_P(PolicyTest, BlockLosesNothingAndShowsTheWait) {
  Counts* counts = map_counts(file("counts").c_str());
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("burst"), file("counts"), "20000", "10"},
                                     {.policy = "block", .ring_bytes = kSmallRing});
  ASSERT_EQ(ending.code, 0) << ending.signal << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(levels(trace), counts->done[0]);
  EXPECT_EQ(trace.points_count("top"), counts->done[1]);
  expect_levels_at_their_depth(trace);
  expect_cost_of_waits(trace, file("a.kymo"));
  EXPECT_EQ(trace.origins.at(0).policy, "block");
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_P(PolicyTest, DropCountsDroppedRecords) {
  Counts* counts = map_counts(file("counts").c_str());
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("burst"), file("counts"), "40000", "10"},
                                     {.policy = "drop", .ring_bytes = kSmallRing});
  ASSERT_EQ(ending.code, 0) << ending.signal << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound(trace));
  EXPECT_GT(trace.lost(LossCause::RingFull), 0u) << "this test wants something dropped";
  EXPECT_EQ(trace.lost(), trace.lost(LossCause::RingFull)) << trace.summary();
  EXPECT_EQ(levels(trace) + trace.points_count("top") + trace.lost(), counts->done[0] + counts->done[1]);
  expect_levels_at_their_depth(trace);
  EXPECT_EQ(trace.count("waiting for the collector"), 0u);
  EXPECT_EQ(trace.origins.at(0).policy, "drop");
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

// More open ranges than a full ring has space for their ends.
TEST_P(PolicyTest, DropKeepsTheNestingOfDeepRanges) {
  Counts* counts = map_counts(file("counts").c_str());
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("burst"), file("counts"), "1500", "300"},
                                     {.policy = "drop", .ring_bytes = kSmallRing});
  ASSERT_EQ(ending.code, 0) << ending.signal << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound(trace));
  EXPECT_GT(trace.lost(), 0u) << "this test wants something dropped";
  EXPECT_EQ(levels(trace) + trace.points_count("top") + trace.lost(), counts->done[0] + counts->done[1])
      << trace.summary();
  expect_levels_at_their_depth(trace);
}

TEST_F(EndToEnd, AStoppedCollectorBlocksTheProgramForOnlyOneSecond) {
  if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
  Counts* counts = map_counts(file("counts").c_str());
  auto process = start_recorded(Collector::KymoRecord, file("a.kymo"), {program("endless"), file("counts")},
                                {.policy = "block", .ring_bytes = kSmallRing});
  const auto both_make = [&](uint64_t more, const std::string& what) {
    const uint64_t plain = counts->done[0], numbered = counts->done[1];
    return wait_until(what, [=] { return counts->done[0] > plain + more && counts->done[1] > numbered + more; });
  };
  ASSERT_TRUE(both_make(1000, "both threads to record"));
  process.signal(SIGSTOP);
  constexpr uint64_t kMoreThanARing = 200000;
  ASSERT_TRUE(both_make(kMoreThanARing, "the program to go on without its collector"));
  process.signal(SIGCONT);
  const uint64_t continued_at = counts->done[1];
  ASSERT_TRUE(both_make(kMoreThanARing, "the program to go on with its collector"));
  counts->stop = 1;
  EXPECT_EQ(process.wait().code, 0);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());

  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound(trace));
  EXPECT_GT(trace.lost(LossCause::CollectorStalled), 0u);
  EXPECT_EQ(trace.lost(), trace.lost(LossCause::CollectorStalled)) << trace.summary();
  EXPECT_EQ(trace.count("plain") + trace.count("numbered") + trace.lost(), counts->done[0] + counts->done[1])
      << trace.summary();
  std::set<uint64_t> numbers;
  for (const Event* event : trace.ranges_named("numbered")) {
    EXPECT_TRUE(numbers.insert(event->number).second) << event->number << " is there twice";
    ASSERT_EQ(event->depth, 1);
  }
  EXPECT_GT(*numbers.rbegin(), continued_at) << "it records again";
  for (const trace::Loss& loss : trace.losses) {
    EXPECT_GT(loss.first, 0u);
    EXPECT_GE(loss.last, loss.first);
  }
}

// ---- Flight recorders ----------------------------------------------------------------------------------------------

class FlightTest : public EndToEnd {
 protected:
  static constexpr uint64_t kCount = 400000;
  static constexpr uint64_t kCertain = 5000;  // of the last turns, which no thread can have overwritten

  Ending fly(const std::string& how) {
    return run({program("flight"), file("a.kymo"), file("dump.kymo"), std::to_string(kCount), how});
  }

  // The last turns up to `end` are there once each, and much less than all turns.
  void expect_last_turns(const Readback& trace, uint64_t end) {
    EXPECT_TRUE(sound(trace));
    std::set<uint64_t> numbers;
    for (const Event* event : trace.ranges_named("turn"))
      EXPECT_TRUE(numbers.insert(event->number).second) << event->number << " is there twice";
    ASSERT_FALSE(numbers.empty()) << trace.summary();
    EXPECT_EQ(*numbers.rbegin(), end - 1);
    for (uint64_t i = end - kCertain; i < end; ++i) ASSERT_TRUE(numbers.contains(i)) << i << " of " << end;
    EXPECT_LT(numbers.size(), kCount / 2) << "a flight recorder of a megabyte does not hold so much";
    EXPECT_EQ(trace.lost(), trace.lost(LossCause::Overwritten)) << trace.summary();
  }
};

TEST_F(FlightTest, KeepsTheLastPartAndDumpsItAtRunTime) {
  const Ending ending = fly("dump");
  ASSERT_EQ(ending.code, 0) << ending.signal << ending.err;
  expect_last_turns(read_back(file("dump.kymo")), kCount / 2);
  expect_last_turns(read_back(file("a.kymo")), kCount);
  EXPECT_LT(contents_of(file("a.kymo")).size(), 2u << 20);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_F(FlightTest, DumpsOnASignal) {
  const Ending ending = fly("signal");
  ASSERT_EQ(ending.code, 0) << ending.signal << ending.err;
  expect_last_turns(read_back(file("dump.kymo")), kCount / 2);
  expect_last_turns(read_back(file("a.kymo")), kCount);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_F(FlightTest, SurvivesAKilledProcess) {
  EXPECT_EQ(fly("kill").signal, SIGKILL);
  collect::recover(file("a.kymo"));
  expect_last_turns(read_back(file("a.kymo")), kCount);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_F(FlightTest, KymoRecordDumpsWhileTheProgramRuns) {
  if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
  Counts* counts = map_counts(file("counts").c_str());
  auto process = start({program("kymo"), "record", "--quiet", "--flight", "1MB", "-o", file("a.kymo"), "--",
                        program("endless"), file("counts")});
  ASSERT_TRUE(wait_until("much more than it holds", [&] { return counts->done[1] > 1000000; }));
  const uint64_t asked_at = counts->done[1];
  const auto last_number = [&](const std::string& name = "a.kymo") {
    const Readback trace = read_back(file(name));
    const auto numbered = trace.ranges_named("numbered");
    return numbered.empty() ? 0 : numbered.back()->number;
  };
  process.signal(SIGUSR2);
  ASSERT_TRUE(wait_until("the dump", [&] { return last_number() >= asked_at - 1; }));
  EXPECT_TRUE(sound(read_back(file("a.kymo"))));
  EXPECT_FALSE(process.ended());
  counts->stop = 1;
  EXPECT_EQ(process.wait().code, 0);
  // The requested dump is kept. The dump at the end goes into another file next to it.
  EXPECT_GE(last_number(), asked_at - 1);
  EXPECT_LT(last_number(), counts->done[1] - 1);
  EXPECT_TRUE(sound(read_back(file("a.end.kymo"))));
  EXPECT_EQ(last_number("a.end.kymo"), counts->done[1] - 1);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_P(PolicyTest, OverwriteKeepsTheLastPartAndKnowsItsThread) {
  Counts* counts = map_counts(file("counts").c_str());
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("burst"), file("counts"), "40000", "10"},
                                     {.policy = "overwrite", .ring_bytes = kSmallRing});
  ASSERT_EQ(ending.code, 0) << ending.signal << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound(trace));
  ASSERT_FALSE(trace.ranges_named("level 0").empty()) << trace.summary();
  EXPECT_EQ(trace.ranges_named("level 0").back()->number, 39999u);
  EXPECT_TRUE(levels(trace) == counts->done[0] || trace.lost(LossCause::Overwritten) > 0) << trace.summary();
  ASSERT_EQ(trace.tracks.size(), 1u);
  EXPECT_NE(trace.tracks[0].track.tid, 0u);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace kymo::e2e
