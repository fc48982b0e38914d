#include "collect/clip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "kymo/error.h"
#include "trace/test_recorder.h"

namespace kymo::collect {
namespace {

using trace::PointKind;
using trace::testing::kMonotonicZero;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

struct Seen {
  std::string name;
  uint64_t start, end;
  bool operator==(const Seen&) const = default;
  auto operator<=>(const Seen&) const = default;
};

// All of a file's ranges and moments, in time; a moment ends where it starts. Ranges that never end are at the end of
// their chunk's track.
std::vector<Seen> clip_test_events(const std::string& path, bool points) {
  const trace::Reader reader(path);
  EXPECT_TRUE(reader.problems().empty());
  std::vector<Seen> seen;
  trace::EventBatch batch;
  std::vector<trace::OpenRange> open;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    reader.read(chunk, batch);
    const auto& classes = reader.writers().at(chunk.writer).classes;
    const auto name = [&](trace::ValueCursor& cursor, uint32_t id) {
      const auto found = classes.find(id);
      const trace::EventClass* event_class = found != classes.end() ? &found->second : nullptr;
      return trace::full_name(event_class, cursor.next(event_class));
    };
    trace::ValueCursor values(points ? batch.points.values : batch.ranges.values);
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
  EXPECT_TRUE(open.empty()) << "nothing is open after the span";
  std::sort(seen.begin(), seen.end());
  return seen;
}

class ClipTest : public ::testing::Test {
 protected:
  // Ticks are nanoseconds after kMonotonicZero.
  Clipped clip(int64_t from, int64_t to, uint64_t late_ns = 0) {
    const trace::Reader reader(folder / "whole.kymo");
    trace::Writer writer(folder / "clipped.kymo", trace::Writer::Mode::Create);
    const auto zero = static_cast<int64_t>(kMonotonicZero);
    const Clipped clipped = clip_trace(reader, writer, {zero + from, zero + to, late_ns, {{"asked", "yes"}}});
    writer.close();
    return clipped;
  }
  std::vector<Seen> ranges() { return clip_test_events(folder / "clipped.kymo", false); }
  std::vector<Seen> points() { return clip_test_events(folder / "clipped.kymo", true); }

  TemporaryFolder folder;
  TestRecorder recorder{folder / "whole.kymo"};
};

TEST_F(ClipTest, CutsRangesAtBothEdgesAndDropsWhatLiesOutside) {
  recorder.add_class(1, "step {}", "", {{"", trace::FieldType::Int}});
  recorder.add_thread(1, 10, "main");
  for (int64_t i = 0; i < 10; ++i) {
    recorder.begin(1, static_cast<uint64_t>(100 * i), 1, {i});
    recorder.end(1, static_cast<uint64_t>(100 * i + 90));
  }
  recorder.close();
  const Clipped clipped = clip(250, 640);
  EXPECT_EQ(ranges(), (std::vector<Seen>{{"step 2", 250, 290},
                                         {"step 3", 300, 390},
                                         {"step 4", 400, 490},
                                         {"step 5", 500, 590},
                                         {"step 6", 600, 640}}));
  EXPECT_EQ(clipped.events, 5u);
  EXPECT_EQ(clipped.cut, 2u);
  EXPECT_EQ(clipped.losses, 0u);
}

TEST_F(ClipTest, ARangeThatSpansEverythingIsThereEvenWhereItsThreadSaidNothing) {
  recorder.add_class(1, "epoch");
  recorder.add_class(2, "early");
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 10, 1);
  recorder.begin(1, 20, 2);
  recorder.end(1, 30);
  recorder.cut(1);
  recorder.end(1, 10'000);
  recorder.close();
  clip(1000, 2000);
  EXPECT_EQ(ranges(), (std::vector<Seen>{{"epoch", 1000, 2000}}));
}

TEST_F(ClipTest, ARangeThatNeverEndsEndsWithTheSpan) {
  recorder.add_class(1, "serve {}", "", {{"", trace::FieldType::String}});
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 10, 1, {std::string("forever")});
  recorder.cut(1);
  recorder.close();
  clip(1000, 2000);
  EXPECT_EQ(ranges(), (std::vector<Seen>{{"serve forever", 1000, 2000}}));
}

TEST_F(ClipTest, RandomNestingOverManyChunksIsWhatCuttingEachRangeGives) {
  std::mt19937 random(7);
  recorder.close();
  for (int round = 0; round < 30; ++round) {
    TestRecorder many(folder / "whole.kymo");
    many.add_class(1, "r {}", "", {{"", trace::FieldType::Int}});
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
      if (range.start > to || range.end < from || (range.end == from && range.start < from)) continue;
      expected.push_back({range.name, std::max(range.start, from), std::min(range.end, to)});
    }
    std::sort(expected.begin(), expected.end());
    clip(static_cast<int64_t>(from), static_cast<int64_t>(to));
    EXPECT_EQ(ranges(), expected) << "round " << round << " from " << from << " to " << to;
  }
}

