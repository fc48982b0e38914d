#include "inject/itt/collector.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "kymo/session.h"
#include "trace/reader.h"

namespace kymo::inject::itt {
namespace {

class CollectorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/kymo-itt-test-XXXXXX";
    folder = mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string file() const { return folder + "/a.kymo"; }

  struct Seen {
    std::map<std::string, int> ranges;  // "category: name at depth"
    uint64_t points = 0, lost = 0;
  };
  Seen look() const {
    Seen seen;
    const trace::Reader reader(file());
    for (const auto& [id, writer] : reader.writers())
      for (const trace::Loss& loss : writer.losses) seen.lost += loss.count;
    trace::EventBatch batch;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      reader.read(chunk, batch);
      seen.points += batch.points.size();
      for (size_t i = 0; i < batch.ranges.size(); ++i) {
        const auto& known = reader.writers().at(chunk.writer).classes.at(batch.ranges.class_id[i]);
        ++seen.ranges[known.category + ": " + known.name + " at " + std::to_string(batch.ranges.depth[i])];
      }
    }
    return seen;
  }

  std::string folder;
  Domain one{1, "one", nullptr, 0, nullptr, nullptr}, two{1, "two", nullptr, 0, nullptr, nullptr};
  String load{"load", nullptr, 0, nullptr, nullptr}, odd{"a {0}", nullptr, 0, nullptr, nullptr},
      wide{nullptr, L"wide", 0, nullptr, nullptr};
};

TEST_F(CollectorTest, TasksAreNestedRangesWithTheirDomainAsCategory) {
  Session session(file());
  __itt_task_begin(&one, {}, {}, &load);
  __itt_task_begin(&two, {}, {}, &odd);
  __itt_marker(&one, {}, &load, 0);
  __itt_task_end(&two);
  __itt_task_end(&one);
  __itt_task_begin(&one, {}, {}, &wide);
  __itt_task_end(&one);
  __itt_task_begin(nullptr, {}, {}, nullptr);
  __itt_task_end(nullptr);
  session.close();
  const Seen seen = look();
  EXPECT_EQ(seen.lost, 0u);
  EXPECT_EQ(seen.points, 1u);
  EXPECT_EQ(seen.ranges,
            (std::map<std::string, int>{
                {"one: load at 0", 1}, {"two: a {0} at 1", 1}, {"one: task at 0", 1}, {"itt: task at 0", 1}}));
}

TEST_F(CollectorTest, EndsThatDoNotMatchAreTolerated) {
  Session session(file());
  __itt_task_end(&one);
  __itt_task_begin(&one, {}, {}, &load);
  __itt_task_begin(&two, {}, {}, &load);
  __itt_task_end(&one);  // the task of `two` ends with it
  __itt_task_end(&two);
  for (int i = 0; i < 300; ++i) __itt_task_begin(&one, {}, {}, &load);
  for (int i = 0; i < 300; ++i) __itt_task_end(&one);
  std::thread([&] { __itt_task_begin(&one, {}, {}, &load); }).join();
  session.close();
  const Seen seen = look();
  EXPECT_EQ(seen.ranges.at("two: load at 1"), 1);
  EXPECT_EQ(seen.ranges.at("one: load at 255"), 1);
  EXPECT_FALSE(seen.ranges.contains("one: load at 256"));
}

TEST_F(CollectorTest, ATaskThatBeganBeforeTheRecordingHasNoEnd) {
  __itt_task_begin(&one, {}, {}, &load);
  Session session(file());
  __itt_task_begin(&one, {}, {}, &odd);
  __itt_task_end(&one);
  __itt_task_end(&one);
  session.close();
  const Seen seen = look();
  EXPECT_EQ(seen.lost, 0u);
  EXPECT_EQ(seen.ranges, (std::map<std::string, int>{{"one: a {0} at 0", 1}}));
}

TEST_F(CollectorTest, ResultsThatLibrariesRelyOnAreNotNull) {
  EXPECT_NE(__itt_stack_caller_create(), nullptr);
  EXPECT_NE(__itt_api_version(), nullptr);
}

}  // namespace
}  // namespace kymo::inject::itt
