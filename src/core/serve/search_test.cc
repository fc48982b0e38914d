// api/search: events in chunks, and those that are computed from all chunks.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "analyze/stats.h"
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

class SearchTest : public ::testing::Test {
 protected:
  void open(const std::vector<std::string>& paths) {
    std::vector<trace::Reader> readers;
    for (const std::string& path : paths) readers.emplace_back(path);
    view_ = std::make_unique<View>(std::move(readers));
    view_->wait_until_built();
  }
  json::Document get(const std::string& path, const std::string& query) {
    const Answer made = answer(*view_, {}, path, Query::parse(query));
    EXPECT_EQ(made.status, 200) << made.body;
    return json::Document(made.body);
  }
  // The only track with hits.
  static uint64_t track_of(const json::Document& found) {
    EXPECT_EQ(found.root()["tracks"].list("").size(), 1u);
    return found.root()["tracks"].list("").at(0)["track"].number("");
  }

  const TemporaryFolder folder_;
  std::unique_ptr<View> view_;
};

TEST_F(SearchTest, FindsEveryEventWithTheName) {
  testing::write_random_trace(folder_ / "a.kymo", 4, 1000);
  open({folder_ / "a.kymo"});
  const analyze::Statistics statistics = analyze::compute_statistics(trace::Reader(folder_ / "a.kymo"));
  uint64_t alphas = 0;
  for (const analyze::RangeRow& row : statistics.ranges)
    if (row.name == "alpha") alphas += row.count;
  for (const char* query : {"q=ALPHA&limit=50", "q=a?ph*&limit=50"}) {
    const json::Document found = get("search", query);
    EXPECT_EQ(found.root()["total"].number(""), alphas);
    EXPECT_TRUE(found.root()["complete"].boolean(""));
    EXPECT_EQ(found.root()["names"].list("").size(), 1u);
    const std::vector<json::Value> hits = found.root()["hits"].list("");
    ASSERT_EQ(hits.size(), 50u);
    for (size_t i = 1; i < hits.size(); ++i)
      EXPECT_LE(hits[i - 1]["start_ns"].number(""), hits[i]["start_ns"].number(""));
    uint64_t binned = 0;
    for (const json::Value& track : found.root()["tracks"].list(""))
      for (const json::Value& bin : track["bins"].list("")) binned += bin.list("")[1].number("");
    EXPECT_EQ(binned, alphas);
  }
  EXPECT_EQ(get("search", "q=nothing+like+this").root()["total"].number(""), 0u);
  const json::Document marks = get("search", "q=mark");
  uint64_t instants = 0;
  for (const analyze::InstantRow& row : statistics.instants) instants += row.count;
  EXPECT_EQ(marks.root()["total"].number(""), instants);
}

TEST_F(SearchTest, HitsAreThoseNearestToTheTime) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "beat");
    for (uint32_t track = 1; track <= 2; ++track) {
      recorder.add_thread(track, 100 + track, "main");
      for (uint64_t i = 0; i < 500; ++i) {
        recorder.complete(track, 1000 * (2 * i + track), 1000 * (2 * i + track) + 100, 1);
        if (i % 50 == 0) recorder.cut(track);
      }
    }
    recorder.close();
  }
  open({folder_ / "a.kymo"});
  // They begin every 1,000 ns; the first one is at 0 on the page.
  const auto starts = [&](const std::string& query, uint64_t before) {
    const json::Document found = get("search", "q=beat&limit=4" + query);
    EXPECT_EQ(found.root()["total"].number(""), 1000u);
    EXPECT_EQ(found.root()["before"].number(""), before);
    std::vector<uint64_t> all;
    for (const json::Value& hit : found.root()["hits"].list("")) all.push_back(hit["start_ns"].number("") / 1000);
    return all;
  };
  const uint64_t first = starts("", 0).front();
  const auto from = [&](uint64_t begin) {
    return std::vector<uint64_t>{first + begin, first + begin + 1, first + begin + 2, first + begin + 3};
  };
  EXPECT_EQ(starts("", 0), from(0));
  EXPECT_EQ(starts(base::format("&at={}", (first + 600) * 1000 + 500), 599), from(599));
  EXPECT_EQ(starts("&at=9000000000", 996), from(996));
}

