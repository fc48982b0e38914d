#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "kymo/error.h"
#include "trace/clock.h"
#include "trace/reader.h"
#include "trace/test_recorder.h"

namespace kymo::trace {
namespace {

using testing::kMonotonicZero;
using testing::TemporaryFolder;
using testing::TestRecorder;

struct Seen {
  std::string name;
  uint64_t start, end;
  bool operator==(const Seen&) const = default;
  auto operator<=>(const Seen&) const = default;
};

// All ranges or points that a reader shows, sorted by name and time. The end of a point is its start.
std::vector<Seen> seen_in(const Reader& reader, bool points) {
  EXPECT_TRUE(reader.problems().empty());
  std::vector<Seen> seen;
  EventBatch batch;
  std::vector<OpenRange> open;
  for (const EventChunk& chunk : reader.event_chunks()) {
    reader.read(chunk, batch);
    EXPECT_EQ(chunk.range_count, batch.ranges.size());
    EXPECT_EQ(chunk.point_count, batch.points.size());
    const auto& classes = reader.writers().at(chunk.writer).classes;
    const auto name = [&](ValueCursor& cursor, uint32_t id) {
      const auto found = classes.find(id);
      const EventClass* event_class = found != classes.end() ? &found->second : nullptr;
      return full_name(event_class, cursor.next(event_class));
    };
    ValueCursor values(points ? batch.points.values : batch.ranges.values);
    if (points) {
      for (size_t i = 0; i < batch.points.size(); ++i)
        seen.push_back({name(values, batch.points.class_id[i]), batch.points.time[i], batch.points.time[i]});
    } else {
      EXPECT_TRUE(std::is_sorted(batch.ranges.end.begin(), batch.ranges.end.end()));
      for (size_t i = 0; i < batch.ranges.size(); ++i)
        seen.push_back({name(values, batch.ranges.class_id[i]), batch.ranges.end[i] - batch.ranges.duration[i],
                        batch.ranges.end[i]});
      EXPECT_EQ(batch.opening, open) << "a chunk begins where the one before it ended";
      open = batch.closing;
    }
  }
  EXPECT_TRUE(open.empty()) << "nothing is open after the window";
  std::sort(seen.begin(), seen.end());
  return seen;
}

class WindowTest : public ::testing::Test {
 protected:
  // Adds this window to the trace and opens the trace. Times are nanoseconds after kMonotonicZero, like ticks.
  Reader through(uint64_t from, uint64_t to) {
    state({kMonotonicZero + from, kMonotonicZero + to});
    return Reader(path);
  }
  void state(const Window& window) {
    Writer writer(path, Writer::Mode::Append);
    writer.window(recorder.id(), window);
    writer.close();
  }
  static std::vector<Seen> ranges(const Reader& reader) { return seen_in(reader, false); }
  static std::vector<Seen> points(const Reader& reader) { return seen_in(reader, true); }
  static uint64_t events(const Reader& reader) {
    uint64_t sum = 0;
    for (const EventChunk& chunk : reader.event_chunks()) sum += chunk.range_count + chunk.point_count;
    return sum;
  }

