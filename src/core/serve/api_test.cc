#include "serve/api.h"

#include <gtest/gtest.h>

#include "analyze/stats.h"
#include "json/document.h"
#include "serve/test_view.h"

namespace kymo::serve {
namespace {

using testing::TemporaryFolder;
using testing::TestRecorder;

class ApiTest : public ::testing::Test {
 protected:
  void open(const std::vector<std::string>& paths) {
    paths_ = paths;
    std::vector<trace::Reader> readers;
    for (const std::string& path : paths) readers.emplace_back(path);
    view_ = std::make_unique<View>(std::move(readers));
    view_->wait_until_built();
    analyses_.reopen = [this](uint32_t file, const IsGone&) { return trace::Reader(paths_[file]); };
  }
  json::Document get(const std::string& path, const std::string& query = {}) {
    const Answer made = answer(*view_, analyses_, path, Query::parse(query));
    EXPECT_EQ(made.status, 200) << made.body;
    return json::Document(made.body);
  }

  const TemporaryFolder folder_;
  std::vector<std::string> paths_;
  std::unique_ptr<View> view_;
  Analyses analyses_;
};

TEST_F(ApiTest, TheCatalogueHasFilesProcessesTracksAndCounters) {
  testing::write_random_trace(folder_ / "a.kymo", 1, 500);
  testing::write_random_trace(folder_ / "b.kymo", 2, 500);
  open({folder_ / "a.kymo", folder_ / "b.kymo"});
  const json::Document document = get("trace");
  const json::Value root = document.root();
  EXPECT_TRUE(root["scanned"].boolean(""));
  EXPECT_FALSE(root["live"].boolean(""));
  ASSERT_EQ(root["files"].list("").size(), 2u);
  EXPECT_EQ(root["files"].list("")[1]["name"].text(""), folder_ / "b.kymo");
  std::map<std::string, size_t> kinds;
  std::set<uint64_t> ids;
  uint64_t ranges = 0;
  for (const json::Value& track : root["tracks"].list("")) {
    ++kinds[std::string(track["kind"].text(""))];
    ids.insert(track["id"].number(""));
    if (const auto count = track.find("ranges"); count && track["file"].number("") == 0) ranges += count->number("");
  }
  EXPECT_EQ(kinds, (std::map<std::string, size_t>{{"counter", 4}, {"queue", 2}, {"thread", 6}}));
  EXPECT_EQ(ids.size(), 12u);
  uint64_t expected = 0;
  for (const analyze::RangeRow& row : analyze::compute_statistics(trace::Reader(folder_ / "a.kymo")).ranges)
    expected += row.count;
  EXPECT_EQ(ranges, expected);
}

TEST_F(ApiTest, NamesAreTextsWithTheirClass) {
  testing::write_random_trace(folder_ / "a.kymo", 1, 500);
  open({folder_ / "a.kymo"});
  get("trace");
  answer(*view_, analyses_, "tiles", Query::parse("w=12&from=0&to=15&tracks=0,1,2"));
  const json::Document document = get("names");
  const std::vector<json::Value> names = document.root()["names"].list(""), bases = document.root()["bases"].list("");
  ASSERT_EQ(names.size(), document.root()["version"].number(""));
  ASSERT_EQ(names.size(), bases.size());
  size_t steps = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].text("").substr(0, 5) != "step ") continue;
    EXPECT_EQ(names[bases[i].number("")].text(""), "step {}");
    ++steps;
  }
  EXPECT_GT(steps, 1u);
  const json::Document rest = get("names", "from=" + std::to_string(names.size() - 1));
  EXPECT_EQ(rest.root()["names"].list("").size(), 1u);
}

