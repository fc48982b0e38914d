// Sessions of this process: a file contains what was recorded between the start and the end of its session, and nothing
// else.
#include "kymo/session.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "collect/own_session.h"
#include "kymo/annotate.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo {
namespace {

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/kymo-session-test-XXXXXX";
    folder = mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string file(const std::string& name = "a.kymo") const { return folder + "/" + name; }

  // How often each name is in a file, for ranges and marks.
  static std::map<std::string, uint64_t> names_in(const std::string& path) {
    const trace::Reader reader(path);
    EXPECT_TRUE(reader.problems().empty());
    std::map<std::string, uint64_t> counts;
    trace::EventBatch batch;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      reader.read(chunk, batch);
      const auto& classes = reader.writers().at(chunk.writer).classes;
      const auto count = [&](const std::vector<uint32_t>& ids, const trace::Values& values) {
        trace::ValueCursor cursor(values);
        for (const uint32_t id : ids) {
          const auto found = classes.find(id);
          const trace::EventClass* event_class = found != classes.end() ? &found->second : nullptr;
          ++counts[trace::full_name(event_class, cursor.next(event_class))];
        }
      };
      count(batch.ranges.class_id, batch.ranges.values);
      count(batch.points.class_id, batch.points.values);
    }
    return counts;
  }
  static uint64_t losses_in(const std::string& path) {
    uint64_t sum = 0;
    const trace::Reader reader(path);
    for (const auto& [id, writer] : reader.writers())
      for (const trace::Loss& loss : writer.losses) sum += loss.count;
    return sum;
  }

  std::string folder;
};

TEST_F(SessionTest, ContainsWhatWasRecordedBetweenItsStartAndEnd) {
  mark("before");
  {
    Session session(file());
    EXPECT_TRUE(is_recording());
    for (int i = 0; i < 3; ++i) {
      KYMO_RANGE("step {}", i);
      mark("inside");
    }
    session.close();
    EXPECT_FALSE(is_recording());
  }
  mark("after");
  const auto names = names_in(file());
  EXPECT_EQ(names.at("step 2"), 1u);
  EXPECT_EQ(names.at("inside"), 3u);
  EXPECT_FALSE(names.contains("before"));
  EXPECT_FALSE(names.contains("after"));
}

TEST_F(SessionTest, MayBeStartedAndEndedManyTimes) {
  for (int round = 0; round < 20; ++round) {
    range_push("open across");
    Session session(file());
    range_pop();
    range_push("round");
    range_pop();
    session.close();
    const auto names = names_in(file());
    EXPECT_EQ(names.at("round"), 1u);
    EXPECT_FALSE(names.contains("open across")) << "it began before the recording";
    EXPECT_EQ(losses_in(file()), 0u);
  }
}

// A process may know thousands of names, and a forked child inherits them all.
TEST_F(SessionTest, OnlyNamesThatAreUsedAreInTheFile) {
  {
    Session first(file());
    for (int i = 0; i < 500; ++i) mark("name " + std::to_string(i));
  }
  Session second(file("b.kymo"));
  mark("name 7");
  second.close();
  const trace::Reader reader(file("b.kymo"));
  std::vector<std::string> names;
  for (const auto& [id, event_class] : reader.writers().begin()->second.classes) names.push_back(event_class.name);
  EXPECT_EQ(names, (std::vector<std::string>{"name 7", "waiting for the collector"}));
}

TEST_F(SessionTest, CloseReportsThatTheFileWasDeletedOrReplaced) {
  for (const bool replaced : {false, true}) {
    Session session(file());
    mark("m");
    std::filesystem::remove(file());
    if (replaced) std::ofstream(file()) << "something else";
    try {
      session.close();
      ADD_FAILURE() << "it did not throw";
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), "the trace was moved, replaced or deleted while it was written: " + file());
    }
    session.close();
    std::filesystem::remove(file());
  }
  Session next(file());  // the error does not disturb the next session
  mark("m");
  next.close();
  EXPECT_EQ(names_in(file()).at("m"), 1u);
}

TEST_F(SessionTest, ASecondSessionIsRefusedAndTheFirstContinues) {
  Session session(file());
  EXPECT_THROW(Session(file("b.kymo")), Error);
  mark("still here");
  session.close();
  EXPECT_EQ(names_in(file()).at("still here"), 1u);
}

TEST_F(SessionTest, AnUnwritablePathIsReportedWithTheReason) {
  try {
    Session session("/no/such/folder/a.kymo");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/no/such/folder/a.kymo"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("No such file"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(is_recording());
  Session works(file());
}

TEST_F(SessionTest, OptionsOutOfRangeAreRefused) {
  EXPECT_THROW(Session(file(), {.ring_bytes = 1000}), InvalidArgument);
  EXPECT_THROW(Session(file(), {.flight_seconds = -1}), InvalidArgument);
}

TEST_F(SessionTest, ManyThreadsLoseNothing) {
  constexpr int kThreads = 4, kRanges = 50'000;
  Session session(file());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < kRanges; ++i) {
        KYMO_RANGE("outer");
        KYMO_RANGE("inner {}", i % 2);
      }
    });
  for (std::thread& thread : threads) thread.join();
  session.close();
  const auto names = names_in(file());
  EXPECT_EQ(names.at("outer"), uint64_t{kThreads} * kRanges);
  EXPECT_EQ(names.at("inner 1"), uint64_t{kThreads} * kRanges / 2);
  EXPECT_EQ(losses_in(file()), 0u);
}

