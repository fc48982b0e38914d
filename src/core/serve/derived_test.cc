// Memory over time, ranges across threads, arrows, and what a call waited for.

#include "serve/derived.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "base/text.h"
#include "json/document.h"
#include "serve/api.h"
#include "serve/test_view.h"

namespace kymo::serve {
namespace {

using testing::TemporaryFolder;
using testing::TestRecorder;
using trace::FieldType;
using trace::PointKind;

class DerivedTest : public ::testing::Test {
 protected:
  void open() {
    view_ = testing::open_view(folder_ / "a.kymo");
    view_->wait_until_built();
    analyses_.reopen = [this](uint32_t, const IsGone&) { return trace::Reader(folder_ / "a.kymo"); };
  }
  json::Document get(const std::string& path, const std::string& query = {}) {
    const Answer made = answer(*view_, analyses_, path, Query::parse(query));
    EXPECT_EQ(made.status, 200) << made.body;
    return json::Document(made.body);
  }
  std::vector<Tile> tiles(uint32_t track, unsigned level, uint64_t from, uint64_t to) {
    return make_tiles(*view_, {level, from, to, {track}});
  }

  const TemporaryFolder folder_;
  std::unique_ptr<View> view_;
  Analyses analyses_;
};

TEST_F(DerivedTest, MemoryInUseIsTheSumOfWhatIsAllocatedAndNotFreed) {
  constexpr uint64_t kSteps = 4000;
  struct Change {
    uint64_t time, bytes;  // after it
  };
  std::vector<Change> expected;
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "alloc", "", {{"bytes", FieldType::ByteCount}, {"device", FieldType::String}});
    recorder.add_class(2, "work");
    recorder.add_thread(1, 1, "main");
    recorder.begin(1, 1000, 2);
    std::mt19937_64 random(7);
    std::map<uint64_t, uint64_t> alive;
    uint64_t now = 1000, in_use = 0;
    for (uint64_t i = 1; i <= kSteps; ++i) {
      now += 1 + random() % 1000;
      if (alive.empty() || random() % 3 != 0) {
        const uint64_t bytes = 1 + random() % 10'000;
        recorder.point(1, now, PointKind::Allocation, 1, i * 16, {static_cast<int64_t>(bytes), std::string("cuda:0")});
        alive[i * 16] = bytes;
        in_use += bytes;
      } else {
        const auto block = std::next(alive.begin(), static_cast<ptrdiff_t>(random() % alive.size()));
        recorder.point(1, now, PointKind::Free, 1, block->first, {int64_t{0}, std::string("cuda:0")});
        in_use -= block->second;
        alive.erase(block);
      }
      expected.push_back({now - 1000, in_use});
      if (i % 500 == 0) recorder.cut(1);
    }
    recorder.end(1, now + 10);
    recorder.close();
  }
  open();
  ASSERT_EQ(view_->derived().size(), 1u);
  const DerivedTrack& track = *view_->derived()[0];
  EXPECT_EQ(track.name, "cuda:0");
  ASSERT_EQ(track.values.size(), kSteps);
  for (size_t i = 0; i < kSteps; ++i) {
    EXPECT_EQ(track.values[i].time, static_cast<int64_t>(expected[i].time)) << i;
    EXPECT_EQ(track.values[i].last, static_cast<double>(expected[i].bytes)) << i;
  }
  // A tile has the value before it, and the extremes of each bin.
  constexpr unsigned kLevel = 8;
  const TileSpan span = TileSpan::of(kLevel, 2);
  const Tile tile = tiles(track.id, kLevel, 2, 2).front();
  ASSERT_FALSE(tile.counters.empty());
  std::map<int64_t, std::pair<double, double>> bins;
  double before = 0;
  for (const Change& change : expected) {
    const auto time = static_cast<int64_t>(change.time);
    const double value = static_cast<double>(change.bytes);
    if (time < span.from) before = value;
    if (time < span.from || time >= span.to) continue;
    auto [bin, is_new] = bins.try_emplace(bin_of(time, kLevel), value, value);
    bin->second = {std::min(bin->second.first, value), std::max(bin->second.second, value)};
  }
  EXPECT_EQ(tile.counters[0].last, before);
  ASSERT_EQ(tile.counters.size(), bins.size() + 1);
  for (size_t i = 1; i < tile.counters.size(); ++i) {
    const auto& bin = bins.at(bin_of(tile.counters[i].time, kLevel));
    EXPECT_EQ(tile.counters[i].min, bin.first);
    EXPECT_EQ(tile.counters[i].max, bin.second);
  }
  // What is alive at a time.
  for (const size_t at : {size_t{0}, size_t{999}, size_t{kSteps - 1}}) {
    const json::Document alive = get("memory", "at=" + std::to_string(expected[at].time));
    EXPECT_EQ(alive.root()["bytes"].number(""), expected[at].bytes) << at;
    EXPECT_EQ(alive.root()["by_range"].list("")[0]["name"].text(""), "work");
  }
  EXPECT_EQ(answer(*view_, analyses_, "memory", Query::parse("at=x")).status, 400);
  EXPECT_EQ(answer(*view_, analyses_, "memory", Query::parse("at=1&file=3")).status, 404);
}

