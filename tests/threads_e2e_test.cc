// Threads that start and end, signal handlers, the end of threads and programs, and several copies of the library.
#include <map>
#include <set>

#include "counts.h"
#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

class ThreadsTest : public EitherCollector {};
INSTANTIATE_TEST_SUITE_P(, ThreadsTest, ::testing::Values(Collector::InProgram, Collector::KymoRecord), collector_name);

TEST_P(ThreadsTest, TenThousandShortThreadsAreRecorded) {
  constexpr size_t kThreads = 10000;
  const Ending ending =
      run_recorded(GetParam(), file("a.kymo"), {program("threads"), "many", std::to_string(kThreads), file("counts")});
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.tracks.size(), kThreads);
  EXPECT_EQ(trace.count("short"), kThreads);
  EXPECT_EQ(trace.count("part"), 2 * kThreads);
  EXPECT_EQ(trace.points_count("half"), kThreads);
  EXPECT_EQ(trace.open_count("left open"), kThreads) << "a range that a thread leaves open is nobody else's";
  for (const Event* event : trace.ranges_named("short")) ASSERT_EQ(event->depth, 0);
  for (const Event* event : trace.ranges_named("part")) ASSERT_EQ(event->depth, 1);
  std::map<uint32_t, size_t> ranges;
  for (const Event& event : trace.ranges) ++ranges[event.track];
  for (const auto& [track, count] : ranges) ASSERT_EQ(count, 3u) << "of thread " << track;
}

// A thread that gets no slot is counted: each of its ranges and marks once.
TEST_P(ThreadsTest, MoreThreadsThanSlotsAreCounted) {
  constexpr size_t kThreads = 4200;  // there are 4096 slots
  const Ending ending =
      run_recorded(GetParam(), file("a.kymo"), {program("threads"), "at-once", std::to_string(kThreads)},
                   {.policy = "drop", .ring_bytes = 64 << 10});
  if (ending.code == 77) GTEST_SKIP() << "not so many threads are to be had here";
  ASSERT_EQ(ending.code, 0) << ending.signal << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound(trace));
  EXPECT_EQ(trace.lost(), trace.lost(trace::LossCause::NoSlot)) << trace.losses.size();
  EXPECT_GT(trace.lost(), 0u);
  EXPECT_EQ(trace.ranges.size() + trace.points.size() + trace.lost(), 4 * kThreads);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_F(EndToEnd, ThreadsStartAndEndWhileSessionsStartAndStop) {
  constexpr int kSessions = 30;
  Counts* counts = map_counts(file("counts").c_str());
  const Ending ending = run({program("threads"), "toggling", std::to_string(kSessions), folder(), file("counts")});
  ASSERT_EQ(ending.code, 0) << ending.signal << ending.err;
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
  size_t recorded = 0;
  for (int i = 0; i < kSessions; ++i) {
    SCOPED_TRACE(i);
    const Readback trace = read_back(file(std::to_string(i) + ".kymo"));
    EXPECT_TRUE(sound_and_complete(trace));
    // At least the threads that started and ended inside the session.
    EXPECT_GE(trace.count("short"), 20u) << trace.summary();
    EXPECT_GE(trace.count("part"), 2 * trace.count("short"));
    for (const TrackInfo& info : trace.tracks) EXPECT_NE(info.track.tid, 0u);
    recorded += trace.count("short");
  }
  EXPECT_LE(recorded, counts->done[0]);
}

// ---- Signal handlers -----------------------------------------------------------------------------------------------

class SignalsTest : public EitherCollector {};
INSTANTIATE_TEST_SUITE_P(, SignalsTest, ::testing::Values(Collector::InProgram, Collector::KymoRecord), collector_name);

// `lost_by_handlers`: the number of records that handlers lost, because their thread waited for the collector and its
// side buffer was full.
void expect_loop_and_handler(const Readback& trace, const Counts& counts, uint64_t lost_by_handlers) {
  EXPECT_TRUE(sound(trace));
  EXPECT_GT(counts.done[0], 100u) << "this test wants to be interrupted";
  EXPECT_EQ(trace.lost(), lost_by_handlers) << trace.summary();
  const size_t handled = trace.count("in handler") + trace.count("deeper") + trace.points_count("tick");
  EXPECT_EQ(handled + lost_by_handlers, 3 * counts.done[0]) << trace.summary();
  EXPECT_EQ(trace.count("outer"), counts.done[1]);
  EXPECT_EQ(trace.count("inner"), counts.done[1]);
  EXPECT_TRUE(numbered_in_order(trace, "inner"));
  for (const Event* event : trace.ranges_named("outer")) ASSERT_EQ(event->depth, 0);
  for (const Event* event : trace.ranges_named("inner")) ASSERT_EQ(event->depth, 1);
}

// A ring that holds everything: no thread ever waits.
TEST_P(SignalsTest, AHandlerThatInterruptsRecordingRecordsToo) {
  Counts* counts = map_counts(file("counts").c_str());
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("signals"), "loop", file("counts"), "300000"},
                                     {.policy = "block", .ring_bytes = 64 << 20});
  ASSERT_EQ(ending.code, 0) << ending.signal << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  expect_loop_and_handler(trace, *counts, trace.lost(trace::LossCause::SignalBufferFull));
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

