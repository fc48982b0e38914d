#include "base/suggest.h"

#include <gtest/gtest.h>

#include <vector>

namespace kymo::base {
namespace {

const std::vector<std::string> kWords = {"record", "info", "stats", "export", "recover"};

TEST(SuggestTest, TypoIsRecognised) {
  EXPECT_EQ(nearest("recrod", kWords), "record");
  EXPECT_EQ(nearest("stat", kWords), "stats");
  EXPECT_EQ(nearest("exprot", kWords), "export");
  const std::vector<std::string> names = {"input", "output"};
  EXPECT_EQ(nearest("inptu", names), "input") << "letters in the wrong order are one edit";
}

TEST(SuggestTest, UnfinishedWordIsRecognised) { EXPECT_EQ(nearest("recov", kWords), "recover"); }

TEST(SuggestTest, UnrelatedWordGetsNoSuggestion) {
  EXPECT_EQ(nearest("view", kWords), std::nullopt);
  EXPECT_EQ(nearest("", kWords), std::nullopt);
}

TEST(SuggestTest, ClosestWordsContainTheTextOrAreAFewEditsAway) {
  EXPECT_EQ(closest("rec", kWords, 2), (std::vector<std::string>{"record", "recover"}));
  EXPECT_EQ(closest("STAT", kWords, 1), std::vector<std::string>{"stats"});
  EXPECT_EQ(closest("exprot", kWords, 1), std::vector<std::string>{"export"});
  EXPECT_EQ(closest("sttas", kWords, 1), std::vector<std::string>{"stats"});
  const std::vector<std::string> names = {"load", "step {} of many"};
  EXPECT_EQ(closest("stpe", names, 1), std::vector<std::string>{"step {} of many"});
  EXPECT_EQ(closest("x", kWords, 9).size(), kWords.size());
  EXPECT_TRUE(closest("x", {}, 9).empty());
}

}  // namespace
}  // namespace kymo::base
