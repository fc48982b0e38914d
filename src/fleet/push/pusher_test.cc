#include "push/pusher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "push/ranks.h"
#include "push/tables.h"
#include "trace/test_recorder.h"

namespace kymo::push {
namespace {

using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

// What a store got, and what happens while it is used.
struct Server {
  std::map<std::string, size_t> rows;  // by table
  std::map<uint64_t, KnownTrace> traces;
  std::vector<std::string> calls;  // "insert traces", "remove"
  std::function<void()> on_known, on_events;
  std::function<void(const Block&)> on_insert;
  std::function<void()> on_remove;
};

class FakeStore : public Store {
 public:
  explicit FakeStore(Server& server) : server_(server) {}
  std::string text() const override { return "fake"; }
  bool prepare() override { return false; }
  std::map<uint64_t, KnownTrace> known(const std::vector<uint64_t>&) override {
    if (server_.on_known) server_.on_known();
    return server_.traces;
  }
  void check_rows(std::map<uint64_t, KnownTrace>&) override {}
  void insert(const Block& block, uint64_t attempt) override {
    if (server_.on_insert) server_.on_insert(block);
    const std::string table(block.table().name);
    server_.calls.push_back("insert " + table);
    server_.rows[table] += block.rows();
    if (table != kTraces.name) return;
    for (size_t row = 0; row < block.rows(); ++row) {
      uint64_t number = 0;
      std::memcpy(&number, block.fixed(0).data() + row * sizeof number, sizeof number);
      server_.traces[number].attempt = attempt;
    }
  }
  std::unique_ptr<EventSink> events(uint64_t) override { return std::make_unique<Sink>(server_); }
  Content content() override { return {}; }
  uint64_t remove_orphans(uint64_t) override { return 0; }
  bool remove(uint64_t trace) override {
    if (server_.on_remove) server_.on_remove();
    server_.calls.push_back("remove");
    return server_.traces.erase(trace) > 0;
  }

 private:
  struct Sink : EventSink {
    explicit Sink(Server& its_server) : server(its_server) {}
    void add(const Block&) override {}
    void finish() override {
      if (server.on_events) server.on_events();
    }
    Server& server;
  };
  Server& server_;
};

class PusherTest : public ::testing::Test {
 protected:
  std::string record(const std::string& name, uint64_t length) {
    TestRecorder recorder(folder_ / name);
    recorder.add_class(1, "step {}", "", {{"", trace::FieldType::Int}});
    recorder.add_thread(1, 7, "main");
    recorder.begin(1, 0, 1, {int64_t{1}});
    recorder.end(1, length);
    recorder.close();
    return folder_ / name;
  }

  // Several ranks, each with one step, and a launcher.
  std::string record_ranks(const std::string& name, int ranks) {
    const std::string path = folder_ / name;
    for (int rank = -1; rank < ranks; ++rank) {
      const auto mode = rank < 0 ? trace::Writer::Mode::Create : trace::Writer::Mode::Append;
      TestRecorder recorder(path, static_cast<uint8_t>(rank + 2), static_cast<uint64_t>(rank + 101), mode, 1, "/train",
                            rank < 0 ? Metadata{} : Metadata{{"RANK", std::to_string(rank)}});
      recorder.add_class(1, rank < 0 ? "launch {}" : "step {}", "", {{"", trace::FieldType::Int}});
      recorder.add_thread(1, 7, "main");
      recorder.begin(1, 0, 1, {int64_t{1}});
      recorder.end(1, 100);
      recorder.close();
    }
    return path;
  }

  void push(const std::vector<std::string>& files, bool events = false) {
    PushOptions options;
    options.events = events;
    push(files, options);
  }

  void push(const std::vector<std::string>& files, PushOptions options) {
    options.retries = 0;
    Pusher pusher(
        std::make_unique<FakeStore>(server_), options, [](const std::string& path) { return trace::Reader(path); },
        [this](const FileOutcome& file) {
          outcomes_[file.file] = file.outcome;
          last_ = file;
        },
        {});
    pusher.push(files);
  }

  using Metadata = std::vector<std::pair<std::string, std::string>>;

