#include "base/wildcard.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace kymo::base {
namespace {

TEST(WildcardTest, PatternDescribesTheWholeName) {
  EXPECT_TRUE(matches("main", "main"));
  EXPECT_FALSE(matches("main", "mainly"));
  EXPECT_FALSE(matches("main", "domain"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
}

TEST(WildcardTest, StarIsAnyTextAndQuestionMarkIsOneCharacter) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*", "anything"));
  EXPECT_TRUE(matches("step*", "step {}"));
  EXPECT_TRUE(matches("*gemm*", "ampere_sgemm_128x64"));
  EXPECT_TRUE(matches("a*b*c", "abbbc"));
  EXPECT_FALSE(matches("a*b*c", "abbbd"));
  EXPECT_TRUE(matches("w?rker", "worker"));
  EXPECT_FALSE(matches("w?rker", "wrker"));
}

// The definition, in exponential time.
bool matches_slowly(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*')
    return matches_slowly(pattern.substr(1), name) || (!name.empty() && matches_slowly(pattern, name.substr(1)));
  return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) &&
         matches_slowly(pattern.substr(1), name.substr(1));
}

TEST(WildcardTest, RandomPatternsFollowTheDefinition) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string pattern, name;
    for (size_t i = random() % 7; i > 0; --i) pattern += "ab*?"[random() % 4];
    for (size_t i = random() % 8; i > 0; --i) name += "ab"[random() % 2];
    EXPECT_EQ(matches(pattern, name), matches_slowly(pattern, name)) << pattern << " " << name;
  }
}

}  // namespace
}  // namespace kymo::base