TEST_F(SearchTest, FindsTheTextOfASingleRange) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "step {}", "", {{"", trace::FieldType::Int}});
    recorder.add_thread(1, 1, "main");
    for (int64_t i = 0; i < 100; ++i) {
      recorder.begin(1, 100 + 10 * static_cast<uint64_t>(i), 1, {i});
      recorder.end(1, 105 + 10 * static_cast<uint64_t>(i));
    }
    recorder.close();
  }
  open({folder_ / "a.kymo"});
  const json::Document found = get("search", "q=step+42");
  ASSERT_EQ(found.root()["total"].number(""), 1u);
  EXPECT_EQ(found.root()["hits"].list("")[0]["name"].text(""), "step 42");
  EXPECT_EQ(found.root()["hits"].list("")[0]["start_ns"].number(""), 420u);
  // A part of the name, the whole name, and the name of the class.
  EXPECT_EQ(get("search", "q=step+4").root()["total"].number(""), 11u);
  EXPECT_EQ(get("search", "q=%22step+4%22").root()["total"].number(""), 1u);
  EXPECT_EQ(get("search", "q=%22Step+4%22").root()["total"].number(""), 0u);
  EXPECT_EQ(get("search", "q=%22step+{}%22").root()["total"].number(""), 100u);
}

TEST_F(SearchTest, AHitHasItsRow) {
  constexpr uint64_t kDepth = 300;
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "outer");
    recorder.add_class(2, "innermost");
    recorder.add_thread(1, 1, "main");
    for (uint64_t i = 0; i < kDepth; ++i) recorder.begin(1, 100 + i, i + 1 == kDepth ? 2 : 1);
    for (uint64_t i = 0; i < kDepth; ++i) recorder.end(1, 1000 + i);
    recorder.close();
  }
  open({folder_ / "a.kymo"});
  const json::Document found = get("search", "q=innermost");
  EXPECT_EQ(found.root()["hits"].list("")[0]["depth"].number(""), kDepth - 1);
  EXPECT_EQ(found.root()["hits"].list("")[0]["lane"].number(""), 0u);
}

TEST_F(SearchTest, ReadsOnlyChunksThatMayHaveTheName) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "common");
    recorder.add_class(2, "rare");
    recorder.add_class(3, "never used");
    recorder.add_class(4, "step {}", "", {{"", trace::FieldType::Int}});
    recorder.add_thread(1, 1, "main");
    for (uint64_t i = 0; i < 8; ++i) {
      recorder.begin(1, 100 * i, i == 5 ? 2 : 1);
      recorder.end(1, 100 * i + 10);
      if (i == 6) {
        recorder.begin(1, 100 * i + 20, 4, {int64_t{7}});
        recorder.end(1, 100 * i + 30);
        recorder.begin(1, 100 * i + 40, trace::kInlineName, {std::string("stored name")});
        recorder.end(1, 100 * i + 50);
      }
      recorder.cut(1);
    }
    recorder.close();
  }
  open({folder_ / "a.kymo"});
  get("trace", "");  // it reads which ranges have no end, as for every page
  std::atomic<int> read = 0;
  view_->sources()[0]->reader().on_read([&](const trace::EventChunk&) { ++read; });
  const auto search = [&](const std::string& text) {
    read = 0;
    return get("search", "q=" + text).root()["total"].number("");
  };
  EXPECT_EQ(search("absent"), 0u);
  EXPECT_EQ(read, 1);  // the chunk with a name that is stored with its range
  EXPECT_EQ(search("never+used"), 0u);
  EXPECT_EQ(read, 1);
  EXPECT_EQ(search("rare"), 1u);
  EXPECT_EQ(read, 2);
  EXPECT_EQ(search("step+7"), 1u);
  EXPECT_EQ(read, 1);
  EXPECT_EQ(search("stored"), 1u);
  EXPECT_EQ(read, 1);
  EXPECT_EQ(search("common"), 7u);
}

