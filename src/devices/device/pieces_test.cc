#include "device/pieces.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

namespace kymo::device {
namespace {

// How many times the pieces run each thread.
std::map<std::tuple<uint64_t, uint64_t, uint64_t>, int> runs_of(const Pieces& pieces) {
  std::map<std::tuple<uint64_t, uint64_t, uint64_t>, int> runs;
  for (const Piece& piece : pieces.all())
    for (uint64_t z = 0; z < piece.threads.z; ++z)
      for (uint64_t y = 0; y < piece.threads.y; ++y)
        for (uint64_t x = 0; x < piece.threads.x; ++x)
          ++runs[{piece.offset.x + x, piece.offset.y + y, piece.offset.z + z}];
  return runs;
}

TEST(PiecesTest, LaunchOfWholeGroupsIsOnePiece) {
  const Pieces pieces = cut({128, 8, 1}, {64, 8, 1}, true);
  ASSERT_EQ(pieces.all().size(), 1u);
  EXPECT_EQ(pieces.all()[0], (Piece{{0, 0, 0}, {128, 8, 1}, {64, 8, 1}}));
}

TEST(PiecesTest, TwoDimensionsHaveAnInteriorAndThreeEdgePieces) {
  const Pieces pieces = cut({1000, 70, 1}, {64, 16, 1}, true);
  ASSERT_EQ(pieces.all().size(), 4u);
  EXPECT_EQ(pieces.all()[0], (Piece{{0, 0, 0}, {960, 64, 1}, {64, 16, 1}}));
  EXPECT_EQ(pieces.all()[1], (Piece{{960, 0, 0}, {40, 64, 1}, {40, 16, 1}}));
  EXPECT_EQ(pieces.all()[2], (Piece{{0, 64, 0}, {960, 6, 1}, {64, 6, 1}}));
  EXPECT_EQ(pieces.all()[3], (Piece{{960, 64, 0}, {40, 6, 1}, {40, 6, 1}}));
}

TEST(PiecesTest, EveryThreadRunsOnceInGroupsThatDivideTheirPiece) {
  for (const bool groups_visible : {true, false}) {
    for (const Extent threads : {Extent{7, 5, 3}, Extent{9, 1, 2}, Extent{8, 8, 5}, Extent{1, 1, 1}}) {
      for (const Extent group : {Extent{4, 2, 2}, Extent{3, 5, 1}, Extent{1, 1, 1}, Extent{7, 3, 2}}) {
        if (group.x > threads.x || group.y > threads.y || group.z > threads.z) continue;
        const Pieces pieces = cut(threads, group, groups_visible);
        const auto runs = runs_of(pieces);
        EXPECT_EQ(runs.size(), threads.volume());
        for (const auto& [thread, count] : runs) EXPECT_EQ(count, 1);
        for (const Piece& piece : pieces.all()) EXPECT_TRUE(divides(piece.threads, piece.group));
      }
    }
  }
}

TEST(PiecesTest, EdgeUsesAPowerOfTwoIfGroupsAreNotVisible) {
  const Pieces pieces = cut({1000, 1, 1}, {256, 1, 1}, false);
  ASSERT_EQ(pieces.all().size(), 2u);
  EXPECT_EQ(pieces.all()[1], (Piece{{768, 0, 0}, {232, 1, 1}, {8, 1, 1}}));
}

TEST(PiecesTest, OrderIsKeptOnlyIfTheLastThreadsOfAGroupAreMissing) {
  EXPECT_TRUE(lacks_only_last({100, 1, 1}, {64, 1, 1}));
  EXPECT_TRUE(lacks_only_last({64, 10, 1}, {32, 4, 1}));
  EXPECT_TRUE(lacks_only_last({64, 8, 3}, {32, 4, 2}));
  EXPECT_TRUE(lacks_only_last({7, 9, 1}, {1, 4, 1}));
  EXPECT_FALSE(lacks_only_last({60, 8, 1}, {32, 4, 1}));
  EXPECT_FALSE(lacks_only_last({64, 9, 4}, {32, 4, 2}));
}

TEST(PiecesTest, DividesHandlesGroupsThatAreNotPowersOfTwo) {
  EXPECT_TRUE(divides({300, 1, 1}, {100, 1, 1}));
  EXPECT_FALSE(divides({301, 1, 1}, {100, 1, 1}));
  EXPECT_FALSE(divides({64, 3, 1}, {64, 2, 1}));
  EXPECT_EQ(tail_of({301, 7, 4}, {100, 2, 4}), (Extent{1, 1, 0}));
}

}  // namespace
}  // namespace kymo::device