  const TemporaryFolder folder_;
  Server server_;
  std::map<std::string, Outcome> outcomes_;
  FileOutcome last_;
};

TEST_F(PusherTest, AFileThatIsReplacedAfterItsNumberWasComputedIsNotPushed) {
  const std::string a = record("a.kymo", 100), b = record("b.kymo", 200), other = record("other", 300);
  server_.on_known = [&] { std::filesystem::rename(other, b); };
  push({a, b});
  EXPECT_EQ(outcomes_, (std::map<std::string, Outcome>{{a, Outcome::Pushed}, {b, Outcome::Changed}}));
  EXPECT_EQ(server_.rows.at("traces"), 1u);
  EXPECT_EQ(server_.rows.at("iterations"), 1u);  // nothing of the other one
}

TEST_F(PusherTest, AFileWithTheSameContentIsPushedInPlaceOfOneThatChanged) {
  const std::string a = record("a.kymo", 100), b = folder_ / "b.kymo";
  std::filesystem::copy_file(a, b);
  server_.on_known = [&] { std::ofstream(a, std::ios::app) << "more"; };
  push({a, b});
  EXPECT_EQ(outcomes_, (std::map<std::string, Outcome>{{a, Outcome::Changed}, {b, Outcome::Pushed}}));
  EXPECT_EQ(server_.rows.at("traces"), 1u);
}

TEST_F(PusherTest, AFileThatChangesWhileItsEventsAreSentGetsNoMark) {
  const std::string a = record("a.kymo", 100), b = record("b.kymo", 200);
  server_.on_events = [&] { std::filesystem::resize_file(a, 50); };
  push({a}, true);
  EXPECT_EQ(outcomes_, (std::map<std::string, Outcome>{{a, Outcome::Changed}}));
  EXPECT_EQ(server_.rows.count("traces"), 0u);
  server_.on_events = [&] { std::filesystem::remove(b); };
  push({b}, true);
  EXPECT_EQ(outcomes_.at(b), Outcome::Changed);
  EXPECT_EQ(server_.rows.count("traces"), 0u);
}

TEST_F(PusherTest, EachRankOfAFileIsATrace) {
  const std::string file = record_ranks("ranks.kymo", 3);
  push({file});
  EXPECT_EQ(last_.outcome, Outcome::Pushed);
  EXPECT_EQ(last_.pushed, 3u);
  EXPECT_EQ(server_.rows.at("traces"), 3u);
  EXPECT_EQ(server_.rows.at("iterations"), 3u);
  EXPECT_EQ(server_.rows.at("operations"), 3u);
  EXPECT_FALSE(server_.traces.contains(trace_number(file)));
  push({file});
  EXPECT_EQ(last_.outcome, Outcome::AlreadyThere);
  EXPECT_EQ(last_.already_there, 3u);
  EXPECT_EQ(server_.rows.at("traces"), 3u);
}

TEST_F(PusherTest, OnlyTheRanksThatAreMissingArePushed) {
  const std::string file = record_ranks("ranks.kymo", 3);
  push({file});
  server_.traces.erase(server_.traces.begin());
  push({file});
  EXPECT_EQ(last_.outcome, Outcome::Pushed);
  EXPECT_EQ(last_.pushed, 1u);
  EXPECT_EQ(last_.already_there, 2u);
  EXPECT_EQ(server_.rows.at("traces"), 4u);
}

TEST_F(PusherTest, AFileWhoseMarksAreRefusedIsNotReported) {
  const std::string file = record_ranks("ranks.kymo", 3);
  server_.on_insert = [](const Block& block) {
    if (block.table().name == kTraces.name) throw TryAgain("full");
  };
  EXPECT_THROW(push({file}), TryAgain);
  EXPECT_TRUE(outcomes_.empty());
}

TEST_F(PusherTest, NoRankOfAFileThatChangesGetsAMark) {
  for (const bool events : {false, true}) {
    const std::string file = record_ranks("ranks.kymo", 3);
    server_ = {};
    const auto change = [&] { std::ofstream(file, std::ios::app) << "more"; };
    (events ? server_.on_events : server_.on_known) = change;
    push({file}, events);
    EXPECT_EQ(outcomes_.at(file), Outcome::Changed);
    EXPECT_TRUE(server_.traces.empty());
  }
}

TEST_F(PusherTest, ATraceOfAllRanksIsRemovedBeforeTheRanksAreMarked) {
  const std::string file = record_ranks("ranks.kymo", 3);
  const uint64_t whole = trace_number(file);
  for (const bool events : {false, true}) {
    server_ = {};
    server_.traces[whole].job = "given";
    server_.traces[whole].has_events = events;
    push({file});
    EXPECT_EQ(last_.outcome, Outcome::Pushed);
    EXPECT_EQ(server_.traces.size(), 3u);
    EXPECT_FALSE(server_.traces.contains(whole));
    const auto removed = std::find(server_.calls.begin(), server_.calls.end(), "remove");
    EXPECT_LT(removed, std::find(server_.calls.begin(), server_.calls.end(), "insert traces"));
    EXPECT_EQ(server_.rows.contains("row_counts"), true);
  }
  // An older version pushed it again.
  server_.traces[whole] = {};
  for (auto& [number, trace] : server_.traces) trace.has_events = false;
  push({file});
  EXPECT_EQ(last_.outcome, Outcome::AlreadyThere);
  EXPECT_FALSE(server_.traces.contains(whole));
}

TEST_F(PusherTest, RanksAreNotPushedBesideATraceOfAllThatCannotBeRemoved) {
  const std::string file = record_ranks("ranks.kymo", 2);
  server_.traces[trace_number(file)] = {};
  server_.on_remove = [] { throw Error("it is on another server"); };
  push({file});
  EXPECT_EQ(last_.outcome, Outcome::Unreadable);
  EXPECT_NE(last_.reason.find("an older kymo stored several of its traces as the trace 0x"), std::string::npos);
  EXPECT_EQ(server_.traces.size(), 1u);
}

TEST_F(PusherTest, AFileOfSeveralRanksCannotBeGivenOne) {
  const std::string file = record_ranks("ranks.kymo", 2);
  PushOptions options;
  options.rank = 5;
  push({file}, options);
  EXPECT_EQ(last_.outcome, Outcome::Unreadable);
  EXPECT_EQ(last_.reason, "it has the ranks 0, 1, and --rank is for a trace of one rank; push it without --rank");
}

TEST_F(PusherTest, ATraceOfAllProcessesOfARankIsReplaced) {
  const std::string file = folder_ / "restarted.kymo";
  for (const uint8_t writer : {1, 2}) {
    TestRecorder recorder(file, writer, 100 + writer,
                          writer == 1 ? trace::Writer::Mode::Create : trace::Writer::Mode::Append);
    recorder.add_class(1, "step {}", "", {{"", trace::FieldType::Int}});
    recorder.add_thread(1, 7, "main");
    recorder.begin(1, 100 * writer, 1, {int64_t{1}});
    recorder.end(1, 100 * writer + 50);
    recorder.close();
  }
  server_.traces[trace_number(file)].is_damaged = true;
  push({file});
  EXPECT_EQ(last_.pushed, 2u);
  EXPECT_FALSE(last_.is_damaged);
  EXPECT_EQ(server_.traces.size(), 2u);
  EXPECT_FALSE(server_.traces.contains(trace_number(file)));
  EXPECT_EQ(server_.rows.at("iterations"), 2u);
  EXPECT_LT(std::find(server_.calls.begin(), server_.calls.end(), "remove"),
            std::find(server_.calls.begin(), server_.calls.end(), "insert traces"));
}

// As the writers of a file that is imported each time it is opened.
TEST_F(PusherTest, ProcessesThatHaveOtherWritersEachTimeAreTheSameTraces) {
  const std::string path = folder_ / "a.json";
  std::ofstream(path) << "{}";
  uint8_t writer = 0;
  const auto open = [&](const std::string&) {
    const std::string imported = folder_ / std::to_string(writer);
    for (const uint64_t pid : {1, 2}) {
      TestRecorder recorder(imported, ++writer, pid,
                            pid == 1 ? trace::Writer::Mode::Create : trace::Writer::Mode::Append, 0, "",
                            {{"imported from", "a.json"}});
      recorder.add_class(1, "step {}", "", {{"", trace::FieldType::Int}});
      recorder.add_thread(1, 7, "main");
      for (uint64_t i = 0; i < pid; ++i) recorder.complete(1, 10 * i, 10 * i + 5, 1);
      recorder.close();
    }
    return trace::Reader(imported);
  };
  for (const bool is_first : {true, false}) {
    Pusher pusher(std::make_unique<FakeStore>(server_), {}, open, [this](const FileOutcome& file) { last_ = file; },
                  {});
    pusher.push({path});
    EXPECT_EQ(last_.outcome, is_first ? Outcome::Pushed : Outcome::AlreadyThere);
    EXPECT_EQ(server_.rows.at("traces"), 2u);
    EXPECT_EQ(server_.rows.at("iterations"), 3u);
  }
}

TEST_F(PusherTest, ATraceThatAnotherPushRelabelledMeanwhileCountsOnce) {
  const std::string a = record("a.kymo", 100);
  PushOptions options;
  options.job = "mine";
  options.wait = [](std::chrono::milliseconds) { return true; };
  // It is there with another job, and gets that again after the first push of this one.
  int left = 3;
  server_.on_known = [&] { server_.traces = {{trace_number(a), {false, left-- > 0 ? "other" : "mine"}}}; };
  Pusher pusher(
      std::make_unique<FakeStore>(server_), options, [](const std::string& path) { return trace::Reader(path); },
      [this](const FileOutcome& file) { outcomes_[file.file] = file.outcome; }, {});
  pusher.push({a});
  EXPECT_EQ(server_.rows.at("traces"), 2u);
  EXPECT_EQ(pusher.counts().traces, 1u);
  EXPECT_EQ(pusher.counts().relabelled, 1u);
  EXPECT_EQ(pusher.counts().rows, 2u);  // an iteration and an operation
}

}  // namespace
}  // namespace kymo::push
