#include "serve/saved_page.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "base/text.h"
#include "json/document.h"
#include "serve/test_view.h"

namespace kymo::serve {
namespace {

using testing::open_view;
using testing::TemporaryFolder;
using testing::TestRecorder;

TEST(SavedPageTest, IsOneFileThatAsksForNothing) {
  const TemporaryFolder folder;
  testing::write_random_trace(folder / "run.kymo", 1, 500);
  const std::string page = saved_page(*open_view(folder / "run.kymo"), {});
  EXPECT_EQ(page.find("src="), page.npos);
  EXPECT_EQ(page.find("rel=\"stylesheet\""), page.npos);
  EXPECT_NE(page.find("default-src 'none'"), page.npos);
  EXPECT_NE(page.find("id=\"kymo-data\">H4sI"), page.npos);
}

TEST(SavedPageTest, NamesWithMarkupStayInsideTheData) {
  const TemporaryFolder folder;
  {
    TestRecorder recorder(folder / "run.kymo");
    recorder.add_class(1, "</script><script>alert(1)</script>");
    recorder.add_thread(1, 1, "<img src=x onerror=alert(1)>");
    recorder.complete(1, 10, 20, 1);
    recorder.close();
  }
  const std::string page = saved_page(*open_view(folder / "run.kymo"), {});
  EXPECT_EQ(page.find("alert(1)"), page.npos);
}

TEST(SavedPageTest, ATraceThatIsTooLargeNamesTheRemedy) {
  const TemporaryFolder folder;
  {
    TestRecorder recorder(folder / "large.kymo");
    recorder.add_class(1, "work");
    recorder.add_thread(1, 1, "main");
    for (uint64_t i = 0; i <= kMaxSavedEvents; ++i) recorder.complete(1, 10 * i, 10 * i + 5, 1);
    recorder.close();
  }
  try {
    saved_page(*open_view(folder / "large.kymo"), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("kymo cut"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("1000001"), std::string::npos);
  }
}

// The answers of the script of a saved page. It needs node, which developers of the page have.
class SavedScript {
 public:
  static bool can_run() { return std::system("node --version > /dev/null 2>&1") == 0; }

  SavedScript(const TemporaryFolder& folder, const std::string& page) : folder_(folder) {
    const auto part = [&](const std::string& begin, const std::string& end) {
      const size_t from = page.find(begin) + begin.size();
      return page.substr(from, page.find(end, from) - from);
    };
    std::ofstream(folder_ / "data.txt") << part("id=\"kymo-data\">", "</script>");
    std::ofstream(folder_ / "saved.js") << part("</script>\n<script>\n", "</script>\n<script>");
  }

  // Of requests such as "tiles?w=0&from=0&to=3&tracks=0".
  std::vector<std::string> answers(const std::vector<std::string>& requests) {
    std::ofstream script(folder_ / "run.js");
    script << "const fs = require('fs'); globalThis.window = globalThis;\n"
              "const place = process.argv[2];\n"
              "globalThis.document = { getElementById: () => ({ textContent: fs.readFileSync(place + '/data.txt', "
              "'utf8') }) };\n"
              "require(place + '/saved.js');\n(async () => { let i = 0;\nfor (const request of [";
    for (const std::string& request : requests) script << "'" << request << "',";
    script << "]) fs.writeFileSync(`${place}/out${i++}`, Buffer.from(await (await window.fetch('api/' + "
              "request)).arrayBuffer())); })();\n";
    script.close();
    const std::string place = folder_ / "";
    EXPECT_EQ(std::system(("node " + (folder_ / "run.js") + " " + place.substr(0, place.size() - 1)).c_str()), 0);
    std::vector<std::string> all;
    for (size_t i = 0; i < requests.size(); ++i) {
      std::ifstream file(folder_ / ("out" + std::to_string(i)), std::ios::binary);
      all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return all;
  }

 private:
  const TemporaryFolder& folder_;
};

TEST(SavedPageTest, ItsScriptMakesTheTilesOfTheServer) {
  if (!SavedScript::can_run()) GTEST_SKIP() << "node is not installed";
  const TemporaryFolder folder;
  testing::write_random_trace(folder / "run.kymo", 8, 1500);
  ViewLimits limits;
  limits.budget = std::chrono::minutes(10);
  const auto opened = open_view(folder / "run.kymo", limits);
  View& view = *opened;
  std::vector<std::string> queries, requests;
  for (const char* level : {"0", "8", "14", "20", "26", "40"})
    queries.push_back(std::string("w=") + level + "&from=0&to=3&tracks=0,1,2,3,4,5");
  for (const std::string& query : queries) requests.push_back("tiles?" + query);
  const std::vector<std::string> answers = SavedScript(folder, saved_page(view, {})).answers(requests);
  for (size_t i = 0; i < queries.size(); ++i) {
    const std::string& made = answers[i];
    const std::string expected = tiles_bytes(view, Query::parse(queries[i]));
    ASSERT_EQ(made.size(), expected.size()) << queries[i];
    // Of a run, several ranges may be the longest: the name, chunk and index may differ. Times and counts may not.
    uint32_t tiles = 0;
    memcpy(&tiles, expected.data() + 4, 4);
    size_t at = 16;
    for (uint32_t k = 0; k < tiles; ++k) {
      uint32_t counts[4];
      memcpy(counts, expected.data() + at, sizeof counts);
      EXPECT_EQ(made.substr(at, 32 + 16 * counts[1]), expected.substr(at, 32 + 16 * counts[1])) << queries[i];
      const size_t count_column = at + 32 + 20 * counts[1];
      EXPECT_EQ(made.substr(count_column, 4 * counts[1]), expected.substr(count_column, 4 * counts[1])) << queries[i];
      const auto padded = [](size_t bytes) { return (bytes + 7) / 8 * 8; };
      at += 32 + padded(40 * counts[1]) + padded(28 * counts[2]) + 32 * counts[3];
    }
    EXPECT_EQ(at, expected.size());
  }
}

class SavedContentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!SavedScript::can_run()) GTEST_SKIP() << "node is not installed";
  }
  void open() {
    view_ = open_view(folder_ / "run.kymo");
    analyses_.reopen = [this](uint32_t, const IsGone&) { return trace::Reader(folder_ / "run.kymo"); };
    script_.emplace(folder_, saved_page(*view_, analyses_));
  }
  // The saved page and the server.
  std::pair<json::Document, json::Document> both(const std::string& path, const std::string& query) {
    const Answer server = answer(*view_, analyses_, path, Query::parse(query));
    EXPECT_EQ(server.status, 200) << server.body;
    return {json::Document(script_->answers({path + "?" + query})[0]), json::Document(server.body)};
  }
  static std::multiset<std::string> links_of(const json::Document& answer) {
    std::multiset<std::string> links;
    for (const json::Value& link : answer.root()["links"].list("")) {
      std::string text(link["kind"].text(""));
      for (const char* end : {"from", "to"})
        for (const char* member : {"track", "time_ns", "depth", "lane"})
          text += base::format(" {}", link[end][member].number(""));
      links.insert(text);
    }
    return links;
  }
  static std::string event_text(const json::Value& event) {
    return base::format("{} {}/{}/{} {}+{}", event["name"].text(""), event["track"].number(""),
                        event["chunk"].number(""), event["index"].number(""), event["start_ns"].number(""),
                        event["end_ns"].number(""));
  }