TEST_F(DerivedTest, ManyAllocationsAreBinsWithTheirExtremes) {
  constexpr uint64_t kBlocks = DerivedTrack::kMaxSteps;  // each is two changes
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "alloc", "", {{"bytes", FieldType::ByteCount}});
    recorder.add_thread(1, 1, "main");
    for (uint64_t i = 0; i < kBlocks; ++i) {
      recorder.point(1, 1000 + 100 * i, PointKind::Allocation, 1, 16, {int64_t{i == kBlocks / 2 ? 7000 : 10}});
      recorder.point(1, 1050 + 100 * i, PointKind::Free, 1, 16, {int64_t{0}});
      if (i % 20'000 == 0) recorder.cut(1);
    }
    recorder.close();
  }
  open();
  const DerivedTrack& track = *view_->derived().at(0);
  EXPECT_LE(track.values.size(), DerivedTrack::kMaxSteps);
  EXPECT_GE(track.values.size(), DerivedTrack::kMaxSteps / 4);
  const auto largest = std::max_element(track.values.begin(), track.values.end(),
                                        [](const CounterBin& a, const CounterBin& b) { return a.max < b.max; });
  EXPECT_EQ(largest->max, 7000);
  EXPECT_EQ(track.values.back().last, 0);
}

TEST_F(DerivedTest, RangesAcrossThreadsAreOnLanesWithoutOverlap) {
  struct Range {
    int64_t start, end;
    bool operator==(const Range&) const = default;
    auto operator<=>(const Range&) const = default;
  };
  std::vector<Range> expected;
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "request {}", "", {{"", FieldType::Int}});
    for (uint32_t track = 1; track <= 2; ++track) recorder.add_thread(track, track, "thread " + std::to_string(track));
    std::mt19937_64 random(3);
    std::vector<std::tuple<uint64_t, uint32_t, PointKind, uint64_t>> points;  // time, track, kind, handle
    for (uint64_t i = 1; i <= 500; ++i) {
      const uint64_t start = 1000 + i * 10, end = start + random() % 100;
      points.emplace_back(start, 1 + random() % 2, PointKind::AsyncBegin, i);
      points.emplace_back(end, 1 + random() % 2, PointKind::AsyncEnd, i);
      expected.push_back({static_cast<int64_t>(start), static_cast<int64_t>(end)});
    }
    std::stable_sort(points.begin(), points.end(),
                     [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
    const int64_t first = static_cast<int64_t>(std::get<0>(points.front()));
    for (Range& range : expected) range = {range.start - first, range.end - first};
    for (const auto& [time, track, kind, handle] : points)
      recorder.point(track, time, kind, 1, handle, {static_cast<int64_t>(handle)});
    recorder.close();
  }
  open();
  ASSERT_EQ(view_->derived().size(), 1u);
  const DerivedTrack& track = *view_->derived()[0];
  EXPECT_EQ(track.kind, DerivedTrack::Kind::AcrossThreads);
  std::vector<Range> shown;
  std::map<uint16_t, int64_t> free_at;
  const Tile whole = tiles(track.id, 3, 0, 0).front();
  EXPECT_FALSE(whole.items.empty());
  for (const Item& item : whole.items) {
    if (item.count > 1) continue;
    EXPECT_GE(item.start, free_at[item.lane]) << "two ranges of a lane overlap";
    free_at[item.lane] = item.end;
  }
  for (const Item& item : track.items) shown.push_back({item.start, item.end});
  std::sort(shown.begin(), shown.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(shown, expected);
  const Item& one = track.items[10];
  const json::Document details =
      get("event", base::format("track={}&chunk={}&index={}", track.id, one.chunk, one.index));
  EXPECT_EQ(details.root()["name"].text(""), "request 11");
  EXPECT_EQ(details.root()["start_ns"].number(""), static_cast<uint64_t>(one.start));
  EXPECT_EQ(details.root()["end_ns"].number(""), static_cast<uint64_t>(one.end));
  EXPECT_EQ(details.root()["begins_on"].text("").substr(0, 7), "thread ");
  const Answer none =
      answer(*view_, analyses_, "event", Query::parse(base::format("track={}&chunk=0&index=1999999999", track.id)));
  EXPECT_EQ(none.status, 404);
}

TEST_F(DerivedTest, ARangeAcrossThreadsWithoutAnEndLastsUntilTheEndOfTheFile) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "request");
    recorder.add_thread(1, 1, "main");
    recorder.point(1, 1000, PointKind::AsyncBegin, 1, 5);
    recorder.begin(1, 1100, 1);
    recorder.end(1, 1700);
    recorder.close();
  }
  open();
  const DerivedTrack& track = *view_->derived().at(0);
  ASSERT_EQ(track.items.size(), 1u);
  EXPECT_EQ(track.items[0].end, 700);
}

