#include "push/pusher.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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
  std::function<void()> on_known, on_events;
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
  void insert(const Block& block, uint64_t) override { server_.rows[std::string(block.table().name)] += block.rows(); }
  std::unique_ptr<EventSink> events(uint64_t) override { return std::make_unique<Sink>(server_); }
  Content content() override { return {}; }
  void remove_orphans(uint64_t) override {}
  bool remove(uint64_t) override { return false; }

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

  void push(const std::vector<std::string>& files, bool events = false) {
    PushOptions options;
    options.events = events;
    Pusher pusher(
        std::make_unique<FakeStore>(server_), options, [](const std::string& path) { return trace::Reader(path); },
        [this](const FileOutcome& file) { outcomes_[file.file] = file.outcome; }, {});
    pusher.push(files);
  }

  const TemporaryFolder folder_;
  Server server_;
  std::map<std::string, Outcome> outcomes_;
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

}  // namespace
}  // namespace kymo::push