// The smallest ring: the handler interrupts a waiting thread again and again.
TEST_P(SignalsTest, AHandlerThatInterruptsAWaitingThreadRecordsToo) {
  Counts* counts = map_counts(file("counts").c_str());
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("signals"), "loop", file("counts"), "100000"},
                                     {.policy = "block", .ring_bytes = 64 << 10});
  ASSERT_EQ(ending.code, 0) << ending.signal << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  expect_loop_and_handler(trace, *counts, trace.lost(trace::LossCause::SignalBufferFull));
  EXPECT_GT(trace.count("waiting for the collector"), 0u);
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

TEST_P(SignalsTest, TheFirstRecordOfAThreadMayBeInAHandler) {
  Counts* counts = map_counts(file("counts").c_str());
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("signals"), "first", file("counts")});
  ASSERT_EQ(ending.code, 0) << "signal " << ending.signal << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound(trace));
  EXPECT_EQ(trace.points_count("first") + trace.lost(trace::LossCause::NoSlot), counts->done[0]) << trace.summary();
  EXPECT_GT(trace.points_count("first"), 0u);
}

// ---- The end of threads and programs -------------------------------------------------------------------------------

class LateTest : public EitherCollector {};
INSTANTIATE_TEST_SUITE_P(, LateTest, ::testing::Values(Collector::InProgram, Collector::KymoRecord), collector_name);

TEST_P(LateTest, DestructorsOfThreadsAndOfTheProgramMayRecord) {
  constexpr size_t kThreads = 50;
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("late")});
  EXPECT_EQ(ending.code, 0) << ending.signal << ending.err;
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("thread"), kThreads / 2);
  EXPECT_EQ(trace.count("older key"), kThreads);
  EXPECT_EQ(trace.count("newer key"), kThreads);
  EXPECT_EQ(trace.count("thread-local destructor"), kThreads + 1) << "main has one too";
  EXPECT_EQ(trace.count("static destructor"), 1u);
  EXPECT_EQ(trace.count("atexit"), 1u);
  EXPECT_EQ(trace.count("within"), 3 * kThreads + 3);
  EXPECT_EQ(trace.points_count("last words"), 3 * kThreads + 3);
  for (const Event* event : trace.ranges_named("within")) ASSERT_EQ(event->depth, 1);
}

// ---- Several copies of the library in one process ------------------------------------------------------------------

class PluginsTest : public EndToEnd,
                    public ::testing::WithParamInterface<std::tuple<Collector, std::pair<const char*, const char*>>> {
 protected:
  void SetUp() override {
    if (std::get<0>(GetParam()) == Collector::KymoRecord && !have_kymo())
      GTEST_SKIP() << "the kymo command is not built";
  }
};

TEST_P(PluginsTest, AgreeOnDepthAndRecordIntoOneSession) {
  constexpr size_t kCount = 500;
  const auto& [collector, plugins] = GetParam();
  const Ending ending =
      run_recorded(collector, file("a.kymo"),
                   {program("plugin_host"), program(plugins.first), program(plugins.second), std::to_string(kCount)});
  ASSERT_EQ(ending.code, 0) << ending.signal << ending.err;
  EXPECT_EQ(ending.err, "") << "the second copy has nothing to say";
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.origins.size(), 1u);
  EXPECT_EQ(trace.tracks.size(), 4u);
  constexpr size_t kMade = 4 * kCount;  // on four threads
  EXPECT_EQ(trace.count("one"), kMade);
  EXPECT_EQ(trace.count("two in one"), kMade);
  EXPECT_EQ(trace.count("one again"), kMade);
  EXPECT_EQ(trace.count("a site in a plug-in"), 2 * kMade);
  EXPECT_EQ(trace.count("of a plug-in that is gone"), 1u);
  EXPECT_EQ(trace.count("two alone"), kCount);
  for (const Event* event : trace.ranges_named("one")) ASSERT_EQ(event->depth, 0);
  for (const Event* event : trace.ranges_named("two in one")) ASSERT_EQ(event->depth, 1);
  for (const Event* event : trace.ranges_named("one again")) ASSERT_EQ(event->depth, 2);
  for (const Event* event : trace.ranges_named("two alone")) ASSERT_EQ(event->depth, 0);
}

std::string plugins_name(const ::testing::TestParamInfo<PluginsTest::ParamType>& info) {
  const auto kind = [](const std::string& name) { return name == "plugin_shared.so" ? "Shared" : "Static"; };
  const auto& [collector, plugins] = info.param;
  return to_string(collector) + kind(plugins.first) + kind(plugins.second);
}
INSTANTIATE_TEST_SUITE_P(, PluginsTest,
                         ::testing::Combine(::testing::Values(Collector::InProgram, Collector::KymoRecord),
                                            ::testing::Values(std::pair("plugin_one.so", "plugin_two.so"),
                                                              std::pair("plugin_one.so", "plugin_shared.so"),
                                                              std::pair("plugin_shared.so", "plugin_two.so"))),
                         plugins_name);

TEST_F(EndToEnd, UnrecordedPluginsStillAgreeOnDepth) {
  const Ending ending = run({program("plugin_host"), program("plugin_one.so"), program("plugin_two.so"), "100"});
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace kymo::e2e