TEST_F(DerivedTest, SamplesAreRangesOfTheirFunctions) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    testing::add_sample_classes(recorder);
    recorder.add_thread(1, 1, "worker");
    testing::add_stack(recorder, 1, {0x1101, 0x1201});
    recorder.point(1, 0, PointKind::Instant, 2, 0, {int64_t{18}, int64_t{16}, int64_t{0x1301}});
    recorder.cut(1);
    // One millisecond each, which is what a sample stands for. Then the thread waits.
    for (const auto& [time, node] : {std::pair<uint64_t, int64_t>{0, 17}, {1, 17}, {2, 18}, {9, 18}})
      recorder.point(1, 1'000'000 * time, PointKind::Sample, 1, 0, {node});
    recorder.point(1, 11'000'000, PointKind::Sample, 4, 0, {int64_t{5}, int64_t{0}, int64_t{18}});
    recorder.close();
  }
  open();
  ASSERT_EQ(view_->derived().size(), 2u);
  const DerivedTrack& track = *view_->derived()[0];
  EXPECT_EQ(track.kind, DerivedTrack::Kind::Functions);
  std::vector<std::string> shown;
  for (const Item& item : track.items)
    shown.push_back(base::format("{} {}+{} depth {}", view_->names().entry(item.name).text, item.start / 1'000'000,
                                 item.longest / 1'000'000, item.depth));
  EXPECT_EQ(shown, (std::vector<std::string>{"lib.so+0x101 0+3 depth 0", "lib.so+0x201 0+2 depth 1",
                                             "lib.so+0x301 2+1 depth 1", "lib.so+0x101 9+1 depth 0",
                                             "lib.so+0x301 9+1 depth 1"}));
  EXPECT_EQ(tiles(track.id, 16, 0, 0).front().items.size(), shown.size());
  const Item& one = track.items[2];
  const json::Document details =
      get("event", base::format("track={}&chunk={}&index={}", track.id, one.chunk, one.index));
  EXPECT_EQ(details.root()["name"].text(""), "lib.so+0x301");
  EXPECT_EQ(details.root()["stack"].list("")[0]["function"].text(""), "lib.so+0x301");
  EXPECT_EQ(details.root()["stack"].list("")[1]["module"].text(""), "/gone/lib.so");
  const json::Document sample =
      get("event", base::format("track=0&chunk={}&index={}", one.chunk, kPointIndex + track.points[2]));
  EXPECT_EQ(sample.root()["kind"].text(""), "sample");
  EXPECT_EQ(sample.root()["stack"].list("").size(), 2u);
  const json::Document wait =
      get("event", base::format("track=0&chunk={}&index={}", one.chunk, kPointIndex + track.points.back() + 1));
  EXPECT_EQ(wait.root()["name"].text(""), "off CPU");
  EXPECT_EQ(wait.root()["stack"].list("")[0]["function"].text(""), "lib.so+0x301");
  const json::Document trace = get("trace");
  EXPECT_EQ(trace.root()["tracks"].list("")[1]["kind"].text(""), "functions");
  EXPECT_EQ(trace.root()["tracks"].list("")[1]["name"].text(""), "worker: functions");
  EXPECT_EQ(trace.root()["tracks"].list("")[1]["rows"].number(""), 2u);
  EXPECT_EQ(trace.root()["tracks"].list("")[1]["shared"].number(""), 1u);
}

