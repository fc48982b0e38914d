#include "options/suggest.h"

#include <gtest/gtest.h>

#include <vector>

namespace kymo::options {
namespace {

const std::vector<std::string> kWords = {"record", "info", "stats", "export", "recover"};

TEST(SuggestTest, TypoIsRecognised) {
  EXPECT_EQ(nearest("recrod", kWords), "record");
  EXPECT_EQ(nearest("stat", kWords), "stats");
  EXPECT_EQ(nearest("exprot", kWords), "export");
}

TEST(SuggestTest, UnfinishedWordIsRecognised) { EXPECT_EQ(nearest("recov", kWords), "recover"); }

TEST(SuggestTest, UnrelatedWordGetsNoSuggestion) {
  EXPECT_EQ(nearest("view", kWords), std::nullopt);
  EXPECT_EQ(nearest("", kWords), std::nullopt);
}

}  // namespace
}  // namespace kymo::options