TEST_F(ApiTest, AnEventHasItsArgumentsParentsLaunchAndFlows) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "outer");
    recorder.add_class(2, "launch {rows}", "gpu", {{"rows", trace::FieldType::Int}});
    recorder.add_class(3, "kernel");
    recorder.add_class(4, "flow");
    recorder.add_thread(1, 1, "main");
    recorder.add_thread(2, 2, "other");
    trace::Track queue;
    queue.id = 3;
    queue.kind = trace::TrackKind::DeviceQueue;
    queue.clock = TestRecorder::kClock;
    queue.device_uuid = "device";
    recorder.add_track(queue);
    recorder.begin(1, 100, 1);
    recorder.begin(1, 110, 2, {int64_t{32}}, 77);
    recorder.point(1, 115, trace::PointKind::FlowBegin, 4, 5);
    recorder.end(1, 120);
    recorder.end(1, 200);
    recorder.begin(2, 300, 1);
    recorder.point(2, 310, trace::PointKind::FlowEnd, 4, 5);
    recorder.end(2, 320);
    recorder.complete(3, 150, 190, 3, 0, 0, 77);
    recorder.close();
  }
  open({folder_ / "a.kymo"});
  const auto chunk_of = [&](size_t track) { return std::to_string(view_->sources()[0]->tracks()[track].chunks[0]); };
  const json::Document launch = get("event", "track=0&index=0&chunk=" + chunk_of(0));
  EXPECT_EQ(launch.root()["name"].text(""), "launch 32");
  EXPECT_EQ(launch.root()["base"].text(""), "launch {rows}");
  EXPECT_EQ(launch.root()["category"].text(""), "gpu");
  EXPECT_EQ(launch.root()["start_ns"].number(""), 10u);
  EXPECT_EQ(launch.root()["duration_ns"].number(""), 10u);
  EXPECT_EQ(launch.root()["arguments"].list("")[0]["value"].text(""), "32");
  EXPECT_EQ(launch.root()["parents"].list("")[0]["name"].text(""), "outer");
  EXPECT_EQ(launch.root()["launched"].list("")[0]["name"].text(""), "kernel");
  ASSERT_EQ(launch.root()["flows"].list("").size(), 1u);
  EXPECT_EQ(launch.root()["flows"].list("")[0]["direction"].text(""), "to");
  EXPECT_EQ(launch.root()["flows"].list("")[0]["event"]["start_ns"].number(""), 200u);
  const json::Document kernel = get("event", "track=2&index=0&chunk=" + chunk_of(2));
  EXPECT_EQ(kernel.root()["launched_by"]["name"].text(""), "launch {rows}");
  const json::Document point = get("event", "track=0&index=1073741824&chunk=" + chunk_of(0));
  EXPECT_EQ(point.root()["kind"].text(""), "flow");
}

TEST_F(ApiTest, AnUnfinishedRangeHasDetails) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "step {}", "", {{"", trace::FieldType::Int}});
    recorder.add_class(2, "inside");
    recorder.add_thread(1, 1, "main");
    recorder.begin(1, 100, 1, {int64_t{7}});
    recorder.begin(1, 110, 2);
    recorder.end(1, 120);
    recorder.close();
  }
  open({folder_ / "a.kymo"});
  const json::Document open_range = get("event", "track=0&chunk=0&index=2147483648");
  EXPECT_EQ(open_range.root()["name"].text(""), "step 7");
  EXPECT_TRUE(open_range.root()["unfinished"].boolean(""));
  const json::Document inside = get("event", "track=0&chunk=0&index=0");
  EXPECT_EQ(inside.root()["parents"].list("")[0]["name"].text(""), "step 7");
}

TEST_F(ApiTest, ASelectionOfEverythingIsTheStatisticsOfTheTrace) {
  testing::write_random_trace(folder_ / "a.kymo", 4, 1000);
  open({folder_ / "a.kymo"});
  const json::Document selected = get("selection", "from=0&to=4000000000000000000");
  const analyze::Statistics statistics = analyze::compute_statistics(trace::Reader(folder_ / "a.kymo"));
  const std::vector<json::Value> rows = selected.root()["ranges"].list("");
  ASSERT_EQ(rows.size(), statistics.ranges.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["name"].text(""), statistics.ranges[i].name);
    EXPECT_EQ(rows[i]["total_ns"].number(""), statistics.ranges[i].total_ns);
  }
  EXPECT_EQ(selected.root()["flame"].list("")[0]["kind"].text(""), "all");
}

