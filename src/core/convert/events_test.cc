#include "convert/events.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "trace/test_recorder.h"

namespace kymo::convert {
namespace {

using trace::PointKind;
using trace::testing::kMonotonicZero;
using trace::testing::kRealtimeZero;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

// Records the visits as text, with times in ticks.
class Script : public EventVisitor {
 public:
  void range(const Range& r) override {
    ranges.push_back(base::format("{} {}-{}{}{}", r.name, tick(r.start_ns), tick(r.end_ns),
                                  r.finished ? "" : " unfinished",
                                  r.lane != 0 ? base::format(" lane {}", r.lane) : ""));
  }
  bool wants_moments() const override { return true; }
  void range_begin(const Range& r) override { moments += base::format("({}@{} ", r.name, tick(r.start_ns)); }
  void range_end(const Place&, uint16_t, int64_t ns) override { moments += base::format("@{}) ", tick(ns)); }
  void point(const Point& p) override {
    moments += base::format("{}@{}{} ", p.name, tick(p.time_ns), p.enclosed ? "" : "!");
  }
  void async_range(const AsyncRange& r) override {
    async.push_back(base::format("{} {}-{} {}>{}{}", r.name, tick(r.start_ns), tick(r.end_ns), r.place->name,
                                 r.end_place->name, r.finished ? "" : " unfinished"));
  }
  std::vector<std::string> ranges, async;
  std::string moments;

 private:
  static int64_t tick(int64_t ns) { return ns - static_cast<int64_t>(kMonotonicZero); }
};

using Lines = std::vector<std::string>;

class EventsTest : public ::testing::Test {
 protected:
  TestRecorder make() {
    TestRecorder recorder(path);
    recorder.add_thread(1, 101, "main");
    recorder.add_thread(2, 102, "worker");
    recorder.add_class(1, "outer");
    recorder.add_class(2, "inner");
    recorder.add_class(3, "step {}", "train", {{"", trace::FieldType::Int}, {"loss", trace::FieldType::Double}});
    recorder.add_class(4, "request", "net", {{"url", trace::FieldType::String}});
    return recorder;
  }
  Script visit() {
    trace::Reader reader(path);
    Places places(reader);
    Script script;
    report = visit_events(reader, places, TimeBase::Monotonic, script);
    return script;
  }