TEST_F(DerivedTest, StatesOfAThreadAndWhatHeldItUp) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    testing::add_sample_classes(recorder);
    recorder.add_class(5, "on CPU", "cpu", {{"ns", FieldType::UInt}});
    recorder.add_class(6, "step {}", "", {{"", FieldType::Int}});
    recorder.add_class(7, "waiting for the collector", "kymo");
    recorder.add_thread(1, 1, "worker");
    testing::add_stack(recorder, 1, {0x1101, 0x1201});
    // It runs for 2 ms, waits for 4, runs for 1, is ready for 1, and runs for 2.
    recorder.begin(1, 1'000'000, 6, {int64_t{7}});
    recorder.point(1, 2'000'000, PointKind::Sample, 4, 0, {int64_t{4'000'000}, int64_t{0}, int64_t{17}});
    recorder.complete(1, 5'000'000, 6'500'000, 7, 1);
    recorder.point(1, 7'000'000, PointKind::Sample, 4, 0, {int64_t{1'000'000}, int64_t{1}, int64_t{17}});
    recorder.point(1, 10'000'000, PointKind::Sample, 5, 0, {int64_t{5'000'000}});
    recorder.end(1, 10'000'000);
    recorder.add_cost({1, 2, 0, 1'500'000, 0});
    recorder.close();
  }
  open();
  ASSERT_EQ(view_->derived().size(), 1u);
  const DerivedTrack& track = *view_->derived()[0];
  EXPECT_EQ(track.kind, DerivedTrack::Kind::States);
  std::vector<std::string> shown;
  for (const Item& item : track.items)
    shown.push_back(base::format("{} {}-{}", view_->names().entry(item.name).text, item.start / 1000, item.end / 1000));
  EXPECT_EQ(shown,
            (std::vector<std::string>{"running 0-2000", "waiting: lib.so+0x201 2000-5000", "held up by Kymo 5000-6500",
                                      "running 6500-7000", "ready 7000-8000", "running 8000-10000"}));
  const json::Document trace = get("trace");
  EXPECT_EQ(trace.root()["tracks"].list("")[1]["kind"].text(""), "states");
  EXPECT_EQ(trace.root()["tracks"].list("")[1]["name"].text(""), "worker: states");
  EXPECT_EQ(trace.root()["files"].list("")[0]["held_up_ns"].number(""), 1'500'000u);
  const Item& wait = track.items[1];
  const json::Document details =
      get("event", base::format("track={}&chunk={}&index={}", track.id, wait.chunk, wait.index));
  EXPECT_EQ(details.root()["base"].text(""), "waiting");
  EXPECT_EQ(details.root()["stack"].list("")[0]["function"].text(""), "lib.so+0x201");
  const json::Document running =
      get("event", base::format("track={}&chunk={}&index=0", track.id, track.items[0].chunk));
  EXPECT_FALSE(running.root().find("stack"));
  const json::Document range = get("event", "track=0&chunk=0&index=1");
  EXPECT_EQ(range.root()["name"].text(""), "step 7");
  EXPECT_EQ(range.root()["running_ns"].number(""), 3'500'000u);
  EXPECT_EQ(range.root()["waiting_ns"].number(""), 3'000'000u);
  EXPECT_EQ(range.root()["ready_ns"].number(""), 1'000'000u);
  EXPECT_EQ(range.root()["held_up_ns"].number(""), 1'500'000u);
  const json::Document totals = get("selection", "from=3000000&to=7500000&tracks=0");
  std::vector<std::string> sums;
  for (const auto& row : totals.root()["states"].list(""))
    sums.push_back(base::format("{} {}", row["name"].text(""), row["total_ns"].number("")));
  EXPECT_EQ(sums, (std::vector<std::string>{"waiting: lib.so+0x201 2000000", "held up by Kymo 1500000", "ready 500000",
                                            "running 500000"}));
  const auto longest = totals.root()["states"].list("")[0]["longest"];
  EXPECT_EQ(longest["track"].number(""), track.id);
  EXPECT_EQ(longest["index"].number(""), wait.index);
  EXPECT_EQ(longest["start_ns"].number(""), 2'000'000u);
  EXPECT_EQ(longest["end_ns"].number(""), 5'000'000u);
}