TEST_F(SearchTest, FindsRangesAcrossThreadsAndTasks) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "request {}", "", {{"", FieldType::Int}});
    recorder.add_class(2, "loader", "asyncio");
    recorder.add_thread(1, 1, "main");
    recorder.add_thread(2, 2, "other");
    for (uint64_t i = 0; i < 20; ++i) {
      recorder.point(1, 1000 + 100 * i, PointKind::AsyncBegin, 1, 10 + i, {static_cast<int64_t>(i)});
      recorder.point(2, 1050 + 100 * i, PointKind::AsyncEnd, 1, 10 + i, {static_cast<int64_t>(i)});
    }
    recorder.point(1, 3000, PointKind::AsyncBegin, 2, 99);
    recorder.point(2, 3500, PointKind::AsyncEnd, 2, 99);
    recorder.close();
  }
  open({folder_ / "a.kymo"});
  const json::Document all = get("search", "q=request&limit=5");
  EXPECT_EQ(all.root()["total"].number(""), 20u);
  ASSERT_EQ(all.root()["names"].list("").size(), 1u);
  EXPECT_EQ(all.root()["names"].list("")[0]["name"].text(""), "request {}");
  EXPECT_EQ(all.root()["names"].list("")[0]["count"].number(""), 20u);
  EXPECT_EQ(all.root()["hits"].list("").size(), 5u);
  const json::Document one = get("search", "q=request+7");
  ASSERT_EQ(one.root()["total"].number(""), 1u);
  const json::Value hit = one.root()["hits"].list("")[0];
  EXPECT_EQ(hit["name"].text(""), "request 7");
  EXPECT_EQ(hit["start_ns"].number(""), 700u);
  EXPECT_EQ(hit["end_ns"].number(""), 750u);
  EXPECT_EQ(hit["lane"].number(""), 0u);
  EXPECT_EQ(hit["track"].number(""), track_of(one));
  // A hit is what its details are about.
  const json::Document details = get("event", base::format("track={}&chunk={}&index={}", hit["track"].number(""),
                                                           hit["chunk"].number(""), hit["index"].number("")));
  EXPECT_EQ(details.root()["name"].text(""), "request 7");
  const json::Document task = get("search", "q=load*");
  EXPECT_EQ(task.root()["total"].number(""), 1u);
  EXPECT_NE(track_of(task), track_of(one));  // each task has a track of its own
}

TEST_F(SearchTest, FindsFunctionsOfSamples) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    testing::add_sample_classes(recorder);
    recorder.add_thread(1, 1, "worker");
    testing::add_stack(recorder, 1, {0x1101, 0x1201});
    for (const uint64_t time : {0, 1, 9}) recorder.point(1, 1'000'000 * time, PointKind::Sample, 1, 0, {int64_t{17}});
    recorder.close();
  }
  open({folder_ / "a.kymo"});
  const json::Document inner = get("search", "q=0x201");
  EXPECT_EQ(inner.root()["total"].number(""), 2u);  // of 0 to 2 ms, and of 9 to 10 ms
  EXPECT_EQ(inner.root()["names"].list("")[0]["name"].text(""), "lib.so+0x201");
  const json::Value hit = inner.root()["hits"].list("")[0];
  EXPECT_EQ(hit["end_ns"].number(""), 2'000'000u);
  EXPECT_EQ(hit["depth"].number(""), 1u);
  EXPECT_EQ(view_->derived().at(0)->id, track_of(inner));
  const json::Document details = get("event", base::format("track={}&chunk={}&index={}", hit["track"].number(""),
                                                           hit["chunk"].number(""), hit["index"].number("")));
  EXPECT_EQ(details.root()["stack"].list("")[0]["function"].text(""), "lib.so+0x201");
  EXPECT_EQ(get("search", "q=lib.so*").root()["total"].number(""), 4u);
}

TEST_F(SearchTest, FindsRangesWithoutAnEnd) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "open");
    recorder.add_class(2, "inside");
    recorder.add_thread(1, 1, "main");
    recorder.begin(1, 100, 1);
    recorder.begin(1, 110, 2);
    recorder.end(1, 120);
    recorder.close();
  }
  open({folder_ / "a.kymo"});
  const json::Document found = get("search", "q=open");
  ASSERT_EQ(found.root()["total"].number(""), 1u);
  EXPECT_EQ(found.root()["hits"].list("")[0]["index"].number(""), kOpenIndex);
}

