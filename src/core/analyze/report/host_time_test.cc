#include "analyze/report/host_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "trace/test_recorder.h"

namespace kymo::analyze {
namespace {

using trace::testing::kMonotonicZero;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

// Random ranges on several lanes and in several chunks, and every nanosecond one by one.
TEST(HostTimePropertyTest, SelfTimesAgreeWithAClockThatLooksAtEachNanosecond) {
  struct Range {
    int64_t begin, end;
    uint32_t class_id;
    uint16_t lane, depth;
  };
  std::mt19937 random(12);
  for (int round = 0; round < 100; ++round) {
    TemporaryFolder folder;
    TestRecorder recorder(folder / "t.kymo");
    recorder.add_thread(1, 1, "main");
    std::vector<Range> ranges;
    std::vector<std::vector<int64_t>> open(1);
    int64_t now = 0;
    const uint32_t count = 40;
    for (uint32_t i = 0; i < count; ++i) {  // by begin, on the first lane where it nests, as imports do
      recorder.add_class(i + 1, "range " + std::to_string(i));
      now += 1 + random() % 10;
      const int64_t end = now + static_cast<int64_t>(random() % 60);
      uint16_t lane = 0;
      for (;; ++lane) {
        if (lane == open.size()) open.emplace_back();
        while (!open[lane].empty() && open[lane].back() <= now) open[lane].pop_back();
        if (open[lane].empty() || end <= open[lane].back()) break;
      }
      ranges.push_back({now, end, i + 1, lane, static_cast<uint16_t>(open[lane].size())});
      open[lane].push_back(end);
    }
    std::vector<uint64_t> self(count + 1);
    uint64_t outside = 0;
    const int64_t first = ranges.front().begin;
    int64_t last = 0;
    for (const Range& range : ranges) last = std::max(last, range.end);
    for (int64_t time = first; time < last; ++time) {
      uint32_t owner = 0;
      for (const Range& range : ranges)  // the last one to begin
        if (range.begin <= time && time < range.end) owner = range.class_id;
      ++(owner == 0 ? outside : self[owner]);
    }
    std::stable_sort(ranges.begin(), ranges.end(),
                     [](const Range& a, const Range& b) { return a.end != b.end ? a.end < b.end : a.depth > b.depth; });
    const bool lanes_last = random() % 2 == 0;
    for (const bool others : {false, true}) {
      for (const Range& range : ranges) {
        if (lanes_last && (range.lane != 0) != others) continue;
        if (!lanes_last && others) continue;
        recorder.complete(1, static_cast<uint64_t>(range.begin), static_cast<uint64_t>(range.end), range.class_id,
                          range.depth, range.lane);
        if (random() % 5 == 0) recorder.cut(1);
      }
      if (lanes_last) recorder.cut(1);
    }
    recorder.close();
    const trace::Reader reader(folder / "t.kymo");
    EventWalk walk(reader);
    const auto zero = static_cast<int64_t>(kMonotonicZero);
    const Intervals window({{zero + first, zero + last}});
    const HostTime time = host_time(walk, {{0, window}})[0];
    EXPECT_EQ(time.outside_ns, outside);
    uint64_t sum = time.outside_ns;
    for (const HostRow& row : time.rows) {
      EXPECT_EQ(row.self_ns, self[static_cast<size_t>(std::stoi(row.name.substr(6))) + 1]) << row.name;
      sum += row.self_ns;
    }
    EXPECT_EQ(sum, window.length());
  }
}

}  // namespace
}  // namespace kymo::analyze