  TemporaryFolder folder;
  std::string path = folder / "whole.kymo";
  TestRecorder recorder{path};
};

TEST_F(WindowTest, RangesAreCutAtBothEdgesAndDroppedOutside) {
  recorder.add_class(1, "step {}", "", {{"", FieldType::Int}});
  recorder.add_thread(1, 10, "main");
  for (int64_t i = 0; i < 10; ++i) {
    recorder.begin(1, static_cast<uint64_t>(100 * i), 1, {i});
    recorder.end(1, static_cast<uint64_t>(100 * i + 90));
  }
  recorder.close();
  const Reader reader = through(250, 640);
  EXPECT_EQ(ranges(reader), (std::vector<Seen>{{"step 2", 250, 290},
                                               {"step 3", 300, 390},
                                               {"step 4", 400, 490},
                                               {"step 5", 500, 590},
                                               {"step 6", 600, 640}}));
  EXPECT_EQ(events(reader), 5u);
  EXPECT_EQ(reader.event_chunks().front().first, 250u);
  EXPECT_EQ(reader.event_chunks().back().last, 640u);
}

TEST_F(WindowTest, RangeAroundTheWindowIsShownEvenIfItsThreadRecordedNothingInside) {
  recorder.add_class(1, "epoch");
  recorder.add_class(2, "early");
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 10, 1);
  recorder.begin(1, 20, 2);
  recorder.end(1, 30);
  recorder.cut(1);
  recorder.end(1, 10'000);
  recorder.close();
  EXPECT_EQ(ranges(through(1000, 2000)), (std::vector<Seen>{{"epoch", 1000, 2000}}));
}

TEST_F(WindowTest, TimesOnAndOffTheProcessorsAreCutAtBothEdges) {
  recorder.add_class(1, "off CPU", "cpu", {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}});
  recorder.add_class(2, "on CPU", "cpu", {{"ns", FieldType::UInt}});
  recorder.add_thread(1, 10, "main");
  const auto off = [&](uint64_t time, int64_t ns) {
    recorder.point(1, time, PointKind::Sample, 1, 0, {ns, int64_t{0}});
  };
  // Runs, sleeps from 100 to 400, runs, sleeps from 500 to 900, runs until 1000.
  off(100, 300);
  recorder.point(1, 500, PointKind::Sample, 2, 0, {int64_t{200}});
  recorder.cut(1);
  off(500, 400);
  recorder.point(1, 1000, PointKind::Sample, 2, 0, {int64_t{100}});
  recorder.close();
  using Times = std::vector<std::tuple<char, uint64_t, uint64_t>>;  // on or off, time, length
  const auto times = [](const Reader& reader) {
    Times all;
    EventBatch batch;
    for (const EventChunk& chunk : reader.event_chunks()) {
      reader.read(chunk, batch);
      const auto& classes = reader.writers().at(chunk.writer).classes;
      ValueCursor values(batch.points.values);
      for (size_t i = 0; i < batch.points.size(); ++i) {
        const EventClass& event_class = classes.at(batch.points.class_id[i]);
        all.emplace_back(event_class.name[1], batch.points.time[i], values.next(&event_class)[0].bits);
      }
    }
    return all;
  };
  EXPECT_EQ(times(through(0, 2000)), (Times{{'f', 100, 300}, {'n', 500, 200}, {'f', 500, 400}, {'n', 1000, 100}}));
  EXPECT_EQ(times(through(50, 200)), (Times{{'f', 100, 100}, {'n', 200, 50}}));
  EXPECT_EQ(times(through(200, 300)), (Times{{'f', 200, 100}, {'n', 300, 0}}));
  EXPECT_EQ(times(through(420, 450)), (Times{{'n', 450, 30}}));
  EXPECT_EQ(times(through(450, 950)), (Times{{'n', 500, 50}, {'f', 500, 400}, {'n', 950, 50}}));
  EXPECT_EQ(times(through(600, 700)), (Times{{'f', 600, 100}, {'n', 700, 0}}));
}

TEST_F(WindowTest, RangeThatNeverEndsIsCutAtTheEndOfTheWindow) {
  recorder.add_class(1, "serve {}", "", {{"", FieldType::String}});
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 10, 1, {std::string("forever")});
  recorder.cut(1);
  recorder.close();
  EXPECT_EQ(ranges(through(1000, 2000)), (std::vector<Seen>{{"serve forever", 1000, 2000}}));
}