TEST_F(SearchTest, ConditionsOnDurationThreadCategoryAndArguments) {
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "read", "io", {{"bytes", FieldType::ByteCount}, {"file", FieldType::String}});
    recorder.add_class(2, "step {}", "train", {{"", FieldType::Int}});
    recorder.add_class(3, "mark", "io");
    recorder.add_thread(1, 1, "main");
    recorder.add_thread(2, 2, "loader 7");
    for (uint64_t i = 0; i < 100; ++i) {
      const uint64_t start = i * 10'000'000;
      recorder.begin(1, start, 2, {static_cast<int64_t>(i)});
      recorder.end(1, start + (i + 1) * 1000);
      recorder.begin(2, start, 1, {static_cast<int64_t>(i * 100'000), "/data/Part " + std::to_string(i % 4)});
      recorder.end(2, start + 5000);
      recorder.point(2, start + 6000, PointKind::Instant, 3);
    }
    recorder.close();
  }
  open({folder_ / "a.kymo"});
  const auto total = [&](const std::string& query) { return get("search", "q=" + query).root()["total"].number(""); };
  EXPECT_EQ(total("step"), 100u);
  EXPECT_EQ(total("step+dur%3e90us"), 10u);
  EXPECT_EQ(total("dur%3e90us"), 10u);
  EXPECT_EQ(total("dur%3e90us+dur%3c95us+step"), 4u);
  EXPECT_EQ(total("\"step+7\"+dur%3e1us"), 1u);
  EXPECT_EQ(total("\"step+7\"+dur%3e8us"), 0u);
  EXPECT_EQ(total("thread:LOADER"), 200u);
  EXPECT_EQ(total("thread:main+read"), 0u);
  EXPECT_EQ(total("category:io"), 200u);
  EXPECT_EQ(total("category:io+dur%3e1ns"), 100u);
  EXPECT_EQ(total("arg:part"), 100u);
  EXPECT_EQ(total("arg.file:part"), 100u);
  EXPECT_EQ(total("arg.bytes%3e1MB"), 89u);
  EXPECT_EQ(total("read+arg.bytes%3e1MB+arg.bytes%3c2e6"), 9u);
  EXPECT_EQ(total("arg.file%3d/data/nothing"), 0u);
  EXPECT_EQ(total("arg.other%3e1"), 0u);
  const Answer wrong = answer(*view_, {}, "search", Query::parse("q=dur%3elong"));
  EXPECT_EQ(wrong.status, 400);
  EXPECT_NE(wrong.body.find("'long' is not a time: write it like 250ns"), wrong.body.npos) << wrong.body;
}

TEST_F(SearchTest, LengthsOfAllHitsAndTheSlowestOnes) {
  std::vector<int64_t> lengths;
  {
    TestRecorder recorder(folder_ / "a.kymo");
    recorder.add_class(1, "work");
    recorder.add_thread(1, 1, "main");
    std::mt19937_64 random(3);
    uint64_t now = 1000;
    for (size_t i = 0; i < 5000; ++i) {
      const uint64_t length = random() >> (30 + random() % 34);
      recorder.begin(1, now, 1);
      recorder.end(1, now + length);
      lengths.push_back(static_cast<int64_t>(length));
      now += length + 1;
      if (i % 700 == 0) recorder.cut(1);
    }
    recorder.close();
  }
  open({folder_ / "a.kymo"});
  const json::Document found = get("search", "q=work&limit=10");
  std::ranges::sort(lengths, std::greater());
  const std::vector<json::Value> slowest = found.root()["slowest"].list("");
  ASSERT_EQ(slowest.size(), 20u);
  for (size_t i = 0; i < slowest.size(); ++i)
    EXPECT_EQ(slowest[i]["end_ns"].number("") - slowest[i]["start_ns"].number(""), static_cast<uint64_t>(lengths[i]));
  uint64_t last = 0, sum = 0;
  for (const json::Value& row : found.root()["lengths"].list("")) {
    const uint64_t from = row.list("")[0].number(""), to = row.list("")[1].number(""),
                   many = row.list("")[2].number("");
    EXPECT_GE(from, last);
    EXPECT_EQ(many, static_cast<uint64_t>(std::ranges::count_if(lengths, [&](int64_t length) {
                return static_cast<uint64_t>(length) >= from && static_cast<uint64_t>(length) < to;
              })));
    last = to;
    sum += many;
  }
  EXPECT_EQ(sum, lengths.size());
}

}  // namespace
}  // namespace kymo::serve