TEST_F(ClipTest, RangesByHandleAreCutTooWhereverTheirEndsWereRecorded) {
  for (uint32_t id = 1; id <= 4; ++id) recorder.add_class(id, "request " + std::to_string(id));
  recorder.add_thread(1, 10, "main");
  recorder.add_thread(2, 11, "other");
  recorder.point(1, 10, PointKind::AsyncBegin, 1, 101);
  recorder.point(1, 20, PointKind::AsyncBegin, 2, 102);
  recorder.cut(1);
  recorder.point(2, 50, PointKind::AsyncEnd, 1, 101);     // over before the span
  recorder.point(2, 900, PointKind::AsyncBegin, 3, 103);  // after it
  recorder.point(2, 950, PointKind::AsyncEnd, 2, 102);    // all through it
  recorder.point(2, 960, PointKind::AsyncEnd, 3, 103);
  recorder.close();
  clip(100, 800);
  EXPECT_EQ(points(), (std::vector<Seen>{{"request 2", 100, 100}, {"request 2", 800, 800}}));
}

TEST_F(ClipTest, MomentsOutsideAreDroppedButNotWhatLaterOnesNeed) {
  recorder.add_class(1, "miss");
  recorder.add_class(2, "stack node", "kymo.stack", {{"node", trace::FieldType::UInt}});
  recorder.add_thread(1, 10, "main");
  recorder.point(1, 10, PointKind::Instant, 1);
  recorder.point(1, 20, PointKind::Instant, 2, 0, {int64_t{17}});
  recorder.point(1, 150, PointKind::Instant, 1);
  recorder.point(1, 250, PointKind::Instant, 1);
  recorder.close();
  clip(100, 200);
  EXPECT_EQ(points(), (std::vector<Seen>{{"miss", 150, 150}, {"stack node", 100, 100}}));
}

TEST_F(ClipTest, LatenessIsInTheLedgerAndOnlyLossesOfTheSpanAre) {
  recorder.add_class(1, "r");
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 300, 1);
  recorder.end(1, 310);
  recorder.cut(1);
  const std::vector<trace::Loss> losses{{trace::LossCause::RingFull, 1, 5, 10, 20, ""},
                                        {trace::LossCause::RingFull, 1, 7, 300, 320, "inside"},
                                        {trace::LossCause::Overwritten, 1, 3, 0, 0, "when is not known"}};
  recorder.file().losses(recorder.id(), losses);
  recorder.close();
  // Losses of one cause and track add up unless they are told apart by their detail.
  EXPECT_EQ(clip(250, 640, 1'500'000).losses, 10u);
  const trace::Reader reader(folder / "clipped.kymo");
  const auto& writer = reader.writers().begin()->second;
  ASSERT_EQ(writer.losses.size(), 3u);
  const auto late = std::find_if(writer.losses.begin(), writer.losses.end(),
                                 [](const trace::Loss& loss) { return loss.cause == trace::LossCause::LateStart; });
  ASSERT_NE(late, writer.losses.end());
  EXPECT_EQ(late->detail, "recording began 1.500 ms after the start that was asked for");
  EXPECT_EQ(writer.origin.metadata.back(), (std::pair<std::string, std::string>{"asked", "yes"}));
}

TEST_F(ClipTest, ASpanThatEndsBeforeItBeginsIsRefused) {
  recorder.close();
  EXPECT_THROW(clip(10, 9), InvalidArgument);
}

TEST_F(ClipTest, AnEmptySpanOfTimeIsAnEmptyTrace) {
  recorder.add_class(1, "r");
  recorder.add_thread(1, 10, "main");
  recorder.begin(1, 300, 1);
  recorder.end(1, 310);
  recorder.close();
  EXPECT_EQ(clip(400, 500).events, 0u);
  EXPECT_TRUE(ranges().empty());
}

}  // namespace
}  // namespace kymo::collect