TEST_F(WindowTest, RandomNestingOverManyChunksEqualsCuttingEachRange) {
  std::mt19937 random(7);
  recorder.close();
  for (int round = 0; round < 30; ++round) {
    TestRecorder many(path);
    many.add_class(1, "r {}", "", {{"", FieldType::Int}});
    many.add_thread(1, 10, "main");
    std::vector<std::pair<int64_t, uint64_t>> open;
    std::vector<Seen> all;
    uint64_t now = 0;
    for (int64_t i = 0; i < 400; ++i) {
      now += 1 + random() % 20;
      if (open.empty() || random() % 2 == 0) {
        many.begin(1, now, 1, {i});
        open.emplace_back(i, now);
      } else {
        many.end(1, now);
        all.push_back({"r " + std::to_string(open.back().first), open.back().second, now});
        open.pop_back();
      }
      if (random() % 40 == 0) many.cut(1);
    }
    for (const auto& [number, start] : open) all.push_back({"r " + std::to_string(number), start, ~uint64_t{0}});
    many.close();
    const uint64_t from = random() % now, to = from + random() % (now - from + 100);
    std::vector<Seen> expected;
    for (Seen range : all) {
      if (from == to || range.start >= to || range.end < from || (range.end == from && range.start < from)) continue;
      expected.push_back({range.name, std::max(range.start, from), std::min(range.end, to)});
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(ranges(through(from, to)), expected) << "round " << round << " from " << from << " to " << to;
  }
}

TEST_F(WindowTest, AsyncRangesAreCutWhereverTheirEndsWereRecorded) {
  for (uint32_t id = 1; id <= 4; ++id) recorder.add_class(id, "request " + std::to_string(id));
  recorder.add_thread(1, 10, "main");
  recorder.add_thread(2, 11, "other");
  recorder.point(1, 10, PointKind::AsyncBegin, 1, 101);
  recorder.point(1, 20, PointKind::AsyncBegin, 2, 102);
  recorder.cut(1);
  recorder.point(2, 50, PointKind::AsyncEnd, 1, 101);     // ends before the window
  recorder.point(2, 900, PointKind::AsyncBegin, 3, 103);  // begins after the window
  recorder.point(2, 950, PointKind::AsyncEnd, 2, 102);    // spans the whole window
  recorder.point(2, 960, PointKind::AsyncEnd, 3, 103);
  recorder.close();
  EXPECT_EQ(points(through(100, 800)), (std::vector<Seen>{{"request 2", 100, 100}, {"request 2", 800, 800}}));
}

TEST_F(WindowTest, InstantsOutsideAreDroppedExceptDefinitions) {
  recorder.add_class(1, "miss");
  recorder.add_class(2, "stack node", "kymo.stack", {{"node", FieldType::UInt}});
  recorder.add_thread(1, 10, "main");
  recorder.point(1, 10, PointKind::Instant, 1);
  recorder.point(1, 20, PointKind::Instant, 2, 0, {int64_t{17}});
  recorder.point(1, 150, PointKind::Instant, 1);
  recorder.point(1, 250, PointKind::Instant, 1);
  recorder.close();
  EXPECT_EQ(points(through(100, 200)), (std::vector<Seen>{{"miss", 150, 150}, {"stack node", 100, 100}}));
}

TEST_F(WindowTest, AsyncRangeThatEndsInAChunkAfterTheWindowIsCut) {
  recorder.add_class(1, "request");
  recorder.add_thread(1, 10, "main");
  recorder.point(1, 150, PointKind::AsyncBegin, 1, 101);
  recorder.cut(1);
  recorder.point(1, 900, PointKind::AsyncEnd, 1, 101);
  recorder.close();
  EXPECT_EQ(points(through(100, 800)), (std::vector<Seen>{{"request", 150, 150}, {"request", 800, 800}}));
}

TEST_F(WindowTest, OnlyLossesInsideTheWindowCount) {
  recorder.add_class(1, "r");
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 300, 1);
  recorder.end(1, 310);
  recorder.cut(1);
  // The two losses of one kind are separate in the file, although a reader adds them up.
  for (const Loss& loss : {Loss{LossCause::RingFull, 1, 5, 10, 20, ""}, Loss{LossCause::RingFull, 1, 7, 300, 320, ""},
                           Loss{LossCause::RingFull, 1, 9, 641, 700, ""},
                           Loss{LossCause::Overwritten, 1, 3, 0, 0, "its time is not known"}})
    recorder.file().losses(recorder.id(), {&loss, 1});
  recorder.close();
  const Reader reader = through(250, 640);
  EXPECT_EQ(reader.writers().at(recorder.id()).losses,
            (std::vector<Loss>{{LossCause::RingFull, 1, 7, 300, 320, ""},
                               {LossCause::Overwritten, 1, 3, 0, 0, "its time is not known"}}));
}