TEST_F(ApiTest, ASelectionHasOnlyItsTracksAndTimes) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "work");
    recorder.add_class(2, "rest");
    recorder.add_thread(1, 1, "main");
    recorder.add_thread(2, 2, "other");
    for (uint64_t i = 0; i < 10; ++i) recorder.complete(1, 1000 + 100 * i, 1050 + 100 * i, 1);
    recorder.complete(2, 1000, 2000, 2);
    recorder.close();
  }
  open({folder_ / "a.kymo"});
  const json::Document part = get("selection", "from=100&to=320&tracks=0");
  ASSERT_EQ(part.root()["ranges"].list("").size(), 1u);
  EXPECT_EQ(part.root()["ranges"].list("")[0]["count"].number(""), 3u);
  EXPECT_EQ(part.root()["ranges"].list("")[0]["total_ns"].number(""), 120u);
  const json::Document both = get("selection", "from=100&to=320");
  EXPECT_EQ(both.root()["ranges"].list("").size(), 2u);
  EXPECT_EQ(answer(*view_, analyses_, "selection", Query::parse("from=9&to=10&tracks=99")).status, 404);
}

TEST_F(ApiTest, AFileThatIsNotWrittenAnyMoreIsNotLive) {
  testing::write_random_trace(folder_ / "a.kymo", 4, 100);
  open({folder_ / "a.kymo"});
  EXPECT_FALSE(get("trace").root()["live"].boolean(""));
  view_->refresh([](uint32_t) { return true; });
  EXPECT_TRUE(get("trace").root()["live"].boolean(""));
  EXPECT_TRUE(view_->refresh([](uint32_t) { return false; }));
  EXPECT_FALSE(get("trace").root()["live"].boolean(""));
}

TEST_F(ApiTest, AFileThatIsOpenedBeforeItsFirstEventHasItsStartThere) {
  TestRecorder recorder(folder_ / "a.kymo");
  recorder.add_class(1, "work");
  recorder.add_thread(1, 1, "main");
  open({folder_ / "a.kymo"});
  EXPECT_TRUE(get("trace").root()["tracks"].list("").empty());
  recorder.begin(1, 5000, 1);
  recorder.begin(1, 6000, 1);
  recorder.end(1, 7000);
  recorder.cut(1);
  EXPECT_TRUE(view_->refresh([](uint32_t) { return true; }));
  view_->wait_until_built();
  const json::Document document = get("trace");
  EXPECT_EQ(document.root()["files"].list("")[0]["duration_ns"].number(""), 2000u);
  EXPECT_EQ(document.root()["tracks"].list("")[0]["rows"].number(""), 2u);
  recorder.end(1, 9000);
  recorder.cut(1);
  EXPECT_TRUE(view_->refresh([](uint32_t) { return false; }));
  view_->wait_until_built();
  std::set<std::pair<int64_t, int64_t>> times;
  const std::vector<Tile> tiles = make_tiles(*view_, {4, 0, 0, {0}});
  for (const Item& item : tiles[0].items) times.insert({item.start, item.end});
  EXPECT_EQ(times, (std::set<std::pair<int64_t, int64_t>>{{0, 4000}, {1000, 2000}}));
}

TEST_F(ApiTest, AGrowingFileShowsMoreAfterEachRefresh) {
  TestRecorder recorder(folder_ / "a.kymo");
  recorder.add_class(1, "work");
  recorder.add_class(5, "length", "", {{"value", trace::FieldType::Int}});
  recorder.add_thread(1, 1, "main");
  recorder.begin(1, 1000, 1);
  recorder.begin(1, 2000, 1);
  recorder.end(1, 2500);
  recorder.cut(1);
  open({folder_ / "a.kymo"});
  const auto rects = [&] {
    view_->wait_until_built();
    return make_tiles(*view_, {0, 0, 15, {0}})[0].items.size();
  };
  EXPECT_EQ(rects(), 2u);  // the open one, and the one inside
  EXPECT_FALSE(view_->refresh());
  const uint32_t version = view_->version();
  recorder.end(1, 3000);
  recorder.begin(1, 5000, 1);
  recorder.end(1, 6000);
  recorder.point(1, 6500, trace::PointKind::Counter, 5, 0, {int64_t{3}});
  recorder.cut(1);
  EXPECT_TRUE(view_->refresh());
  EXPECT_NE(view_->version(), version);
  view_->wait_until_built();
  EXPECT_EQ(get("trace").root()["tracks"].list("").size(), 2u);
  std::set<std::pair<int64_t, int64_t>> times;
  for (const Tile& tile : make_tiles(*view_, {0, 0, 15, {0}}))
    for (const Item& item : tile.items) times.insert({item.start, item.end});
  EXPECT_EQ(times, (std::set<std::pair<int64_t, int64_t>>{{1000, 1500}, {0, 2000}, {4000, 5000}}));
}

}  // namespace
}  // namespace kymo::serve
