#include "analyze/views/paths.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>

#include "analyze/views/flame.h"
#include "convert/events.h"
#include "trace/test_recorder.h"

namespace kymo::views {
namespace {

using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

using Times = std::map<std::string, uint64_t>;  // self time by path

// What write_folded writes.
Times self_times(const Paths& paths) {
  convert::StringStream out;
  write_folded(paths, out);
  Times times;
  std::istringstream lines(out.text());
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.rfind(' ');
    EXPECT_TRUE(times.emplace(line.substr(0, space), std::stoull(line.substr(space + 1))).second) << line;
  }
  return times;
}

class PathsTest : public ::testing::Test {
 protected:
  TestRecorder make() {
    TestRecorder recorder(path);
    recorder.add_thread(1, 101, "main");
    recorder.add_thread(2, 102, "worker");
    recorder.add_thread(3, 103, "worker");
    recorder.add_class(1, "outer");
    recorder.add_class(2, "inner");
    recorder.add_class(3, "step {}", "", {{"", trace::FieldType::Int}});
    recorder.add_class(4, "outer", "another category");
    return recorder;
  }
  Times times(const PathOptions& options = {}) { return self_times(collect_paths(trace::Reader(path), options)); }

  TemporaryFolder folder;
  std::string path = folder / "t.kymo";
};

TEST_F(PathsTest, SelfTimeIsWithoutTheRangesInside) {
  TestRecorder recorder = make();
  recorder.begin(1, 0, 1);
  recorder.begin(1, 10, 2);
  recorder.begin(1, 12, 1);
  recorder.end(1, 15);
  recorder.end(1, 30);
  recorder.begin(1, 40, 2);
  recorder.end(1, 50);
  recorder.end(1, 100);
  recorder.begin(1, 110, 2);
  recorder.end(1, 117);
  recorder.close();
  EXPECT_EQ(times(), (Times{{"train (100);main;outer", 70},
                            {"train (100);main;outer;inner", 27},
                            {"train (100);main;outer;inner;outer", 3},
                            {"train (100);main;inner", 7}}));
  const Paths paths = collect_paths(trace::Reader(path));
  ASSERT_EQ(paths.frames.size(), 7u);
  EXPECT_EQ(paths.frames[0].total_ns, 107u);
  EXPECT_EQ(paths.frames[3].name, "inner");  // sorted by name, each before its children
  EXPECT_EQ(paths.frames[4].name, "outer");
  EXPECT_EQ(paths.frames[5].name, "inner");
  EXPECT_EQ(paths.frames[5].count, 2u);
  EXPECT_EQ(paths.frames[5].total_ns, 30u);
  EXPECT_EQ(paths.frames[5].depth, 4u);
}

TEST_F(PathsTest, RangesThatSpanChunksHaveOnePath) {
  TestRecorder recorder = make();
  recorder.begin(1, 0, 1);
  for (uint64_t i = 0; i < 10; ++i) {
    recorder.begin(1, 100 * i, 2);
    recorder.end(1, 100 * i + 30);
    recorder.cut(1);
  }
  recorder.end(1, 1000);
  recorder.close();
  EXPECT_EQ(times(), (Times{{"train (100);main;outer", 700}, {"train (100);main;outer;inner", 300}}));
}

TEST_F(PathsTest, ThreadsAndClassesOfTheSameNameAreOne) {
  TestRecorder recorder = make();
  for (const uint32_t track : {2u, 3u}) {
    recorder.begin(track, 0, track == 2 ? 1 : 4);
    recorder.end(track, 10 * track);
  }
  recorder.close();
  EXPECT_EQ(times(), (Times{{"train (100);worker;outer", 50}}));
}

TEST_F(PathsTest, TextsAreSeparateOnlyOnRequest) {
  TestRecorder recorder = make();
  for (int64_t i = 0; i < 3; ++i) {
    recorder.begin(1, static_cast<uint64_t>(100 * i), 3, {i});
    recorder.begin(1, static_cast<uint64_t>(100 * i + 1), trace::kInlineName, {"made up"});
    recorder.end(1, static_cast<uint64_t>(100 * i + 5));
    recorder.end(1, static_cast<uint64_t>(100 * i + 10));
  }
  recorder.close();
  EXPECT_EQ(times(), (Times{{"train (100);main;step {}", 18}, {"train (100);main;step {};made up", 12}}));
  EXPECT_EQ(times({.full_text = true}).at("train (100);main;step 2"), 6u);
}

TEST_F(PathsTest, UnfinishedRangesCountUntilTheLastSignOfLifeAndAreMarked) {
  TestRecorder recorder = make();
  recorder.begin(1, 0, 1);
  recorder.begin(1, 10, 2);
  recorder.end(1, 20);
  recorder.cut(1);
  recorder.begin(1, 60, 2);
  recorder.cut(1);
  recorder.file().ending(recorder.id(), {100});
  recorder.close();
  const Paths paths = collect_paths(trace::Reader(path));
  EXPECT_EQ(paths.unfinished, 2u);
  EXPECT_EQ(self_times(paths), (Times{{"train (100);main;outer;(unfinished)", 50},
                                      {"train (100);main;outer;inner", 10},
                                      {"train (100);main;outer;inner;(unfinished)", 40}}));
}

TEST_F(PathsTest, RangesThatEndedInALostChunkCountUntilTheEventBefore) {
  TestRecorder recorder = make();
  recorder.begin(1, 0, 1);
  recorder.begin(1, 10, 2);
  recorder.end(1, 30);
  recorder.cut(1);
  recorder.end(1, 70);
  recorder.lose(1);
  recorder.begin(1, 100, 2);
  recorder.end(1, 200);
  recorder.close();
  EXPECT_EQ(times(), (Times{{"train (100);main;outer;(unfinished)", 10},
                            {"train (100);main;outer;inner", 20},
                            {"train (100);main;inner", 100}}));
}

TEST_F(PathsTest, QueuesOfDevicesAreTracks) {
  TestRecorder recorder = make();
  trace::Track queue;
  queue.id = 7;
  queue.kind = trace::TrackKind::DeviceQueue;
  queue.clock = TestRecorder::kClock;
  queue.device_uuid = "GPU-1";
  queue.queue = 3;
  recorder.add_track(queue);
  recorder.complete(7, 0, 10, 1);
  recorder.complete(7, 5, 20, 2, 0, 1);  // beside it, on another lane
  recorder.close();
  const Paths paths = collect_paths(trace::Reader(path));
  EXPECT_EQ(self_times(paths), (Times{{"GPU 0 (GPU-1);queue 3;outer", 5}, {"GPU 0 (GPU-1);queue 3;inner", 15}}));
  EXPECT_EQ(paths.frames.back().kind, FrameKind::Work);
}

TEST_F(PathsTest, TimeBeyondTheLimitsStaysInTheRangeAround) {
  TestRecorder recorder = make();
  recorder.begin(1, 0, 1);
  for (int64_t i = 0; i < 4; ++i) {
    recorder.begin(1, static_cast<uint64_t>(10 * i + 1), trace::kInlineName, {"text " + std::to_string(i)});
    recorder.end(1, static_cast<uint64_t>(10 * i + 6));
  }
  recorder.end(1, 50);
  recorder.begin(1, 60, 2);
  recorder.end(1, 65);
  recorder.close();
  const Paths few = collect_paths(trace::Reader(path), {.max_paths = 2});
  EXPECT_EQ(few.over_limit, 4u);  // a chunk is read backwards
  EXPECT_EQ(self_times(few), (Times{{"train (100);main;outer", 50}, {"train (100);main;inner", 5}}));
  const Paths one = collect_paths(trace::Reader(path), {.max_paths = 1});
  EXPECT_EQ(self_times(one), (Times{{"train (100);main;(other paths)", 50}, {"train (100);main;inner", 5}}));
  const Paths flat = collect_paths(trace::Reader(path), {.max_depth = 1});
  EXPECT_EQ(flat.over_limit, 4u);
  EXPECT_EQ(self_times(flat), (Times{{"train (100);main;outer", 50}, {"train (100);main;inner", 5}}));
}

TEST_F(PathsTest, TraceWithoutEventsHasOnlyTheRoot) {
  make().close();
  const Paths paths = collect_paths(trace::Reader(path));
  EXPECT_EQ(paths.frames.size(), 1u);
  EXPECT_TRUE(self_times(paths).empty());
}

// The definition, in quadratic time: from ranges with their two ends, in any order.
class Oracle : public convert::EventVisitor {
 public:
  void range(const convert::Range& range) override {
    ranges_[range.place->name].push_back(
        {range.start_ns, range.end_ns, range.depth, range.finished, std::string(range.event_class->event_class.name)});
  }
  Times times() const {
    Times result;
    for (const auto& [track, ranges] : ranges_) {
      for (const Known& range : ranges) {
        int64_t self = range.end - range.start;
        std::string path = range.name + (range.finished ? "" : ";(unfinished)");
        for (const Known& other : ranges) {
          if (other.depth == range.depth + 1 && is_inside(other, range)) self -= other.end - other.start;
        }
        for (size_t depth = range.depth; depth-- > 0;) {
          for (const Known& other : ranges)
            if (other.depth == depth && is_inside(range, other)) path = other.name + ";" + path;
        }
        if (self > 0) result["train (100);" + track + ";" + path] += static_cast<uint64_t>(self);
      }
    }
    return result;
  }

