// Totals of selected tracks: functions of CPU samples, ranges across threads, and threads that two writers recorded.

#include <gtest/gtest.h>

#include "analyze/functions/functions.h"
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

class SelectionTest : public ::testing::Test {
 protected:
  // The samples of two threads. The file of their functions is described on the first thread only.
  void record_samples() {
    TestRecorder recorder(folder_ / "a.kymo", 1);
    recorder.add_class(1, "sample", "cpu", {{"node", FieldType::UInt}});
    recorder.add_class(2, "stack node", "kymo.stack",
                       {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}});
    recorder.add_class(3, "module", "kymo.stack",
                       {{"path", FieldType::String},
                        {"base", FieldType::Pointer},
                        {"size", FieldType::ByteCount},
                        {"build_id", FieldType::String}});
    recorder.add_thread(1, 100, "app");
    recorder.add_thread(2, 101, "helper");
    recorder.point(1, 0, PointKind::Instant, 3, 0,
                   {std::string("/gone/lib.so"), int64_t{0x1000}, int64_t{0x1000}, std::string()});
    for (const uint32_t track : {1u, 2u}) {
      recorder.point(track, 0, PointKind::Instant, 2, 0, {int64_t{16}, int64_t{1}, int64_t{0x1101}});
      recorder.point(track, 0, PointKind::Instant, 2, 0, {int64_t{17}, int64_t{16}, int64_t{0x1201}});
      for (uint64_t i = 1; i <= 10; ++i) {
        recorder.point(track, i * 1'000'000, PointKind::Sample, 1, 0, {int64_t{i <= 4 ? 16 : 17}});
        if (i == 5) recorder.cut(track);
      }
    }
    recorder.close();
  }
  // The ranges of the first thread, by another writer.
  void record_ranges() {
    TestRecorder recorder(folder_ / "a.kymo", 2, 100, trace::Writer::Mode::Append);
    recorder.add_class(1, "outer");
    recorder.add_class(2, "request {}", "net", {{"", FieldType::UInt}});
    recorder.add_thread(1, 100, "main");
    recorder.begin(1, 1'000'000, 1);
    for (int64_t i = 0; i < 3; ++i)
      recorder.point(1, static_cast<uint64_t>(2 + i) * 1'000'000, PointKind::AsyncBegin, 2,
                     static_cast<uint64_t>(7 + i), {i});
    for (int64_t i = 0; i < 3; ++i)
      recorder.point(1, static_cast<uint64_t>(5 + 2 * i) * 1'000'000, PointKind::AsyncEnd, 2,
                     static_cast<uint64_t>(7 + i), {i});
    recorder.end(1, 9'500'000);
    recorder.close();
  }
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
  // The track with this name, as the page gets it.
  json::Value track(const json::Document& trace, const std::string& name) {
    for (const json::Value& one : trace.root()["tracks"].list(""))
      if (one["name"].text("") == name) return one;
    throw Error("there is no track " + name);
  }
  // "name self/total samples".
  static std::vector<std::string> functions(const json::Document& selection) {
    std::vector<std::string> rows;
    for (const json::Value& row : selection.root()["functions"].list(""))
      rows.push_back(base::format("{} {}/{}", row["function"].text(""), row["self_samples"].number(""),
                                  row["total_samples"].number("")));
    return rows;
  }

  const TemporaryFolder folder_;
  std::unique_ptr<View> view_;
  Analyses analyses_;
};

