// Annotations that go to a recording and to sinks, or to only one of them: a range ends where it started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kymo/annotate.h"
#include "kymo/session.h"
#include "kymo/sink_calls.h"
#include "trace/reader.h"

namespace kymo {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> sink_received;
constexpr kymo_sink kTestSink = {
    .name = "of the test",
    .range_push = [](const char* text, const kymo_label*) { sink_received.push_back(text); },
    .range_pop = [] { sink_received.push_back("pop"); },
    .range_start = [](const char* text, const kymo_label*, uint64_t) { sink_received.push_back(text); },
    .range_end = [](uint64_t) { sink_received.push_back("end"); },
    .mark = [](const char* text, const kymo_label*) { sink_received.push_back(text); },
    .counter = [](const char* text, double) { sink_received.push_back(text); },
    .interval_begin = nullptr,
    .interval_end = nullptr,
    .event = nullptr,
    .wants_messages = 0,
    .listens = nullptr,
};

class SinkSessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/kymo-sink-test-XXXXXX";
    folder_ = mkdtemp(pattern);
    sink_received.clear();
  }
  void TearDown() override {
    kymo_remove_sink(&kTestSink);
    std::filesystem::remove_all(folder_);
  }
  std::string file() const { return folder_ + "/a.kymo"; }

  // The names of the ranges in the file with their depths, sorted by end; then the number of points.
  std::vector<std::string> recorded() const {
    const trace::Reader reader(file());
    EXPECT_TRUE(reader.problems().empty());
    std::vector<std::string> names;
    size_t points = 0;
    trace::EventBatch batch;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      const auto& writer = reader.writers().at(chunk.writer);
      EXPECT_TRUE(writer.losses.empty());
      reader.read(chunk, batch);
      points += batch.points.size();
      trace::ValueCursor cursor(batch.ranges.values);
      for (size_t i = 0; i < batch.ranges.size(); ++i) {
        const trace::EventClass& event_class = writer.classes.at(batch.ranges.class_id[i]);
        names.push_back(std::to_string(batch.ranges.depth[i]) + " " +
                        trace::full_name(&event_class, cursor.next(&event_class)));
      }
    }
    names.push_back(std::to_string(points) + " points");
    return names;
  }

 private:
  std::string folder_;
};

TEST_F(SinkSessionTest, RecordingAndSinkGetTheSame) {
  kymo_add_sink(&kTestSink);
  {
    const Session session(file());
    KYMO_RANGE("site");
    const Range label{"label"};
    range_push("push");
    mark("mark");
    counter("counter", 1);
    range_end(range_start("start"));
    range_pop();
  }
  EXPECT_THAT(sink_received,
              ElementsAre("site", "label", "push", "mark", "counter", "start", "end", "pop", "pop", "pop"));
  EXPECT_THAT(recorded(), ElementsAre("2 push", "1 label", "0 site", "4 points"));
}

TEST_F(SinkSessionTest, ARangeThatStartedOnlyForSinksEndsOnlyForThem) {
  kymo_add_sink(&kTestSink);
  std::unique_ptr<Session> session;
  range_push("pushed before");
  const RangeId started = range_start("started before");
  {
    KYMO_RANGE("scope before");
    session = std::make_unique<Session>(file());
    KYMO_RANGE("recorded");
  }
  { KYMO_RANGE("recorded too"); }
  range_end(started);
  range_pop();
  session.reset();
  EXPECT_THAT(sink_received, ElementsAre("pushed before", "started before", "scope before", "recorded", "pop", "pop",
                                         "recorded too", "pop", "end", "pop"));
  EXPECT_THAT(recorded(), ElementsAre("0 recorded", "0 recorded too", "0 points"));
}

TEST_F(SinkSessionTest, ARangeWhoseRecordingHasEndedStillEndsForSinks) {
  kymo_add_sink(&kTestSink);
  auto session = std::make_unique<Session>(file());
  {
    KYMO_RANGE("scope");
    range_push("pushed");
    session.reset();
    range_pop();
  }
  EXPECT_THAT(sink_received, ElementsAre("scope", "pushed", "pop", "pop"));
}

TEST_F(SinkSessionTest, ARangeThatStartedOnlyInTheRecordingEndsOnlyThere) {
  {
    const Session session(file());
    KYMO_RANGE("scope");
    range_push("pushed");
    const RangeId started = range_start("started");
    kymo_add_sink(&kTestSink);
    range_end(started);
    range_pop();
  }
  EXPECT_THAT(sink_received, ElementsAre());
  EXPECT_THAT(recorded(), ElementsAre("1 pushed", "0 scope", "2 points"));
}

}  // namespace
}  // namespace kymo