TEST_F(DerivedTest, EachTaskOfAsyncioHasATrackOfItsOwnUpToALimit) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "request");
    recorder.add_class(2, "loader", "asyncio");
    recorder.add_class(3, "loader", "asyncio step");
    recorder.add_class(4, "Task-{}", "asyncio", {{"", FieldType::UInt}});
    recorder.add_thread(1, 1, "main");
    recorder.point(1, 1000, PointKind::AsyncBegin, 1, 1);
    recorder.point(1, 1010, PointKind::AsyncBegin, 2, 2);
    recorder.point(1, 1020, PointKind::AsyncBegin, 3, 3);
    recorder.point(1, 1030, PointKind::AsyncEnd, 3, 3);
    for (uint64_t i = 0; i < 2 * DerivedTrack::kMaxTasks; ++i) {
      recorder.point(1, 2000 + 2 * i, PointKind::AsyncBegin, 4, 10 + i, {static_cast<int64_t>(i)});
      recorder.point(1, 2001 + 2 * i, PointKind::AsyncEnd, 4, 10 + i, {static_cast<int64_t>(i)});
    }
    recorder.point(1, 9000, PointKind::AsyncEnd, 2, 2);
    recorder.point(1, 9001, PointKind::AsyncEnd, 1, 1);
    recorder.close();
  }
  open();
  std::map<std::string, size_t> ranges;
  for (const auto& track : view_->derived()) ranges[track->name] = track->items.size();
  EXPECT_EQ(ranges.at("task loader"), 2u);  // itself, and its step below it
  EXPECT_EQ(ranges.at("task Task-0"), 1u);
  EXPECT_LE(ranges.size(), DerivedTrack::kMaxTasks + 1);
  size_t total = 0;
  for (const auto& [name, count] : ranges) total += count;
  EXPECT_EQ(total, 3 + 2 * DerivedTrack::kMaxTasks);
}