TEST_F(SessionTest, StartsAndStopsWhileThreadsRecord) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!stop) {
        range_push("a");
        { KYMO_RANGE("b"); }
        range_pop();
        std::this_thread::yield();
      }
    });
  for (int round = 0; round < 10; ++round) {
    Session session(file());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    session.close();
    EXPECT_EQ(losses_in(file()), 0u);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SessionTest, DropsAreCountedExactly) {
  constexpr uint64_t kRanges = 300'000;
  Session session(file(), {.policy = Policy::Drop, .ring_bytes = 64 << 10});
  std::thread([] {
    for (uint64_t i = 0; i < kRanges; ++i) {
      KYMO_RANGE("r");
    }
  }).join();
  session.close();
  EXPECT_EQ(names_in(file())["r"] + losses_in(file()), kRanges);
}

TEST_F(SessionTest, UnmatchedPopsAndUnknownHandlesAreInTheLedger) {
  Session session(file());
  EXPECT_EQ(range_pop(), -1);
  range_end(RangeId{uint64_t{1} << 40});
  const RangeId id = range_start("once");
  range_end(id);
  range_end(id);
  session.close();
  EXPECT_EQ(losses_in(file()), 3u);
}

TEST_F(SessionTest, AFlightRecorderKeepsTheLastPartAndDumpsOnDemand) {
  Session session(file(), {.flight_bytes = 1 << 20});
  mark("long ago");
  for (int i = 0; i < 20; ++i) mark("recent {}", i);
  dump(file("dump.kymo"));
  EXPECT_EQ(names_in(file("dump.kymo")).at("recent 19"), 1u);
  mark("last");
  session.close();
  EXPECT_EQ(names_in(file()).at("last"), 1u);
  EXPECT_THROW(dump(file("late.kymo")), Error);
}

TEST_F(SessionTest, AFlightRecorderKeepsTheTimeBeforeTheLastEvent) {
  Session session(file(), {.flight_seconds = 0.01});
  mark("last");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // nothing happens
  session.close();
  EXPECT_EQ(names_in(file()), (std::map<std::string, uint64_t>{{"last", 1}}));
}

TEST_F(SessionTest, AFlightRecorderKeepsOnlyItsTimeOfALongRange) {
  Session session(file(), {.flight_seconds = 0.1});
  const RangeId id = range_start("long");
  mark("before");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  { const Range whole{"whole"}; }
  range_end(id);
  dump(file("dump.kymo"));
  session.close();
  const auto names = names_in(file("dump.kymo"));
  EXPECT_EQ(names.count("before"), 0u);
  EXPECT_EQ(names.at("whole"), 1u);
  const trace::Reader reader(file("dump.kymo"));
  const trace::WriterInfo& writer = reader.writers().begin()->second;
  ASSERT_TRUE(writer.window);
  for (const trace::EventChunk& chunk : reader.event_chunks())
    EXPECT_GE(trace::TrackClocks(writer).find(chunk.track)->to_monotonic_ns(chunk.first) + 1,
              static_cast<int64_t>(writer.window->from_ns));
}

TEST_F(SessionTest, AWindowStatedDuringTheSessionLimitsTheTrace) {
  Session session(file());
  mark("before");
  const uint64_t from = base::monotonic_ns();
  collect::state_window({from, 0}, 1'500'000);
  mark("inside");
  const uint64_t to = base::monotonic_ns();
  mark("after");
  collect::state_window({from, to}, 0);
  session.close();
  const auto names = names_in(file());
  EXPECT_EQ(names.at("inside"), 1u);
  EXPECT_EQ(names.size(), 1u);
  const trace::Reader reader(file());
  const trace::WriterInfo& writer = reader.writers().begin()->second;
  EXPECT_EQ(writer.window, (trace::Window{from, to}));
  ASSERT_EQ(writer.losses.size(), 1u) << "that it began late is said once";
  EXPECT_EQ(writer.losses[0].detail, "recording began 1.500 ms after the start that was asked for");
}

TEST_F(SessionTest, AWindowStatedDuringAFlightCopyIsInTheCopy) {
  SessionOptions options;
  options.flight_seconds = 30;
  Session session(file(), options);
  std::ofstream(file("copy.kymo")).flush();
  collect::begin_flight_copy(file("copy.kymo"));
  mark("before");
  const uint64_t from = base::monotonic_ns();
  mark("inside");
  collect::state_window({from, 0}, 0);
  collect::end_flight_copy();
  session.close();
  EXPECT_EQ(names_in(file("copy.kymo")), (std::map<std::string, uint64_t>{{"inside", 1}}));
  EXPECT_EQ(names_in(file()).at("before"), 1u) << "the flight recorder's own trace has another window";
}

TEST_F(SessionTest, LongAndManyNamesAreStoredInline) {
  Session session(file());
  for (int i = 0; i < 40'000; ++i) mark("name " + std::to_string(i));
  mark(std::string(100'000, 'x'));
  session.close();
  auto names = names_in(file());
  names.erase("waiting for the collector");
  EXPECT_EQ(names.at("name 0"), 1u);
  EXPECT_EQ(names.at("name 39999"), 1u);
  EXPECT_EQ(names.size(), 40'001u);
  EXPECT_EQ(losses_in(file()), 1u) << "the long one was cut";
}

}  // namespace
}  // namespace kymo
