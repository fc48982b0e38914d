#include "push/pusher.h"

#include <gtest/gtest.h>

#include <cstdlib>
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
  KnownTraces traces;
  std::function<void()> on_known;
  std::function<void(const Block&)> on_insert;
};

class FakeStore : public Store {
 public:
  explicit FakeStore(Server& server) : server_(server) {}
  void prepare() override {}
  uint64_t version() override { return kSchemaVersion; }
  Rows ask(const std::string&) override { return {}; }
  KnownTraces known(const std::vector<uint64_t>&, uint32_t, uint32_t) override {
    if (server_.on_known) server_.on_known();
    return server_.traces;
  }
  void publish(const SummaryBlocks& rows, uint32_t) override {
    for (const Block* block : rows.all()) {
      if (block->rows() > 0 && server_.on_insert) server_.on_insert(*block);
      server_.rows[std::string(block->table().name)] += block->rows();
    }
    const std::string csv = rows.traces.encode(1);  // each line begins with the attempt and the number of the trace
    for (size_t line = 0; line < csv.size(); line = csv.find('\n', line) + 1)
      server_.traces[std::strtoull(csv.data() + line + 2, nullptr, 10)] = false;
  }

 private:
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

  void push(const std::vector<std::string>& files, PushOptions options = {}) {
    options.retries = 0;
    Pusher pusher(
        std::make_unique<FakeStore>(server_), options, [](const std::string& path) { return trace::Reader(path); },
        [this](const FileOutcome& file) {
          outcomes_[file.file] = file.outcome;
          last_ = file;
        },
        [](const std::string&) {});
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

TEST_F(PusherTest, TheReasonWhyAFileCannotBeReadHasItsNameOnce) {
  const std::string empty = folder_ / "empty.kymo", missing = folder_ / "missing.kymo";
  std::ofstream(empty).close();
  for (const std::string& file : {empty, missing, std::string(folder_ / "")}) {
    push({file});
    EXPECT_EQ(last_.outcome, Outcome::Unreadable);
    const std::string text = last_.problem();
    EXPECT_EQ(text.find(file), text.rfind(file)) << text;
    EXPECT_NE(text.find(file), text.npos) << text;
  }
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

TEST_F(PusherTest, AFileWhoseTracesAreRefusedIsNotReported) {
  const std::string file = record_ranks("ranks.kymo", 3);
  server_.on_insert = [](const Block& block) {
    if (block.table().name == kTraces.name) throw TryAgain("full");
  };
  EXPECT_THROW(push({file}), TryAgain);
  EXPECT_TRUE(outcomes_.empty());
}

TEST_F(PusherTest, NoRankOfAFileThatChangesIsPushed) {
  const std::string file = record_ranks("ranks.kymo", 3);
  server_.on_known = [&] { std::ofstream(file, std::ios::app) << "more"; };
  push({file});
  EXPECT_EQ(outcomes_.at(file), Outcome::Changed);
  EXPECT_TRUE(server_.traces.empty());
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
    Pusher pusher(
        std::make_unique<FakeStore>(server_), {}, open, [this](const FileOutcome& file) { last_ = file; },
        [](const std::string&) {});
    pusher.push({path});
    EXPECT_EQ(last_.outcome, is_first ? Outcome::Pushed : Outcome::AlreadyThere);
    EXPECT_EQ(server_.rows.at("traces"), 2u);
    EXPECT_EQ(server_.rows.at("iterations"), 3u);
  }
}

}  // namespace
}  // namespace kymo::push