TEST_F(DerivedTest, ArrowsOfWhatIsVisibleAndWhatACallWaitedFor) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "launch");
    recorder.add_class(2, "kernel");
    recorder.add_class(3, "cudaDeviceSynchronize");
    recorder.add_class(4, "flow");
    recorder.add_thread(1, 1, "main");
    recorder.add_thread(2, 2, "other");
    testing::add_queue(recorder, 3);
    for (uint64_t i = 0; i < 3; ++i) {
      recorder.begin(1, 100 + 10 * i, 1, {}, 70 + i);
      if (i == 0) recorder.point(1, 102, PointKind::FlowBegin, 4, 9);
      recorder.end(1, 105 + 10 * i);
      recorder.complete(3, 200 + 100 * i, 290 + 100 * i, 2, 0, 0, 70 + i);
    }
    recorder.begin(1, 140, 3);
    recorder.end(1, 495);
    recorder.begin(2, 150, 1);
    recorder.point(2, 155, PointKind::FlowEnd, 4, 9);
    recorder.end(2, 160);
    recorder.close();
  }
  open();
  const json::Document all = get("links", "from=0&to=1000&tracks=0,1,2");
  std::map<std::string, size_t> kinds;
  for (const json::Value& link : all.root()["links"].list("")) ++kinds[std::string(link["kind"].text(""))];
  EXPECT_EQ(kinds, (std::map<std::string, size_t>{{"flow", 1}, {"launch", 3}}));
  EXPECT_TRUE(all.root()["complete"].boolean(""));
  // Only the second kernel begins here; its launch is found although it is not visible.
  const json::Document part = get("links", "from=150&to=250&tracks=2");
  ASSERT_EQ(part.root()["links"].list("").size(), 1u);
  EXPECT_EQ(part.root()["links"].list("")[0]["from"]["time_ns"].number(""), 10u);
  EXPECT_EQ(part.root()["links"].list("")[0]["to"]["time_ns"].number(""), 200u);

  const auto chunk_of = [&](size_t track) { return std::to_string(view_->sources()[0]->tracks()[track].chunks[0]); };
  const json::Document wait = get("event", "track=0&index=3&chunk=" + chunk_of(0));
  EXPECT_EQ(wait.root()["name"].text(""), "cudaDeviceSynchronize");
  ASSERT_EQ(wait.root()["waited_for"].list("").size(), 1u);
  EXPECT_EQ(wait.root()["waited_for"].list("")[0]["end_ns"].number(""), 390u);
  // The second kernel was launched while the first one was in the queue.
  const json::Document kernel = get("event", "track=2&index=1&chunk=" + chunk_of(2));
  ASSERT_EQ(kernel.root()["waited_for"].list("").size(), 1u);
  EXPECT_EQ(kernel.root()["waited_for"].list("")[0]["start_ns"].number(""), 100u);
  for (const char* query : {"from=5&to=5&tracks=0", "from=0&to=9", "from=-1&to=9&tracks=0", "from=0&to=9&tracks="})
    EXPECT_EQ(answer(*view_, analyses_, "links", Query::parse(query)).status, 400) << query;
  EXPECT_EQ(answer(*view_, analyses_, "links", Query::parse("from=0&to=9&tracks=99")).status, 404);
}

TEST_F(DerivedTest, ArrowsAreBounded) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "launch");
    recorder.add_class(2, "kernel");
    recorder.add_thread(1, 1, "main");
    testing::add_queue(recorder, 3);
    for (uint64_t i = 1; i <= 5000; ++i) {
      recorder.begin(1, 100 * i, 1, {}, i);
      recorder.end(1, 100 * i + 5);
      recorder.complete(3, 100 * i + 10, 100 * i + 11 + (i == 2500 ? 50 : 0), 2, 0, 0, i);
    }
    recorder.close();
  }
  open();
  // The time for an answer is limited, too. On a busy machine, it is asked for again.
  std::optional<json::Document> all;
  for (int attempt = 0; attempt < 100; ++attempt) {
    all.emplace(get("links", "from=0&to=1000000&tracks=0,1"));
    if (!all->root()["links"].list("").empty()) break;
  }
  EXPECT_FALSE(all->root()["complete"].boolean(""));
  const std::vector<json::Value> links = all->root()["links"].list("");
  EXPECT_EQ(links.size(), 300u);
  EXPECT_TRUE(std::any_of(links.begin(), links.end(), [](const json::Value& link) {
    return link["to"]["time_ns"].number("") == 100 * 2500 + 10 - 100;  // the longest one is kept
  }));
}