TEST_F(WindowTest, WindowThatEndsBeforeItStartsIsEmpty) {
  recorder.add_class(1, "r");
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 300, 1);
  recorder.end(1, 310);
  recorder.close();
  EXPECT_TRUE(through(310, 300).event_chunks().empty());
}

TEST_F(WindowTest, WindowWithoutEventsGivesAnEmptyTrace) {
  recorder.add_class(1, "r");
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 300, 1);
  recorder.end(1, 310);
  recorder.close();
  const Reader reader = through(400, 500);
  EXPECT_EQ(events(reader), 0u);
  EXPECT_TRUE(ranges(reader).empty());
}

// The state of a trace if the program is killed before the end of its window.
TEST_F(WindowTest, WindowWithoutAnEndCutsOnlyAtItsStartAndOpenRangesStayOpen) {
  recorder.add_class(1, "outer");
  recorder.add_class(2, "inner");
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 10, 1);
  recorder.begin(1, 20, 2);
  recorder.end(1, 500);
  recorder.begin(1, 600, 2);
  recorder.end(1, 700);
  recorder.cut(1);
  recorder.close();
  state({kMonotonicZero + 100, 0});
  const Reader reader(path);
  ASSERT_EQ(reader.event_chunks().size(), 1u);
  EventBatch batch;
  reader.read(reader.event_chunks()[0], batch);
  EXPECT_EQ(batch.ranges.end, (std::vector<uint64_t>{500, 700}));
  EXPECT_EQ(batch.ranges.duration, (std::vector<uint64_t>{400, 100}));
  ASSERT_EQ(batch.closing.size(), 1u);
  EXPECT_EQ(batch.closing[0].start, 100u);
}

TEST_F(WindowTest, NewestWindowIsUsed) {
  recorder.add_class(1, "r");
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 300, 1);
  recorder.end(1, 310);
  recorder.begin(1, 400, 1);
  recorder.end(1, 410);
  recorder.close();
  state({kMonotonicZero + 350, 0});
  EXPECT_EQ(ranges(through(305, 390)), (std::vector<Seen>{{"r", 305, 310}}));
}

TEST_F(WindowTest, WindowAppliesToOneWriterSoThatTracesCanBeJoined) {
  recorder.add_class(1, "r");
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 300, 1);
  recorder.end(1, 310);
  recorder.close();
  {
    TestRecorder other(path, 2, 200, Writer::Mode::Append);
    other.add_class(1, "other");
    other.add_thread(1, 20, "main");
    other.begin(1, 300, 1);
    other.end(1, 310);
    other.close();
  }
  EXPECT_EQ(ranges(through(305, 400)), (std::vector<Seen>{{"other", 300, 310}, {"r", 305, 310}}));
}

TEST_F(WindowTest, ExtentRecordedShowsEverything) {
  recorder.add_class(1, "r");
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 300, 1);
  recorder.end(1, 310);
  recorder.close();
  state({kMonotonicZero + 305, kMonotonicZero + 400});
  EXPECT_EQ(ranges(Reader(path, path, Extent::Recorded)), (std::vector<Seen>{{"r", 300, 310}}));
}