 private:
  struct Known {
    int64_t start, end;
    size_t depth;
    bool finished;
    std::string name;
  };
  static bool is_inside(const Known& inner, const Known& outer) {
    return outer.start <= inner.start && inner.end <= outer.end;
  }
  std::map<std::string, std::vector<Known>> ranges_;
};

TEST_F(PathsTest, RandomTracesFollowTheDefinition) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    TestRecorder recorder = make();
    for (const uint32_t track : {1u, 2u}) {
      uint64_t time = 0;
      size_t depth = 0;
      for (int step = 0; step < 60; ++step) {
        time += 1 + random() % 20;
        const bool begins = depth == 0 || (depth < 6 && random() % 2 == 0);
        if (begins) {
          recorder.begin(track, time, 1 + random() % 2);
          ++depth;
        } else {
          recorder.end(track, time);
          --depth;
        }
        if (random() % 8 == 0) recorder.cut(track);
        if (random() % 25 == 0) recorder.lose(track);
      }
    }
    recorder.close();
    const trace::Reader reader(path);
    const convert::Places places(reader);
    Oracle oracle;
    convert::visit_events(reader, places, convert::TimeBase::Monotonic, oracle);
    const Paths paths = collect_paths(reader);
    ASSERT_EQ(self_times(paths), oracle.times()) << "round " << round;
    uint64_t sum = 0;
    for (const PathFrame& frame : paths.frames) sum += frame.self_ns;
    EXPECT_EQ(sum, paths.frames[0].total_ns);
  }
}

}  // namespace
}  // namespace kymo::views
