#include "unwind/stack_tree.h"

#include <gtest/gtest.h>

#include <map>

namespace kymo::unwind {
namespace {

TEST(StackTreeTest, SameStackHasTheSameNode) {
  StackTree tree;
  bool fresh = false;
  const Node outer = tree.child(kRoot, 100, fresh);
  EXPECT_TRUE(fresh);
  EXPECT_EQ(outer, kFirstNode);
  const Node inner = tree.child(outer, 100, fresh);
  EXPECT_TRUE(fresh) << "the same address, called from elsewhere";
  EXPECT_NE(inner, outer);
  EXPECT_EQ(tree.child(kRoot, 100, fresh), outer);
  EXPECT_FALSE(fresh);
  EXPECT_NE(tree.child(kCutNoRule, 100, fresh), outer);
  EXPECT_TRUE(fresh);
}

TEST(StackTreeTest, GrowsAndKeepsItsNodeNumbers) {
  StackTree tree;
  std::map<std::pair<Node, uintptr_t>, Node> expected;
  bool fresh = false;
  Node parent = kRoot;
  for (uint32_t i = 0; i < 50'000; ++i) {
    const uintptr_t address = 0x400000 + 4 * (i % 997);
    const Node node = tree.child(parent, address, fresh);
    const auto [known, is_new] = expected.emplace(std::pair(parent, address), node);
    ASSERT_EQ(fresh, is_new);
    ASSERT_EQ(known->second, node);
    parent = i % 13 == 0 ? kRoot : node;
  }
  EXPECT_EQ(tree.size(), expected.size());
  for (const auto& [key, node] : expected) ASSERT_EQ(tree.child(key.first, key.second, fresh), node);
}

TEST(StackTreeTest, NodeThatWasTakenBackIsNewAgain) {
  StackTree tree;
  bool fresh = false;
  const Node first = tree.child(kRoot, 8, fresh);
  tree.take_back(kRoot, 8);
  EXPECT_EQ(tree.child(kRoot, 8, fresh), first);
  EXPECT_TRUE(fresh);
  tree.forget();
  EXPECT_EQ(tree.size(), 0u);
  EXPECT_EQ(tree.child(kRoot, 9, fresh), kFirstNode);
}

}  // namespace
}  // namespace kymo::unwind