TEST_F(WindowTest, UnwantedPartsStayEmptyInCutChunks) {
  recorder.add_class(1, "r {}", "", {{"", FieldType::Int}});
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 300, 1, {int64_t{7}});
  recorder.end(1, 310);
  recorder.point(1, 320, PointKind::Instant, 1, 0, {int64_t{8}});
  recorder.close();
  const Reader reader = through(305, 400);
  EventBatch batch;
  reader.read(reader.event_chunks().at(0), batch, kRangeTimes);
  EXPECT_EQ(batch.ranges.end, (std::vector<uint64_t>{310}));
  EXPECT_TRUE(batch.ranges.class_id.empty() && batch.ranges.depth.empty() && batch.ranges.values == Values{});
  EXPECT_TRUE(batch.points.time.empty() && batch.points.values == Values{});
  const auto summaries = reader.summaries(reader.event_chunks()[0]);
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0], (DepthSummary{0, 305, 310, 1, 5, 5}));
}

TEST_F(WindowTest, ChunkWithoutAClockIsAProblemBecauseItsTimeIsUnknown) {
  recorder.add_class(1, "r");
  recorder.begin(1, 300, 1);
  recorder.end(1, 310);
  recorder.close();
  const Reader reader = through(100, 400);
  EXPECT_TRUE(reader.event_chunks().empty());
  ASSERT_EQ(reader.problems().size(), 1u);
  EXPECT_EQ(reader.problems()[0].what,
            "1 event of process 100 without a time: the description of the thread or queue is missing in the trace");
}

TEST_F(WindowTest, EventAtTheEdgeOfTwoWindowsIsInTheSecondOnly) {
  recorder.add_class(1, "r");
  recorder.add_class(2, "long");
  recorder.add_thread(1, 10, "main");
  recorder.point(1, 300, PointKind::Instant, 1);
  recorder.begin(1, 100, 2);
  recorder.begin(1, 200, 1);
  recorder.end(1, 300);
  recorder.begin(1, 300, 1);
  recorder.end(1, 300);
  recorder.begin(1, 300, 1);
  recorder.end(1, 310);
  recorder.end(1, 500);
  recorder.close();
  const Reader first = through(100, 300);
  EXPECT_EQ(ranges(first), (std::vector<Seen>{{"long", 100, 300}, {"r", 200, 300}}));
  EXPECT_TRUE(points(first).empty());
  const Reader second = through(300, 400);
  EXPECT_EQ(ranges(second), (std::vector<Seen>{{"long", 300, 400}, {"r", 300, 300}, {"r", 300, 310}}));
  EXPECT_EQ(points(second), (std::vector<Seen>{{"r", 300, 300}}));
  EXPECT_EQ(events(through(300, 300)), 0u);
}

TEST_F(WindowTest, EndOfLifeAfterTheWindowIsCutToTheWindow) {
  recorder.add_class(1, "r");
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 300, 1);
  recorder.end(1, 310);
  recorder.cut(1);
  recorder.file().ending(recorder.id(), {5000});
  recorder.close();
  EXPECT_EQ(through(100, 400).writers().at(recorder.id()).ending->alive_until, 400u);
}

TEST_F(WindowTest, NarrowLeavesTheIntersection) {
  recorder.add_class(1, "r");
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 100, 1);
  recorder.end(1, 900);
  recorder.close();
  Reader reader = through(200, 800);
  reader.narrow({{recorder.id(), {kMonotonicZero + 300, 0}}});
  EXPECT_EQ(ranges(reader), (std::vector<Seen>{{"r", 300, 800}}));
  reader.narrow({{recorder.id(), {kMonotonicZero + 100, kMonotonicZero + 700}}});
  EXPECT_EQ(ranges(reader), (std::vector<Seen>{{"r", 300, 700}}));
}

TEST_F(WindowTest, RefreshFindsANewWindow) {
  recorder.add_class(1, "r");
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 300, 1);
  recorder.end(1, 310);
  recorder.close();
  Reader reader(path);
  EXPECT_EQ(ranges(reader), (std::vector<Seen>{{"r", 300, 310}}));
  state({kMonotonicZero + 305, kMonotonicZero + 400});
  EXPECT_TRUE(reader.refresh());
  EXPECT_EQ(ranges(reader), (std::vector<Seen>{{"r", 305, 310}}));
}

}  // namespace
}  // namespace kymo::trace