TEST_F(SelectionTest, FunctionsOfTheWholeTraceAreThoseOfStatsByFunction) {
  record_samples();
  open();
  const json::Document trace = get("trace");
  std::string ids;
  for (const json::Value& one : trace.root()["tracks"].list("")) ids += base::format(",{}", one["id"].number(""));
  functions::Samples samples = functions::read_samples(trace::Reader(folder_ / "a.kymo"));
  const functions::FunctionTable expected = functions::count_functions(samples);
  for (const std::string& tracks : {std::string(), "&tracks=" + ids.substr(1)}) {
    const json::Document all = get("selection", "from=0&to=100000000" + tracks);
    const std::vector<json::Value> rows = all.root()["functions"].list("");
    ASSERT_EQ(rows.size(), expected.rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i]["function"].text(""), expected.rows[i].function);
      EXPECT_EQ(rows[i]["module"].text(""), expected.rows[i].module);
      EXPECT_EQ(rows[i]["self_samples"].number(""), expected.rows[i].self_samples);
      EXPECT_EQ(rows[i]["self_ns"].number(""), expected.rows[i].self_ns);
      EXPECT_EQ(rows[i]["total_ns"].number(""), expected.rows[i].total_ns);
    }
    EXPECT_EQ(all.root()["samples"].number(""), 20u);
    EXPECT_EQ(all.root()["sampled_ns"].number(""), 20'000'000u);
    const std::vector<json::Value> flame = all.root()["function_flame"].list("");
    EXPECT_EQ(flame.front()["total_ns"].number(""), 20'000'000u);
    EXPECT_EQ(flame.back()["kind"].text(""), "function");
  }
}

TEST_F(SelectionTest, CpuTimeBeforeTheFirstEventCountsAsInStats) {
  {
    constexpr uint64_t kMs = 1'000'000;
    TestRecorder recorder(folder_ / "a.kymo");
    testing::add_sample_classes(recorder);
    recorder.add_class(5, "on CPU", "cpu", {{"ns", FieldType::UInt}});
    recorder.add_thread(1, 100, "app");
    recorder.point(1, 50 * kMs, PointKind::Instant, 2, 0, {int64_t{16}, int64_t{1}, int64_t{0x1101}});
    recorder.point(1, 51 * kMs, PointKind::Sample, 1, 0, {int64_t{16}});
    recorder.point(1, 52 * kMs, PointKind::Sample, 1, 0, {int64_t{16}});
    recorder.point(1, 53 * kMs, PointKind::Sample, 5, 0, {static_cast<int64_t>(13 * kMs)});
    recorder.close();
  }
  open();
  functions::Samples samples = functions::read_samples(trace::Reader(folder_ / "a.kymo"));
  const functions::FunctionTable expected = functions::count_functions(samples);
  const json::Document all = get("selection", "from=0&to=3000000");
  EXPECT_EQ(all.root()["sampled_ns"].number(""), expected.time_ns);
}

TEST_F(SelectionTest, OneThreadAndAPartOfTheTime) {
  record_samples();
  open();
  const json::Document trace = get("trace");
  // The functions of the second thread have names although their file is described on the first one.
  const uint64_t helper = track(trace, "helper: functions")["id"].number("");
  EXPECT_EQ(functions(get("selection", base::format("from=0&to=100000000&tracks={}", helper))),
            (std::vector<std::string>{"lib.so+0x201 6/6", "lib.so+0x101 4/10"}));
  const int64_t third = view_->derived()[0]->items[0].start + 2'000'000;
  EXPECT_EQ(functions(get("selection", base::format("from={}&to={}&tracks={}", third, third + 3'000'000, helper))),
            (std::vector<std::string>{"lib.so+0x101 2/3", "lib.so+0x201 1/1"}));
}

TEST_F(SelectionTest, AThreadThatTwoWritersRecordedIsOne) {
  record_samples();
  record_ranges();
  open();
  const json::Document trace = get("trace");
  const json::Value main = track(trace, "main");
  EXPECT_EQ(track(trace, "main: samples")["thread"].number(""), main["id"].number(""));
  EXPECT_EQ(track(trace, "main: functions")["thread"].number(""), main["id"].number(""));
  EXPECT_EQ(track(trace, "helper: functions")["thread"].number(""), track(trace, "helper")["id"].number(""));
  for (const char* const name : {"main", "main: functions"}) {
    const json::Document part =
        get("selection", base::format("from=0&to=100000000&tracks={}", track(trace, name)["id"].number("")));
    EXPECT_EQ(functions(part), (std::vector<std::string>{"lib.so+0x201 6/6", "lib.so+0x101 4/10"}));
    EXPECT_EQ(part.root()["ranges"].list("").size(), 2u);
  }
}

