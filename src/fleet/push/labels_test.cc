#include "push/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "kymo/error.h"
#include "trace/test_recorder.h"

namespace kymo::push {
namespace {

class TraceLabelsTest : public ::testing::Test {
 protected:
  TraceLabelsTest() : file_(write()) {}

  // The numbers of a file are 1 for the whole, 10 for the rank if it had one trace, 11 and so on for its traces.
  void add(int32_t rank, uint64_t number, bool is_beside = false) {
    RankOfFile& one = file_.ranks.list.emplace_back();
    one.rank = rank;
    one.job = "of environment";
    one.number = number;
    one.older = number / 10 * 10;
    one.is_beside = is_beside;
    file_.number = 1;
  }

  std::string text(size_t place) const {
    const TraceLabels labels = labels_of(file_, file_.ranks.list[place], there_, options_);
    return labels.job + " " + std::to_string(labels.rank);
  }

  std::string write() const {
    std::ofstream(folder_ / "a") << "x";
    return folder_ / "a";
  }

  const trace::testing::TemporaryFolder folder_;
  TraceFile file_;
  std::map<uint64_t, KnownTrace> there_;
  PushOptions options_;
};

TEST_F(TraceLabelsTest, TheEnvironmentTheStoreAndTheUserSayThem) {
  add(3, 11);
  EXPECT_EQ(text(0), "of environment 3");
  there_[11] = {false, "of store", 4};
  EXPECT_EQ(text(0), "of store 4");
  options_.job = "given";
  options_.rank = 5;
  EXPECT_EQ(text(0), "given 5");
}

TEST_F(TraceLabelsTest, ProcessesOfARankHaveThoseOfTheTraceThatWasAllOfThem) {
  add(3, 11);
  add(3, 12);
  add(-1, 13, true);
  there_[1] = {false, "of whole", 4};
  EXPECT_EQ(text(0), "of whole 4");
  EXPECT_EQ(text(1), "of whole 4");
  EXPECT_EQ(text(2), "of whole -1");
  options_.rank = 5;
  EXPECT_EQ(text(1), "of whole 5");
  EXPECT_EQ(text(2), "of whole -1");
}

TEST_F(TraceLabelsTest, SeveralRanksHaveThoseOfTheirOwnTraces) {
  add(3, 11);
  add(3, 12);
  add(4, 21);
  there_[1] = {false, "of whole", 7};
  there_[10] = {false, "of rank", 3};
  EXPECT_EQ(text(0), "of rank 3");
  EXPECT_EQ(text(1), "of rank 3");
  EXPECT_EQ(text(2), "of environment 4");
}

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
