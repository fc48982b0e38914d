#include "base/clock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "trace/clock.h"
#include "trace/reader.h"
#include "trace/test_recorder.h"
#include "trace/test_support.h"
#include "trace/writer.h"

namespace kymo::trace {
namespace {

using testing::kMonotonicZero;
using testing::TemporaryFolder;
using testing::TestRecorder;

class LastAliveTest : public ::testing::Test {
 protected:
  TestRecorder make() {
    TestRecorder recorder(path);
    recorder.add_class(1, "load");
    recorder.add_thread(1, 10, "main");
    recorder.add_thread(2, 11, "worker");
    recorder.complete(1, 100, 500, 1);
    recorder.complete(2, 100, 300, 1);
    return recorder;
  }
  TemporaryFolder folder;
  std::string path = folder / "t.kymo";
};

TEST_F(LastAliveTest, LastEventOfAnyTrackCounts) {
  TestRecorder recorder = make();
  recorder.close();
  EXPECT_EQ(last_alive_ns(Reader(path)).at(recorder.id()), int64_t{kMonotonicZero + 500});
}

TEST_F(LastAliveTest, EndingIsLaterThanTheLastEvent) {
  TestRecorder recorder = make();
  recorder.file().ending(recorder.id(), {900});
  recorder.close();
  EXPECT_EQ(last_alive_ns(Reader(path)).at(recorder.id()), int64_t{kMonotonicZero + 900});
}

TEST_F(LastAliveTest, ProcessThatStillRecordsIsAliveNow) {
  TestRecorder recorder = make();
  recorder.close();
  Reader reader(path);
  reader.set_being_written(true);
  const auto now = static_cast<int64_t>(base::monotonic_ns());
  EXPECT_GE(last_alive_ns(reader).at(recorder.id()), now);
}

using testing::loop_batch;
using testing::TemporaryPath;

// Two chunks of 100 events on track 1. `clock` is in the trace if it has an id.
class UntimedTest : public ::testing::Test {
 protected:
  void write(const ClockDomain& clock, bool with_track = true) {
    Writer writer(path, Writer::Mode::Create);
    Origin origin;
    origin.pid = 17;
    writer.origin(id, origin);
    if (clock.id != 0) writer.clock(id, clock);
    if (with_track) writer.tracks(id, std::vector{Track{1, TrackKind::Thread, 1, 42, "main", "", 0, 0}});
    for (uint64_t i = 0; i < 2; ++i) writer.events(id, loop_batch(100, 1000 + 1000 * i));
  }
  std::string problem() const {
    const Reader reader(path);
    EXPECT_EQ(reader.event_chunks().size(), 2u) << "info can still count them";
    return reader.problems().size() == 1 ? reader.problems()[0].what : std::to_string(reader.problems().size());
  }

  const WriterId id = testing::writer_id(1);
  TemporaryPath path;
};

TEST_F(UntimedTest, EventsWithAClockAreNoProblem) {
  write({1, ClockKind::Monotonic, "boot", 1, 1, 64, {{1, 2, 3, 4}}});
  EXPECT_EQ(problem(), "0");
}

TEST_F(UntimedTest, EventsWithoutAClockAreOneProblem) {
  write({});
  EXPECT_EQ(problem(), "200 events of process 17 without a time: the clock is missing in the trace");
}

TEST_F(UntimedTest, EventsOfATrackWithoutADescriptionAreOneProblem) {
  write({1, ClockKind::Monotonic, "boot", 1, 1, 64, {{1, 2, 3, 4}}}, false);
  EXPECT_EQ(problem(),
            "200 events of process 17 without a time: the description of the thread or queue is missing in the trace");
}

TEST_F(UntimedTest, EventsOfAClockWithAnUnknownRateAreOneProblem) {
  write({1, ClockKind::Tsc, "boot", 0, 1, 64, {{1, 2, 3, 4}}});
  EXPECT_EQ(problem(),
            "200 events of process 17 without a time: a second reading of the clock is missing in the trace");
}

TEST_F(UntimedTest, ARecorderThatContinuesTheTraceSeesNoProblem) {
  write({});
  EXPECT_TRUE(Reader(path, path, Extent::Recorded).problems().empty());
}

TEST(MeasuredClockTest, IsAddedToATraceAndReadAgain) {
  const std::string path = std::filesystem::temp_directory_path() / ("kymo-clock-" + std::to_string(::getpid()));
  Origin origin;
  origin.pid = 7;
  origin.host = "a";
  origin.metadata = {{"job", "12"}};
  {
    Writer writer(path, Writer::Mode::Create);
    writer.origin(WriterId{}, origin);
    writer.close();
  }
  EXPECT_FALSE(measured_clock(Reader(path).writers().begin()->second.origin));
  add_measured_clock(path, {"here", -3'600'000'000'000, 42});
  const Reader reader(path);
  ASSERT_EQ(reader.writers().size(), 1u);
  const Origin& found = reader.writers().begin()->second.origin;
  EXPECT_EQ(found.pid, 7u);
  EXPECT_EQ(found.metadata.front().second, "12") << "what was there stays";
  const auto clock = measured_clock(found);
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->reference, "here");
  EXPECT_EQ(clock->offset_ns, -3'600'000'000'000);
  EXPECT_EQ(clock->error_ns, 42u);
  std::filesystem::remove(path);
}

TEST(MeasuredClockTest, ADamagedOneIsNone) {
  Origin origin;
  origin.metadata = {{"clock.reference", "x"}, {"clock.offset_ns", "12 h"}, {"clock.error_ns", "1"}};
  EXPECT_FALSE(measured_clock(origin));
}

TEST(MeasuredClockTest, ErrorsOfSeveralMergesAddUp) {
  Origin origin;
  origin.metadata = {{"job", "12"}};
  EXPECT_EQ(alignment_error(origin), 0u);
  add_alignment_error(origin, 40);
  add_alignment_error(origin, 2);
  EXPECT_EQ(alignment_error(origin), 42u);
  EXPECT_EQ(origin.metadata.size(), 2u);
  origin.metadata.back().second = "much";
  EXPECT_EQ(alignment_error(origin), 0u);
}

}  // namespace
}  // namespace kymo::trace