  const TemporaryFolder folder_;
  std::unique_ptr<View> view_;
  Analyses analyses_;
  std::optional<SavedScript> script_;
};

TEST_F(SavedContentTest, ArrowsAndWhatBelongsToARangeAreThoseOfTheServer) {
  {
    TestRecorder recorder(folder_ / "run.kymo");
    recorder.add_class(1, "outer");
    recorder.add_class(2, "launch");
    recorder.add_class(3, "kernel");
    recorder.add_class(4, "flow");
    recorder.add_thread(1, 1, "main");
    recorder.add_thread(2, 2, "other");
    testing::add_queue(recorder, 3);
    for (uint64_t i = 1; i <= 50; ++i) {
      recorder.begin(1, 1000 * i, 1);
      recorder.begin(1, 1000 * i + 10, 2, {}, i);
      if (i % 5 == 0) recorder.point(1, 1000 * i + 15, trace::PointKind::FlowBegin, 4, i);
      recorder.end(1, 1000 * i + 20);
      recorder.end(1, 1000 * i + 500);
      recorder.complete(3, 1000 * i + 100, 1000 * i + 110 + i, 3, 0, 0, i);
      if (i % 5 == 0) {
        recorder.begin(2, 1000 * i + 600, 1);
        recorder.point(2, 1000 * i + 610, trace::PointKind::FlowEnd, 4, i);
        recorder.end(2, 1000 * i + 620);
      }
      if (i % 20 == 0) recorder.cut(1);
    }
    recorder.close();
  }
  open();
  for (const char* query :
       {"from=0&to=100000&tracks=0,1,2", "from=5000&to=20000&tracks=0,1,2", "from=0&to=9000&tracks=2"}) {
    const auto [saved, server] = both("links", query);
    EXPECT_FALSE(links_of(server).empty());
    EXPECT_EQ(links_of(saved), links_of(server)) << query;
    EXPECT_TRUE(saved.root()["complete"].boolean(""));
  }
  const uint32_t thread_chunk = view_->sources()[0]->tracks()[0].chunks[0];
  const uint32_t queue_chunk = view_->sources()[0]->tracks()[2].chunks[0];
  const auto [saved_launch, launch] = both("event", base::format("track=0&chunk={}&index=8", thread_chunk));
  ASSERT_EQ(launch.root()["launched"].list("").size(), 1u);
  EXPECT_EQ(event_text(saved_launch.root()["launched"].list("").at(0)),
            event_text(launch.root()["launched"].list("")[0]));
  ASSERT_EQ(launch.root()["flows"].list("").size(), 1u);
  ASSERT_EQ(saved_launch.root()["flows"].list("").size(), 1u);
  EXPECT_EQ(event_text(saved_launch.root()["flows"].list("")[0]["event"]),
            event_text(launch.root()["flows"].list("")[0]["event"]));
  EXPECT_EQ(saved_launch.root()["flows"].list("")[0]["direction"].text(""), "to");
  const auto [saved_kernel, kernel] = both("event", base::format("track=2&chunk={}&index=8", queue_chunk));
  EXPECT_EQ(event_text(saved_kernel.root()["launched_by"]), event_text(kernel.root()["launched_by"]));
}

TEST_F(SavedContentTest, ArrowsAreBounded) {
  {
    TestRecorder recorder(folder_ / "run.kymo");
    recorder.add_class(1, "launch");
    recorder.add_class(2, "kernel");
    recorder.add_thread(1, 1, "main");
    testing::add_queue(recorder, 3);
    for (uint64_t i = 1; i <= 1000; ++i) {
      recorder.begin(1, 100 * i, 1, {}, i);
      recorder.end(1, 100 * i + 5);
      recorder.complete(3, 100 * i + 10, 100 * i + 20 + i % 70, 2, 0, 0, i);
    }
    recorder.close();
  }
  open();
  const auto [saved, server] = both("links", "from=0&to=1000000&tracks=0,1");
  EXPECT_EQ(links_of(saved).size(), links_of(server).size());
  EXPECT_FALSE(saved.root()["complete"].boolean(""));
}

TEST_F(SavedContentTest, WhatIsAliveIsWhatTheServerSays) {
  constexpr uint64_t kSteps = 500;
  {
    TestRecorder recorder(folder_ / "run.kymo");
    recorder.add_class(1, "alloc", "", {{"bytes", trace::FieldType::ByteCount}, {"device", trace::FieldType::String}});
    recorder.add_class(2, "forward");
    recorder.add_class(3, "backward");
    recorder.add_thread(1, 1, "main");
    std::mt19937_64 random(5);
    std::vector<std::pair<uint64_t, std::string>> alive;
    for (uint64_t i = 1; i <= kSteps; ++i) {
      recorder.begin(1, 1000 * i, random() % 2 != 0 ? 2 : 3);
      if (alive.empty() || random() % 3 != 0) {
        alive.emplace_back(i * 16, random() % 2 != 0 ? "cuda:0" : "cuda:1");
        recorder.point(1, 1000 * i + 10, trace::PointKind::Allocation, 1, i * 16,
                       {static_cast<int64_t>(1 + random() % 9999), alive.back().second});
      } else {
        const auto block = alive.begin() + static_cast<ptrdiff_t>(random() % alive.size());
        recorder.point(1, 1000 * i + 10, trace::PointKind::Free, 1, block->first, {int64_t{0}, block->second});
        alive.erase(block);
      }
      recorder.end(1, 1000 * i + 20);
    }
    recorder.close();
  }
  open();
  for (const uint64_t at : {uint64_t{0}, uint64_t{9}, uint64_t{10}, 1000 * kSteps / 2, 1000 * kSteps}) {
    const auto [saved, server] = both("memory", base::format("file=0&at={}", at));
    EXPECT_EQ(saved.root()["bytes"].number(""), server.root()["bytes"].number("")) << at;
    EXPECT_EQ(saved.root()["blocks"].number(""), server.root()["blocks"].number("")) << at;
    for (const char* table : {"by_range", "by_stack", "memories"}) {
      std::map<std::string, uint64_t> rows[2];
      const json::Document* const documents[] = {&saved, &server};
      for (size_t i = 0; i < 2; ++i)
        for (const json::Value& row : documents[i]->root()[table].list(""))
          if (row["bytes"].number("") > 0) rows[i][std::string(row["name"].text(""))] = row["bytes"].number("");
      EXPECT_EQ(rows[0], rows[1]) << table << " at " << at;
    }
  }
}

TEST_F(SavedContentTest, FunctionsAndSamplesHaveTheirStacks) {
  {
    TestRecorder recorder(folder_ / "run.kymo");
    testing::add_sample_classes(recorder);
    recorder.add_class(9, "request");
    recorder.add_thread(1, 1, "worker");
    testing::add_stack(recorder, 1, {0x1101, 0x1201, 0x1301});
    for (const uint64_t time : {0, 1, 9})
      recorder.point(1, 1'000'000 * time, trace::PointKind::Sample, 1, 0, {int64_t{18}});
    recorder.point(1, 9'500'000, trace::PointKind::AsyncBegin, 9, 7);
    recorder.point(1, 9'600'000, trace::PointKind::AsyncEnd, 9, 7);
    recorder.close();
  }
  open();
  for (const auto& track : view_->derived()) {
    for (const Item& item : track->items) {
      const auto [saved, server] =
          both("event", base::format("track={}&chunk={}&index={}", track->id, item.chunk, item.index));
      for (const char* member : {"name", "category", "kind"})
        EXPECT_EQ(saved.root()[member].text(""), server.root()[member].text(""));
      if (track->kind == DerivedTrack::Kind::AcrossThreads) {
        EXPECT_EQ(saved.root()["ends_on"].text(""), "worker");
        continue;
      }
      ASSERT_EQ(saved.root()["stack"].list("").size(), 3u);
      for (size_t i = 0; i < 3; ++i)
        for (const char* member : {"function", "file", "module"})
          EXPECT_EQ(saved.root()["stack"].list("")[i][member].text(""),
                    server.root()["stack"].list("")[i][member].text(""));
    }
  }
  const Item& function = view_->derived().at(0)->items.at(0);
  const auto [sample, server] = both(
      "event", base::format("track=0&chunk={}&index={}", function.chunk, kPointIndex + view_->derived()[0]->points[0]));
  EXPECT_EQ(sample.root()["kind"].text(""), "sample");
  EXPECT_EQ(sample.root()["stack"].list("").size(), server.root()["stack"].list("").size());
  const auto [found, expected] = both("search", "q=lib*");
  EXPECT_EQ(found.root()["total"].number(""), expected.root()["total"].number(""));
  EXPECT_EQ(event_text(found.root()["hits"].list("").at(0)), event_text(expected.root()["hits"].list("")[0]));
}

TEST_F(SavedContentTest, EventsHaveTheirArguments) {
  {
    TestRecorder recorder(folder_ / "run.kymo");
    recorder.add_class(1, "step {}", "", {{"", trace::FieldType::Int}, {"rows", trace::FieldType::Int}});
    recorder.add_class(2, "plain");
    recorder.add_class(3, "mark", "", {{"text", trace::FieldType::String}});
    recorder.add_class(4, "request", "", {{"id", trace::FieldType::Int}});
    recorder.add_thread(1, 1, "main");
    for (int64_t i = 0; i < 5; ++i) {
      const uint64_t time = 1000 + 100 * static_cast<uint64_t>(i);
      recorder.begin(1, time, 2);
      recorder.begin(1, time + 10, 1, {i, int64_t{32}});
      recorder.point(1, time + 12, trace::PointKind::Instant, 3, 0, {std::string("\"<b>\" ") + std::to_string(i)});
      recorder.point(1, time + 13, trace::PointKind::AsyncBegin, 4, 50 + static_cast<uint64_t>(i), {i});
      recorder.end(1, time + 20);
      recorder.point(1, time + 21, trace::PointKind::AsyncEnd, 4, 50 + static_cast<uint64_t>(i), {i});
      recorder.end(1, time + 30);
      if (i == 2) recorder.cut(1);
    }
    recorder.close();
  }
  open();
  size_t compared = 0;
  const auto compare = [&](uint32_t track, uint32_t chunk, uint32_t index) {
    const auto [saved, server] = both("event", base::format("track={}&chunk={}&index={}", track, chunk, index));
    const std::vector<json::Value> made = saved.root()["arguments"].list("");
    const std::vector<json::Value> expected = server.root()["arguments"].list("");
    ASSERT_EQ(made.size(), expected.size());
    for (size_t i = 0; i < made.size(); ++i, ++compared)
      for (const char* member : {"name", "value"}) EXPECT_EQ(made[i][member].text(""), expected[i][member].text(""));
  };
  const Tile tile = make_tiles(*view_, {0, 0, 0, {0}}).front();
  for (const Item& item : tile.items) compare(0, item.chunk, item.index);
  for (const InstantBin& instant : tile.instants) compare(0, instant.chunk, instant.index);
  const DerivedTrack& across = *view_->derived().at(0);
  for (const Item& item : across.items) compare(across.id, item.chunk, item.index);
  EXPECT_GE(compared, 5u * 4);
}

TEST_F(SavedContentTest, TotalsAreThoseOfTheServerOrLeftOut) {
  {
    TestRecorder recorder(folder_ / "run.kymo");
    testing::add_sample_classes(recorder);
    recorder.add_class(9, "outer");
    recorder.add_class(10, "inner {}", "io", {{"", trace::FieldType::Int}});
    recorder.add_class(11, "launch", "cuda_runtime");
    recorder.add_class(12, "kernel", "kernel");
    recorder.add_class(13, "load", "", {{"value", trace::FieldType::Int}});
    recorder.add_thread(1, 1, "worker");
    testing::add_queue(recorder, 2);
    testing::add_stack(recorder, 1, {0x1101, 0x1201});
    for (uint64_t i = 0; i < 20; ++i) {
      const uint64_t time = 1'000'000 * (i + 1);
      recorder.begin(1, time, 9);
      recorder.begin(1, time + 1'000, 10, {static_cast<int64_t>(i)});
      recorder.begin(1, time + 2'000, 11, {}, i + 1);
      recorder.point(1, time + 2'500, trace::PointKind::Sample, 1, 0, {int64_t{16} + static_cast<int64_t>(i % 2)});
      recorder.point(1, time + 2'600, trace::PointKind::Counter, 13, 0, {static_cast<int64_t>(i)});
      recorder.end(1, time + 3'000);
      recorder.end(1, time + 9'000);
      recorder.end(1, time + 20'000);
      recorder.point(1, time + 500'000, trace::PointKind::Instant, 4, 0, {int64_t{400'000}, int64_t{0}, int64_t{17}});
      recorder.complete(2, time + 30'000, time + 90'000 + i, 12, 0, 0, i + 1);
    }
    recorder.close();
  }
  open();
  const std::string all = base::format("from=0&to={}", view_->sources()[0]->duration_ns());
  const auto without_blanks = [](std::string text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    return text;
  };
  for (const auto& [path, query] : {std::pair<std::string, std::string>{"selection", all},
                                    {"flame", all + "&by=device"},
                                    {"flame", all + "&by=wait"}}) {
    const Answer server = answer(*view_, analyses_, path, Query::parse(query));
    ASSERT_EQ(server.status, 200) << server.body;
    EXPECT_EQ(without_blanks(script_->answers({path + "?" + query})[0]), without_blanks(server.body));
  }
  EXPECT_NE(script_->answers({"selection?" + all})[0].find("\"functions\""), std::string::npos);
  EXPECT_NE(script_->answers({"selection?" + all})[0].find("\"states\""), std::string::npos);
  for (const char* part : {"selection?from=5&to=9000000000", "selection?from=0&to=5000000", "flame?by=wait&from=5&to=9",
                           "selection?from=0&to=9000000000&tracks=0"})
    EXPECT_NE(script_->answers({part})[0].find("totals of the whole trace only"), std::string::npos) << part;
  // The operator and the functions around a launch.
  const uint32_t chunk = view_->sources()[0]->tracks()[1].chunks[0];
  const auto [saved, server] = both("event", base::format("track=1&chunk={}&index=7", chunk));
  const std::vector<json::Value> made = saved.root()["launch_stack"].list("");
  const std::vector<json::Value> expected = server.root()["launch_stack"].list("");
  ASSERT_EQ(expected.size(), 2u);
  ASSERT_EQ(made.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(event_text(made[i]), event_text(expected[i]));
    EXPECT_EQ(made[i]["category"].text(""), expected[i]["category"].text(""));
  }
}

TEST_F(SavedContentTest, WaitsForLocksHaveTheirStackAndAreFound) {
  {
    TestRecorder recorder(folder_ / "run.kymo");
    testing::add_sample_classes(recorder);
    recorder.add_class(
        9, "wait for mutex", "wait",
        {{"object", trace::FieldType::Pointer}, {"node", trace::FieldType::UInt}, {"holder", trace::FieldType::UInt}});
    recorder.add_thread(1, 1, "worker");
    recorder.add_thread(2, 2, "main");
    for (int64_t i = 0; i < 3; ++i)
      recorder.point(1, 0, trace::PointKind::Instant, 2, 0, {16 + i, i == 0 ? int64_t{1} : 15 + i, 0x1101 + 0x100 * i});
    recorder.point(1, 100, trace::PointKind::Sample, 1, 0, {int64_t{16}});
    recorder.begin(1, 1'000, 9, {int64_t{0x7000}, int64_t{17}, int64_t{2}});
    recorder.end(1, 5'000);
    recorder.point(1, 9'000'000, trace::PointKind::Instant, 4, 0, {int64_t{8'000'000}, int64_t{0}, int64_t{18}});
    recorder.cut(1);
    // The files of the program are described in a chunk that comes later.
    recorder.point(2, 0, trace::PointKind::Instant, 3, 0,
                   {std::string("/gone/lib.so"), int64_t{0x1000}, int64_t{0x1000}, std::string()});
    recorder.close();
  }
  open();
  const uint32_t chunk = view_->sources()[0]->tracks()[0].chunks[0];
  const auto [saved, server] = both("event", base::format("track=0&chunk={}&index=0", chunk));
  for (const json::Document* one : {&saved, &server}) {
    const std::vector<json::Value> stack = one->root()["stack"].list("");
    ASSERT_EQ(stack.size(), 2u);
    EXPECT_EQ(stack[0]["function"].text(""), "lib.so+0x201");
    EXPECT_EQ(stack[1]["function"].text(""), "lib.so+0x101");
  }
  // A state of a thread is found by its name, like everything that is drawn.
  const auto [found, expected] = both("search", "q=waiting*");
  EXPECT_EQ(expected.root()["total"].number(""), 1u);
  ASSERT_EQ(found.root()["total"].number(""), 1u);
  EXPECT_EQ(event_text(found.root()["hits"].list("").at(0)), event_text(expected.root()["hits"].list("").at(0)));
}

TEST_F(SavedContentTest, TheMostMemoryIsInUseAtThePeak) {
  {
    TestRecorder other(folder_ / "run.kymo", 2, 200);  // a process that begins earlier
    other.add_class(1, "work");
    other.add_thread(1, 200, "main");
    other.complete(1, 10, 20, 1);
    other.close();
    TestRecorder recorder(folder_ / "run.kymo", 1, 100, trace::Writer::Mode::Append);
    recorder.add_class(1, "alloc", "", {{"bytes", trace::FieldType::ByteCount}, {"device", trace::FieldType::String}});
    recorder.add_thread(1, 100, "main");
    const auto change = [&](uint64_t time, trace::PointKind kind, uint64_t address, int64_t bytes) {
      recorder.point(1, time, kind, 1, address, {bytes, std::string("cuda:0")});
    };
    change(1'003, trace::PointKind::Allocation, 0x10, 100);
    change(2'007, trace::PointKind::Allocation, 0x20, 900);
    change(2'008, trace::PointKind::Free, 0x20, 0);
    recorder.close();
  }
  open();
  const auto [saved, server] = both("memory", "file=0");
  for (const json::Document* one : {&saved, &server}) {
    EXPECT_EQ(one->root()["at_ns"].number(""), 1'997u);
    EXPECT_EQ(one->root()["bytes"].number(""), 1'000u);
  }
}

}  // namespace
}  // namespace kymo::serve
