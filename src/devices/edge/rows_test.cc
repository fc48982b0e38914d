#include "edge/rows.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "edge/test_result.h"

namespace kymo::edge {
namespace {

using testing::TestResult;

std::string row_lanes(const Rows& rows) {
  std::string text;
  for (const RowPlace& place : rows.places) text += std::to_string(place.lane) + " ";
  return text;
}

// Checks each lane separately, as a viewer would build it.
bool rows_nest(const ResultData& result, const Rows& rows) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> open;
  for (size_t i = 0; i < result.events.size(); ++i) {
    const EdgeEvent& event = result.events[i];
    std::vector<uint64_t>& ends = open[{rows.places[i].track, rows.places[i].lane}];
    while (!ends.empty() && ends.back() <= event.start_ns) ends.pop_back();
    if (!ends.empty() && ends.back() < event.end_ns) return false;
    ends.push_back(event.end_ns);
  }
  return true;
}

TEST(RowsTest, NestedEventsStayOnTheirRow) {
  TestResult result;
  result.thread(5, "main");
  const uint32_t outer = result.event("outer", 0, 100);
  const uint32_t inner = result.event("inner", 0, 50, outer);
  result.event("leaf", 10, 50, inner);
  result.event("next", 50, 100, outer);
  result.event("after", 100, 110);
  const Rows rows = arrange_rows(result.data);
  EXPECT_EQ(row_lanes(rows), "0 0 0 0 0 ");
  ASSERT_EQ(rows.tracks.size(), 1u);
  EXPECT_EQ(rows.tracks[0].lanes, 1u);
  EXPECT_EQ(rows.of_threads.at(5), 0u);
}

TEST(RowsTest, OverlappingEventMovesToALaneWithItsChildren) {
  TestResult result;
  result.thread(5, "main");
  const uint32_t ends_elsewhere = result.event("ends elsewhere", 0, 50);
  const uint32_t longer = result.event("longer", 10, 90, ends_elsewhere);
  result.event("its child", 20, 40, longer);
  result.event("as long", 20, 90, longer);
  result.event("back on the row", 60, 70);
  const Rows rows = arrange_rows(result.data);
  EXPECT_EQ(row_lanes(rows), "0 1 1 2 0 ");
  EXPECT_EQ(rows.tracks[0].lanes, 3u);
  EXPECT_TRUE(rows_nest(result.data, rows));
}

TEST(RowsTest, ThreadsAndQueuesHaveTheirOwnRows) {
  TestResult result;
  result.thread(5, "main");
  result.event("a", 0, 50);
  result.thread(6, "worker");
  result.event("b", 10, 90);
  result.allocation(20, 0x10, 8, 8);
  result.data.allocations.back().thread = 9;  // a thread without events
  result.device_event("k", 0, 60, {10, 0}, 3);
  result.device_event("l", 10, 20, {10, 1}, 3);
  result.device_event("m", 20, 70, {10, 0}, 3);
  const Rows rows = arrange_rows(result.data);
  EXPECT_EQ(row_lanes(rows), "0 0 0 0 1 ");
  ASSERT_EQ(rows.tracks.size(), 5u);
  EXPECT_EQ(rows.tracks[1].name, "worker");
  EXPECT_EQ(rows.tracks[rows.of_threads.at(9)].thread, 9u);
  EXPECT_TRUE(rows.tracks[3].on_device);
  EXPECT_EQ(rows.tracks[3].lanes, 2u);
  EXPECT_EQ(rows.tracks[4].device.index, 1);
}

TEST(RowsTest, DecreasingTimesStillNest) {
  TestResult result;
  result.thread(5, "main");
  result.event("later", 100, 200);
  result.event("earlier", 50, 150);
  result.event("reversed", 300, 250);
  const Rows rows = arrange_rows(result.data);
  EXPECT_EQ(row_lanes(rows), "0 1 0 ");
}

TEST(RowsTest, AnyTimesNestInTheirLanes) {
  std::mt19937_64 random(11);
  for (const uint64_t longest : {20u, 500u, 50'000u}) {
    TestResult result;
    result.thread(1, "t");
    uint64_t now = 0;
    for (uint32_t i = 0; i < 5000; ++i) {
      now += random() % 20;
      result.event("e", now, now + random() % longest, i == 0 || random() % 2 ? EdgeEvent::kNone : random() % i);
    }
    const Rows rows = arrange_rows(result.data);
    EXPECT_TRUE(rows_nest(result.data, rows)) << longest;
  }
}

}  // namespace
}  // namespace kymo::edge
