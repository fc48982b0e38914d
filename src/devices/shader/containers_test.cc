#include "shader/containers.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace kymo::shader {
namespace {

using List = ShortList<int, 2>;

std::vector<int> elements(const List& list) { return {list.begin(), list.end()}; }

TEST(ShortListTest, IsAVector) {
  List list;
  std::vector<int> plain;
  std::mt19937 random(1);
  for (int i = 0; i < 2'000; ++i) {
    const size_t at = random() % (plain.size() + 1);
    switch (random() % 5) {
      case 0:
      case 1:
        list.push_back(i);
        plain.push_back(i);
        break;
      case 2:
        list.insert(list.begin() + at, i);
        plain.insert(plain.begin() + static_cast<std::ptrdiff_t>(at), i);
        break;
      case 3:
        if (plain.empty()) break;
        list.pop_back();
        plain.pop_back();
        break;
      default:
        list.resize(at % 5);
        plain.resize(at % 5);
    }
    ASSERT_EQ(elements(list), plain);
  }
}

TEST(ShortListTest, CopiesAndMoves) {
  for (const std::vector<int>& plain : std::vector<std::vector<int>>{{}, {1}, {1, 2}, {1, 2, 3}}) {
    for (const std::vector<int>& old : std::vector<std::vector<int>>{{}, {7}, {7, 8, 9}}) {
      const List original = plain;
      List copy = old, moved = old;
      copy = original;
      EXPECT_EQ(elements(copy), plain);
      EXPECT_EQ(elements(original), plain);
      moved = std::move(copy);
      EXPECT_EQ(elements(moved), plain);
      List made(std::move(moved));
      EXPECT_EQ(elements(made), plain);
      made.append(original.rbegin(), original.rend());
      EXPECT_EQ(made.size(), 2 * plain.size());
    }
  }
}

}  // namespace
}  // namespace kymo::shader
