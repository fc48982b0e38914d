#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "edge/result.h"

namespace kymo::edge {
namespace {

constexpr uint32_t kTreeNone = EdgeEvent::kNone;

EdgeEvent tree_event(uint64_t start, uint64_t end, uint32_t parent = kTreeNone) {
  EdgeEvent event;
  event.start_ns = start;
  event.end_ns = end;
  event.parent = parent;
  return event;
}

TEST(TreeTest, LinksDepthsAndSelfTimes) {
  std::vector<EdgeEvent> events = {tree_event(0, 100), tree_event(10, 30, 0), tree_event(15, 20, 1),
                                   tree_event(40, 90, 0), tree_event(200, 210)};
  link_tree(events);
  EXPECT_EQ(events[0].first_child, 1u);
  EXPECT_EQ(events[1].next_sibling, 3u);
  EXPECT_EQ(events[1].first_child, 2u);
  EXPECT_EQ(events[3].next_sibling, kTreeNone);
  EXPECT_EQ(events[2].depth, 2u);
  EXPECT_EQ(events[4].depth, 0u);
  EXPECT_EQ(events[0].self_ns, 30u);
  EXPECT_EQ(events[1].self_ns, 15u);
  EXPECT_EQ(events[4].self_ns, 10u);
}

TEST(TreeTest, TimeOutsideTheParentIsIgnoredAndOverlapCountsOnce) {
  std::vector<EdgeEvent> events = {tree_event(100, 200),    tree_event(90, 120, 0),  tree_event(110, 150, 0),
                                   tree_event(115, 130, 0), tree_event(190, 300, 0), tree_event(400, 500, 0)};
  link_tree(events);
  EXPECT_EQ(events[0].self_ns, 100u - 50 - 10);
}

TEST(TreeTest, LinkingAgainChangesNothing) {
  std::vector<EdgeEvent> events = {tree_event(0, 100), tree_event(10, 30, 0), tree_event(40, 50, 0)};
  link_tree(events);
  link_tree(events);
  EXPECT_EQ(events[0].self_ns, 70u);
  EXPECT_EQ(events[0].first_child, 1u);
  EXPECT_EQ(events[2].next_sibling, kTreeNone);
}

TEST(TreeTest, InvalidParentsCountAsNoParent) {
  std::vector<EdgeEvent> events = {tree_event(0, 10, 1), tree_event(2, 3, 99), tree_event(4, 5, 2)};
  link_tree(events);
  for (const EdgeEvent& event : events) EXPECT_EQ(event.parent, kTreeNone);
}

TEST(TreeTest, WalkVisitsEachEventOnceAndLeavesInnermostFirst) {
  std::mt19937 random(5);
  std::vector<EdgeEvent> events = {tree_event(0, 10)};
  for (uint32_t at = 1; at < 1000; ++at) events.push_back(tree_event(at, at + 1, random() % at));
  link_tree(events);
  std::vector<uint32_t> open;
  std::vector<int> visited(events.size());
  for (uint32_t at = 0; at != kTreeNone;) {
    EXPECT_EQ(open.empty() ? kTreeNone : open.back(), events[at].parent);
    open.push_back(at);
    ++visited[at];
    at = next_in_tree(events, at, [&](uint32_t done) {
      ASSERT_EQ(open.back(), done);
      open.pop_back();
    });
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(visited, std::vector<int>(events.size(), 1));
}

}  // namespace
}  // namespace kymo::edge
