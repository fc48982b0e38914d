#include "push/label_conflict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::push {
namespace {

using testing::ElementsAre;

TEST(LabelConflictTest, FilesArePushedAgainUntilNoneHasOtherLabels) {
  std::vector<Files> found{{"a", "b"}, {"b"}, {}}, pushed;
  size_t at = 0;
  int waits = 0;
  settle_labels([&] { return found[at++]; }, [&](const Files& files) { pushed.push_back(files); },
                [&](std::chrono::milliseconds) { ++waits; });
  EXPECT_THAT(pushed, ElementsAre(Files{"a", "b"}, Files{"b"}));
  EXPECT_EQ(waits, 2);
}

TEST(LabelConflictTest, AConflictWithoutAnEndIsAnError) {
  int pushes = 0;
  EXPECT_THROW(
      settle_labels([] { return Files{"a"}; }, [&](const Files&) { ++pushes; }, [](std::chrono::milliseconds) {}),
      Error);
  EXPECT_EQ(pushes, kMostConflicts);
}

}  // namespace
}  // namespace kymo::push
