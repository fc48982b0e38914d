#include "trace/untimed.h"

#include <gtest/gtest.h>

#include "trace/test_support.h"
#include "trace/writer.h"

namespace kymo::trace {
namespace {

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

}  // namespace
}  // namespace kymo::trace