// Two ranks with eight steps of 1 ms: a kernel, and a collective. The second one computes 0.4 ms longer.
void write_ranks(const std::string& path) {
  constexpr uint64_t kStep = 1'000'000, kLate = 400'000;
  for (const uint8_t rank : {0, 1}) {
    TestRecorder recorder(path, static_cast<uint8_t>(rank + 1), 100 + rank,
                          rank == 0 ? trace::Writer::Mode::Create : trace::Writer::Mode::Append, 0, "/usr/bin/train",
                          {{"RANK", std::to_string(rank)}});
    recorder.add_class(1, "step {}", "training", {{"", FieldType::Int}});
    recorder.add_class(2, "cudaLaunchKernel", "cuda_runtime");
    recorder.add_class(3, "gemm");
    recorder.add_class(4, "ncclDevKernel_AllReduce_Sum_f32");
    recorder.add_class(5, "power [W]", "", {{"value", FieldType::Double}});
    recorder.add_thread(1, 1, "main");
    recorder.add_queue(2, "device " + std::to_string(rank), "queue");
    for (uint64_t step = 0; step < 8; ++step) {
      const uint64_t at = (step + 1) * kStep, arrival = at + 300'000 + rank * kLate;
      recorder.begin(1, at, 1, {int64_t(step)});
      for (const uint64_t call : {0, 1}) {
        recorder.begin(1, at + 1000 + 5000 * call, 2, {}, 2 * step + call + 1);
        recorder.end(1, at + 4000 + 5000 * call);
      }
      recorder.end(1, at + 900'000);
      recorder.point(1, at + 50'000, PointKind::Counter, 5, 0, {double(100 * step)});
      recorder.point(1, at + 150'000, PointKind::Counter, 5, 0, {double(100 * step + 50)});
      recorder.complete(2, at + 100'000, arrival, 3, 0, 0, 2 * step + 1);
      recorder.complete(2, arrival, at + 800'000, 4, 0, 0, 2 * step + 2);
    }
    recorder.close();
  }
}

TEST_F(DerivedTest, RanksHaveTheirIterationsAndWaits) {
  write_ranks(folder_ / "a.kymo");
  open();
  std::vector<std::shared_ptr<const DerivedTrack>> ranks;
  for (auto& track : view_->derived())
    if (track->kind == DerivedTrack::Kind::Rank) ranks.push_back(std::move(track));
  ASSERT_EQ(ranks.size(), 2u);
  const auto shown = [&](const DerivedTrack& rank, uint16_t depth) {
    std::vector<std::string> texts;
    for (const Item& item : rank.items)
      if (item.depth == depth && texts.size() < 2)
        texts.push_back(
            base::format("{} {}-{}", view_->names().entry(item.name).text, item.start / 1000, item.end / 1000));
    return texts;
  };
  EXPECT_EQ(shown(*ranks[0], 0), (std::vector<std::string>{"step 0 0-900", "step 1 1000-1900"}));
  EXPECT_EQ(shown(*ranks[0], 1),
            (std::vector<std::string>{"waiting for rank 1 300-700", "waiting for rank 1 1300-1700"}));
  EXPECT_EQ(shown(*ranks[1], 1), (std::vector<std::string>{"all others wait 300-700", "all others wait 1300-1700"}));
  const json::Document trace = get("trace");
  std::map<std::string, json::Value> by_name;
  for (const json::Value& track : trace.root()["tracks"].list(""))
    if (track["kind"].text("") == "rank") by_name.emplace(track["name"].text(""), track);
  ASSERT_EQ(by_name.size(), 2u);
  EXPECT_FALSE(by_name.at("rank 0")["straggler"].boolean(""));
  EXPECT_EQ(by_name.at("rank 0")["waited_ns"].number(""), 8 * 400'000u);
  EXPECT_TRUE(by_name.at("rank 1")["straggler"].boolean(""));
  EXPECT_EQ(by_name.at("rank 1")["calls"].number(""), 8u);
  EXPECT_EQ(by_name.at("rank 1")["last_at"].number(""), 8u);
  EXPECT_EQ(by_name.at("rank 1")["awaited_ns"].number(""), 8 * 400'000u);
  for (const json::Value& track : trace.root()["tracks"].list("")) {
    if (track["kind"].text("") == "rank") continue;
    ASSERT_TRUE(track.find("rank")) << track["name"].text("");
    EXPECT_TRUE(track["rank"].number("") == ranks[0]->id || track["rank"].number("") == ranks[1]->id);
  }
  const Item& wait = ranks[0]->items[1];
  const json::Document details =
      get("event", base::format("track={}&chunk={}&index={}", ranks[0]->id, wait.chunk, wait.index));
  EXPECT_EQ(details.root()["name"].text(""), "waiting for rank 1");
  EXPECT_EQ(details.root()["kind"].text(""), "rank");
  // A rank stands for all of its tracks.
  const json::Document totals = get("selection", base::format("from=0&to=20000000&tracks={}", ranks[0]->id));
  std::map<std::string, uint64_t> counts;
  for (const json::Value& row : totals.root()["ranges"].list(""))
    counts[std::string(row["name"].text(""))] = row["count"].number("");
  EXPECT_EQ(counts.at("gemm"), 8u);
}

TEST_F(DerivedTest, WorkHasItsLaunchAndCountersAndRangesTheirWork) {
  write_ranks(folder_ / "a.kymo");
  open();
  const auto track_of = [&](size_t position) { return view_->track_id(0, position); };
  size_t thread = SIZE_MAX, queue = SIZE_MAX;
  const auto& tracks = view_->sources()[0]->tracks();
  for (size_t i = 0; i < tracks.size(); ++i)
    if (tracks[i].writer.bytes[0] == 1) (tracks[i].is_queue ? queue : thread) = i;
  ASSERT_NE(thread, SIZE_MAX);
  ASSERT_NE(queue, SIZE_MAX);
  // Of the first kernel, from 100 to 300 µs: 0 W for 50 µs, then 50 W.
  const std::string first = base::format("track={}&chunk={}&index=0", track_of(queue), tracks[queue].chunks[0]);
  const json::Document kernel = get("event", first);
  EXPECT_EQ(kernel.root()["launched_by"]["name"].text(""), "cudaLaunchKernel");
  const auto stack = kernel.root()["launch_stack"].list("");
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_EQ(stack[0]["name"].text(""), "step 0");
  EXPECT_EQ(stack[0]["category"].text(""), "training");
  const auto counters = kernel.root()["counters"].list("");
  ASSERT_EQ(counters.size(), 1u);
  EXPECT_EQ(counters[0]["name"].text(""), "power [W]");
  const std::string text = answer(*view_, analyses_, "event", Query::parse(first)).body;
  EXPECT_NE(text.find(R"("mean": 37.5,)"), std::string::npos) << text;
  EXPECT_EQ(counters[0]["values"].number(""), 1u);

  const json::Document step = get("launched", base::format("track={}&from=1000000&to=1900000", track_of(thread)));
  ASSERT_EQ(step.root()["count"].number(""), 2u);
  EXPECT_EQ(step.root()["work"].list("")[0]["start_ns"].number(""), 1'100'000u);
  EXPECT_EQ(step.root()["work"].list("")[1]["name"].text(""), "ncclDevKernel_AllReduce_Sum_f32");
  const json::Document all = get("launched", "file=0&name=step+%7B%7D");
  EXPECT_EQ(all.root()["count"].number(""), 32u);
  EXPECT_TRUE(all.root()["complete"].boolean(""));
  EXPECT_EQ(all.root()["names"].list("")[0]["count"].number(""), 16u);
  EXPECT_EQ(get("launched", "name=step+3").root()["count"].number(""), 4u);
  EXPECT_EQ(get("launched", "name=nothing").root()["count"].number(""), 0u);
  EXPECT_EQ(answer(*view_, analyses_, "launched", Query::parse("track=999&from=0&to=9")).status, 404);
  EXPECT_EQ(answer(*view_, analyses_, "launched", Query::parse("file=9&name=a")).status, 404);
  EXPECT_EQ(answer(*view_, analyses_, "launched", Query::parse("from=0&to=9")).status, 400);

  const json::Document flame = get("flame", "by=device&from=0&to=20000000");
  std::map<std::string, uint64_t> of_device;
  for (const json::Value& frame : flame.root()["flame"].list(""))
    of_device[std::string(frame["name"].text(""))] += frame["total_ns"].number("");
  EXPECT_EQ(of_device.at("gemm"), 8 * (200'000u + 600'000u));
  EXPECT_EQ(of_device.at("step {}"), 8 * 2 * 700'000u);
  EXPECT_EQ(of_device.at("all"), 8 * 2 * 700'000u);
  EXPECT_EQ(answer(*view_, analyses_, "flame", Query::parse("by=range&from=0&to=9")).status, 400);
}

}  // namespace
}  // namespace kymo::serve