TEST_F(SelectionTest, RangesAcrossThreadsAreCountedOnTheirTrack) {
  record_samples();
  record_ranges();
  open();
  const json::Document trace = get("trace");
  uint64_t across = 0;
  for (const json::Value& one : trace.root()["tracks"].list(""))
    if (one["kind"].text("") == "across") across = one["id"].number("");
  uint64_t start = 0;
  for (const auto& derived : view_->derived())
    if (derived->id == across) start = static_cast<uint64_t>(derived->items[0].start);
  const json::Document alone = get("selection", base::format("from=0&to=100000000&tracks={}", across));
  const std::vector<json::Value> rows = alone.root()["ranges"].list("");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["name"].text(""), "request {}");
  EXPECT_EQ(rows[0]["category"].text(""), "net");
  EXPECT_TRUE(rows[0]["across_threads"].boolean(""));
  EXPECT_EQ(rows[0]["count"].number(""), 3u);
  EXPECT_EQ(rows[0]["total_ns"].number(""), 12'000'000u);
  EXPECT_EQ(rows[0]["median_ns"].number(""), 4'000'000u);
  EXPECT_EQ(rows[0]["max_ns"].number(""), 5'000'000u);
  // Cut at the two times.
  const json::Document part =
      get("selection", base::format("from={}&to={}&tracks={}", start + 500'000, start + 1'500'000, across));
  EXPECT_EQ(part.root()["ranges"].list("")[0]["total_ns"].number(""), 1'500'000u);
  // With their thread they are counted once.
  const json::Document both =
      get("selection", base::format("from=0&to=100000000&tracks={},{}", track(trace, "main")["id"].number(""), across));
  std::map<std::string, uint64_t> counts;
  for (const json::Value& row : both.root()["ranges"].list(""))
    counts[std::string(row["name"].text(""))] += row["count"].number("");
  EXPECT_EQ(counts, (std::map<std::string, uint64_t>{{"outer", 1}, {"request {}", 3}}));
}

TEST_F(SelectionTest, AllOfTheTimeHasTheLastEvent) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "mark");
    recorder.add_thread(1, 100, "main");
    for (uint64_t i = 1; i <= 3; ++i) recorder.point(1, 1'000 * i, PointKind::Instant, 1);
    recorder.close();
  }
  open();
  const json::Document all = get("selection", base::format("from=0&to={}", view_->sources()[0]->duration_ns()));
  EXPECT_EQ(all.root()["instants"].list("").at(0)["count"].number(""), 3u);
}

TEST_F(SelectionTest, WorkOfADeviceHasItsLaunchAlsoIfThatIsBeforeThePart) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "step");
    recorder.add_class(2, "launch", "cuda_runtime");
    recorder.add_class(3, "gemm", "kernel");
    recorder.add_thread(1, 100, "main");
    testing::add_queue(recorder, 2);
    recorder.begin(1, 0, 1);
    for (uint64_t i = 1; i <= 2; ++i) {
      recorder.begin(1, 1'000 * i, 2, {}, i);
      recorder.end(1, 1'000 * i + 100);
      recorder.complete(2, 10'000 * i, 10'000 * i + 5'000, 3, 0, 0, i);
    }
    recorder.end(1, 4'000);
    recorder.close();
  }
  open();
  const auto flame = [&](const std::string& times) {
    std::vector<std::string> frames;
    const json::Document answer = get("flame", "by=device&" + times);
    for (const json::Value& frame : answer.root()["flame"].list(""))
      frames.push_back(
          base::format("{} {} {}", frame["depth"].number(""), frame["name"].text(""), frame["total_ns"].number("")));
    return frames;
  };
  const std::vector<std::string> all = flame("from=0&to=30000");
  ASSERT_EQ(all.back(), "4 gemm 10000");
  EXPECT_EQ(all[all.size() - 2], "3 step 10000");
  const std::vector<std::string> part = flame("from=12000&to=23000");  // 3,000 ns of each kernel
  ASSERT_EQ(part.size(), all.size());
  EXPECT_EQ(part.back(), "4 gemm 6000");
  EXPECT_EQ(part[part.size() - 2], "3 step 6000");
  EXPECT_EQ(flame("from=16000&to=19000").back(), "0 all 0");
}

}  // namespace
}  // namespace kymo::serve