  TemporaryFolder folder;
  std::string path = folder / "t.kymo";
  WalkReport report;
};

TEST_F(EventsTest, RangesComeInProgramOrder) {
  TestRecorder recorder = make();
  recorder.begin(1, 10, 1);
  recorder.begin(1, 10, 2);
  recorder.end(1, 20);
  recorder.begin(1, 20, 2);
  recorder.end(1, 30);
  recorder.end(1, 30);
  recorder.close();
  const Script script = visit();
  EXPECT_EQ(script.moments, "(outer@10 (inner@10 @20) (inner@20 @30) @30) ");
  EXPECT_EQ(script.ranges, (Lines{"outer 10-30", "inner 10-20", "inner 20-30"}));
}

TEST_F(EventsTest, NamesAreFilledFromValues) {
  TestRecorder recorder = make();
  recorder.begin(1, 10, 3, {int64_t{7}, 0.5});
  recorder.begin(1, 11, 3, {int64_t{-8}, 0.25});
  recorder.end(1, 12);
  recorder.end(1, 13);
  recorder.begin(1, 14, trace::kInlineName, {"made up"});
  recorder.end(1, 15);
  recorder.close();
  EXPECT_EQ(visit().ranges, (Lines{"step 7 10-13", "step -8 11-12", "made up 14-15"}));
}

TEST_F(EventsTest, RangeMaySpanChunks) {
  TestRecorder recorder = make();
  recorder.begin(1, 10, 3, {int64_t{1}, 0.5});
  recorder.begin(1, 11, 2);
  recorder.end(1, 12);
  recorder.cut(1);
  recorder.begin(1, 20, 1);
  recorder.cut(1);
  recorder.begin(1, 30, 2);
  recorder.end(1, 31);
  recorder.end(1, 32);
  recorder.end(1, 33);
  recorder.close();
  const Script script = visit();
  EXPECT_EQ(script.moments, "(step 1@10 (inner@11 @12) (outer@20 (inner@30 @31) @32) @33) ");
  EXPECT_EQ(script.ranges, (Lines{"inner 11-12", "inner 30-31", "outer 20-32", "step 1 10-33"}));
}

TEST_F(EventsTest, RangeThatNeverEndsIsUnfinishedAndLastsAsLongAsItsProcess) {
  TestRecorder recorder = make();
  recorder.begin(1, 10, 1);
  recorder.begin(1, 20, 3, {int64_t{4}, 1.0});
  recorder.cut(1);
  recorder.begin(2, 15, 2);
  recorder.end(2, 500);
  recorder.close();
  const Script script = visit();
  EXPECT_EQ(script.moments, "(outer@10 (step 4@20 (inner@15 @500) ");
  EXPECT_EQ(script.ranges, (Lines{"inner 15-500", "outer 10-500 unfinished", "step 4 20-500 unfinished"}));
}

TEST_F(EventsTest, MissingChunkKeepsRangesNested) {
  TestRecorder recorder = make();
  recorder.begin(1, 10, 1);
  recorder.begin(1, 20, 2);
  recorder.cut(1);
  recorder.end(1, 30);
  recorder.begin(1, 40, 3, {int64_t{5}, 1.0});
  recorder.lose(1);
  recorder.end(1, 50);
  recorder.end(1, 60);
  recorder.close();
  const Script script = visit();
  EXPECT_EQ(script.moments, "(outer@10 (inner@20 @20) (step 5@40 @50) @60) ");
  EXPECT_EQ(script.ranges, (Lines{"inner 20-20 unfinished", "step 5 40-50", "outer 10-60"}));
}

TEST_F(EventsTest, PointsKnowTheirEnclosingRange) {
  TestRecorder recorder = make();
  recorder.point(1, 5, PointKind::Instant, 4, 0, {"a"});
  recorder.begin(1, 10, 1);
  recorder.point(1, 10, PointKind::Instant, 4, 0, {"b"});
  recorder.cut(1);
  recorder.point(1, 15, PointKind::Instant, 4, 0, {"c"});
  recorder.end(1, 15);
  recorder.point(1, 16, PointKind::Instant, 4, 0, {"d"});
  recorder.close();
  EXPECT_EQ(visit().moments, "request@5! (outer@10 request@10 request@15 @15) request@16! ");
}

TEST_F(EventsTest, AsyncRangesAreMatchedInAnyReadOrder) {
  TestRecorder recorder = make();
  recorder.point(2, 50, PointKind::AsyncEnd, 4, 1, {""});
  recorder.cut(2);
  recorder.point(1, 10, PointKind::AsyncBegin, 4, 1, {"/a"});
  recorder.point(1, 20, PointKind::AsyncBegin, 4, 2, {"/b"});
  recorder.cut(1);
  recorder.point(2, 70, PointKind::AsyncEnd, 4, 2, {""});
  recorder.point(1, 80, PointKind::AsyncBegin, 4, 3, {"/c"});
  recorder.point(1, 90, PointKind::AsyncEnd, 4, 77, {""});
  recorder.close();
  EXPECT_EQ(visit().async,
            (Lines{"request 10-50 main>worker", "request 20-70 main>worker", "request 80-90 main>main unfinished"}));
  EXPECT_EQ(report.unmatched_ends, 1u);
}

TEST_F(EventsTest, LanesAreVisitedSeparately) {
  TestRecorder recorder = make();
  recorder.complete(1, 10, 20, 1);
  recorder.complete(1, 15, 16, 2, 1, 1);
  recorder.complete(1, 14, 25, 1, 0, 1);
  recorder.complete(1, 22, 30, 2);
  recorder.close();
  EXPECT_EQ(visit().ranges, (Lines{"outer 10-20", "inner 22-30", "outer 14-25 lane 1", "inner 15-16 lane 1"}));
}

TEST_F(EventsTest, UnknownClassLosesOnlyTheNamesOfItsChunk) {
  TestRecorder recorder = make();
  recorder.begin(1, 10, 99);
  recorder.end(1, 11);
  recorder.begin(1, 12, 3, {int64_t{7}, 0.5});
  recorder.end(1, 13);
  recorder.cut(1);
  recorder.begin(1, 14, 3, {int64_t{8}, 0.5});
  recorder.end(1, 15);
  recorder.close();
  EXPECT_EQ(visit().ranges, (Lines{"(unknown class) 10-11", "step {} 12-13", "step 8 14-15"}));
}

TEST_F(EventsTest, DamagedChunkIsReportedAndSkipped) {
  TestRecorder recorder = make();
  for (int chunk = 0; chunk < 3; ++chunk) {
    recorder.begin(1, 100 * chunk, 1);
    recorder.end(1, 100 * chunk + 10);
    recorder.cut(1);
  }
  recorder.close();
  const trace::EventChunk damaged = trace::Reader(path).event_chunks()[1];
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(damaged.offset + damaged.length - 12));
  file.write("damage", 6);
  file.close();
  EXPECT_EQ(visit().ranges, (Lines{"outer 0-10", "outer 200-210"}));
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0].offset, damaged.offset);
}

TEST_F(EventsTest, TrackWithoutAClockIsAProblem) {
  TestRecorder recorder = make();
  trace::Track track;
  track.id = 9;
  track.clock = 55;
  recorder.add_track(track);
  recorder.begin(9, 1, 1);
  recorder.end(9, 2);
  recorder.close();
  EXPECT_TRUE(visit().ranges.empty());
  EXPECT_EQ(report.problems.size(), 1u);
}

}  // namespace
}  // namespace kymo::convert
